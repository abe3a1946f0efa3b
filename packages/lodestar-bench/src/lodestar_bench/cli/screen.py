"""What `lodestar bench table1` shows while it works: on a terminal a bar with the time left, elsewhere some lines.

Comes in: events and results. Goes out: lines on stderr. Knows nothing of how trials run.
"""

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from lodestar.cli import _screen

if TYPE_CHECKING:
    from lodestar.sweep import Event
    from lodestar_bench.diary import Diary
    from lodestar_bench.protocol import Bench
    from lodestar_bench.results import Results

LINE_SECONDS = 30.0
PACE = 10  # trials from which on the time they took is a guide to the rest


class Screen:
    """Progress of one task's table."""

    def __init__(self, bench: "Bench", slots: int, *, quiet: bool):
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

        self._bench, self._slots, self._quiet = bench, slots, quiet
        self._console = _screen.err()
        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[left]}"),
        )
        live = self._console.is_terminal and not quiet
        self._bar = Progress(*columns, console=self._console, transient=True, disable=not live)
        self._task = self._bar.add_task(bench.home.path.name, total=None, left="")
        self._live, self._said_estimate = live, False
        self._done = self._total = self._diverged = self._failed = 0
        self._running: dict[str, float] = {}
        self._last_line = time.monotonic()
        self._left: float | None = None
        self._left_at = self._done_at = 0.0

    def __enter__(self) -> "Screen":
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def on_round(self, results: "Results") -> None:
        """A batch begins: what is left, and how long it may take."""
        from lodestar_bench.estimate import in_words, run_seconds, seconds_left

        runs, learnings = self._bench.plan.left(results)
        self._done = len(results.records) + len(results.failures)
        self._total = self._done + runs + learnings
        self._left = seconds_left(self._bench.plan, results, self._slots)
        self._left_at, self._done_at = time.monotonic(), self._done
        name = self._bench.home.path.name
        if not results.records:
            self._say(f"{name}: {runs} runs and {learnings} learnings to make; timing the first runs")
        elif self._left and not self._said_estimate:
            self._said_estimate = True
            self._say(
                f"{name}: {runs} runs and {learnings} learnings to make, {run_seconds(results):.2g} s a run, "
                f"{self._slots} at once: about {in_words(self._left)}"
            )
        self._show()

    def then(self, diary: "Diary") -> "Callable[[Event], None]":
        """Takes an event in, and leaves a sign in the diary."""
        from lodestar.sweep import Done, Failed

        def take(event: "Event") -> None:
            diary.sign(trials=isinstance(event, Done | Failed))
            self._take(event)

        return take

    def _take(self, event: "Event") -> None:
        from lodestar.runs import Status
        from lodestar.sweep import Done, Failed, Started

        if isinstance(event, Started):
            self._running[event.trial.name] = time.monotonic()
        elif isinstance(event, Done | Failed):
            self._running.pop(event.trial.name, None)
            self._done += 1
        if isinstance(event, Done):
            self._diverged += event.run.status is Status.DIVERGED
        if isinstance(event, Failed):
            self._failed += 1
            if self._failed <= 5:
                self._warn(f"{event.trial.name} failed: {event.reason[:240]}")
        self._show()

    def stopped(self, command: str) -> None:
        """Ctrl-C."""
        self._bar.stop()
        _screen.warn(f"stopped; all finished runs are kept. To go on: {command}")

    def _show(self) -> None:
        left = self._time_left()
        lost = "".join(f", {n} {word}" for n, word in ((self._diverged, "diverged"), (self._failed, "failed")) if n)
        running = ", ".join(self._running) or "waiting"
        self._bar.update(
            self._task, completed=self._done, total=self._total, left=f"{left}{lost} · {running}"[: self._room()]
        )
        now = time.monotonic()
        if not self._live and not self._quiet and now - self._last_line >= LINE_SECONDS:
            self._last_line = now
            self._say(f"{self._bench.home.path.name}: {self._done} of {self._total} done{lost}, {left}")

    def _time_left(self) -> str:
        from lodestar_bench.estimate import in_words

        if self._left is None:
            return "time left not known yet"
        ahead, made = self._total - self._done_at, self._done - self._done_at
        each = self._left / ahead if ahead else 0.0
        if made >= PACE:  # by now the pace itself tells more, a busy machine included
            each = max(each, (time.monotonic() - self._left_at) / made)
        return f"about {in_words(max(ahead - made, 0) * each)} left"

    def _room(self) -> int:
        return max(20, self._console.width - 75)

    def _say(self, sentence: str) -> None:
        if not self._quiet:
            self._console.print(_screen.safe(sentence))

    def _warn(self, sentence: str) -> None:
        self._console.print(_screen.safe(f"Warning: {sentence}", "yellow"))
