"""What `lodestar sweep` shows while it runs: a live table on a terminal, a line now and then in a log file."""

import time
from typing import TYPE_CHECKING

import typer

from lodestar.cli import _screen

if TYPE_CHECKING:
    from rich.console import RenderableType

    from lodestar.sweep import Event, SweepProgress, Trial

MOST_ROWS = 12
LINE_SECONDS = 15.0
BARS = "▁▂▃▄▅▆▇█"


class SweepTable:
    """Draws a sweep's progress. Use as a context manager; `start` and `event` fit the sweep's callbacks."""

    def __init__(self, *, quiet: bool):
        from rich.live import Live

        console = _screen.err()
        self._progress: SweepProgress | None = None
        self._plain = not quiet and not console.is_terminal
        self._quiet = quiet
        self._told = 0.0
        self._above: RenderableType | None = None
        self._console = console
        self._live = Live(
            get_renderable=self._draw, console=console, refresh_per_second=2, transient=True, redirect_stdout=False
        )

    def __enter__(self) -> "SweepTable":
        return self

    def __exit__(self, _: object, error: BaseException | None, *__: object) -> None:
        if self._live.is_started:
            self._live.stop()
        if isinstance(error, KeyboardInterrupt):
            _screen.warn("Stopped. The same command goes on from here.")
            raise typer.Exit(130) from None
        if isinstance(error, ValueError):
            raise typer.BadParameter(str(error)) from None

    def start(self, progress: "SweepProgress") -> None:
        self._progress = progress
        self._told = time.monotonic()
        if self._quiet:
            return
        if progress.before:
            self._line(f"Going on: {progress.before} of {progress.total} trials ended before, {progress.left} to go.")
        if self._console.is_terminal and progress.left and not self._live.is_started:
            self._live.start()

    def event(self, event: "Event", progress: "SweepProgress") -> None:
        """Something happened: failures are told at once, on a line of their own."""
        from lodestar.sweep import Failed

        if self._quiet:
            return
        if isinstance(event, Failed):
            self._line(f"Failed: {event.trial.name}: {event.reason}", "red")
        if self._plain and time.monotonic() - self._told >= LINE_SECONDS:
            self._told = time.monotonic()
            self._line(summary_line(progress))

    def head(self, drawn: "RenderableType", line: str) -> None:
        """What stands above the running trials until the next one; a line where there is no table."""
        self._above = drawn
        if self._plain:
            self._line(line)
        elif not self._quiet and not self._live.is_started:
            self._live.start()

    def _line(self, text: str, style: str = "dim") -> None:
        self._console.print(_screen.safe(text, style, limit=600), soft_wrap=True)

    def _draw(self) -> "RenderableType":
        from rich.console import Group

        above = [] if self._above is None else [self._above]
        if self._progress is None:
            return Group(*above, _screen.safe("starting", "dim"))
        rows = list(self._progress.running.values())
        table = _screen.table("running", "where", ">step", ">loss", ">metric", ">time")
        for row in rows[:MOST_ROWS]:
            table.add_row(
                _screen.safe(row.name, limit=40),
                _screen.safe(row.where, "dim", limit=24),
                f"{row.step}/{row.total_steps}",
                _screen.number(row.loss),
                _screen.number(row.metric),
                duration(time.monotonic() - row.began),
            )
        if len(rows) > MOST_ROWS:
            table.add_row(f"and {len(rows) - MOST_ROWS} more", "", "", "", "", "")
        if not rows:
            waiting = "workers are starting" if self._progress.left else "the last runs are being stored"
            table.add_row(_screen.safe(waiting, "dim"), "", "", "", "", "")
        return Group(*above, table, _screen.safe(summary_line(self._progress), "bold"))


def summary_line(progress: "SweepProgress") -> str:
    parts = [f"{progress.before + progress.ended} of {progress.total} ended"]
    parts += [f"{len(progress.running)} running"]
    counted = (
        ("diverged", progress.diverged),
        ("cut short", progress.cut_short),
        ("stopped", progress.pruned),
        ("failed", len(progress.failed)),
    )
    parts += [f"{count} {what}" for what, count in counted if count]
    if progress.best is not None:
        parts.append(f"best {progress.best[1]:.4g} ({_screen.safe(progress.best[0], limit=32).plain})")
    left = progress.seconds_left()
    if left is not None and progress.left:
        parts.append(f"about {duration(left)} left")
    return ", ".join(parts)


def duration(seconds: float) -> str:
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"


def spark(trial: "Trial", width: int = 32) -> str:
    """A schedule drawn in one line, from its lowest to its own highest rate."""
    if trial.schedule is None:
        return "(sets its own)"
    rates, peak = trial.schedule.rates, trial.schedule.peak
    picked = [rates[min(int((i + 0.5) * len(rates) / width), len(rates) - 1)] for i in range(width)]
    return "".join(BARS[min(int(8 * rate / peak), 7)] if peak > 0 else BARS[0] for rate in picked)
