"""`lodestar fit`: from runs to a forecaster file, with progress, resumable."""

import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument, Option

from lodestar import _disk
from lodestar._errors import ForecasterError
from lodestar.cli import _screen
from lodestar.cli._source import open_runs

if TYPE_CHECKING:
    from rich.table import Table

    from lodestar.fitting import FitProgress
    from lodestar.fitting.dataset import Prepared
    from lodestar.forecaster import Forecaster

_LABELS = {"05": "5 %", "50": "50 %"}
_USELESS = 0.2  # a rank correlation below it orders runs hardly better than chance


def fit_command(
    runs: Annotated[str, Argument(help="A store of runs, or a table that could be imported.")],
    out: Annotated[Path, Option("--out", "-o", help="The forecaster file to write.")],
    preset: Annotated[str, Option(help="'default', the fast one; 'paper', the paper's settings, slow.")] = "default",
    members: Annotated[
        int | None, Option(min=1, help="Forecasters in the ensemble, fitted side by side; default 2, paper 1.")
    ] = None,
    seed: Annotated[int, Option(help="Seed of everything random; the same seed gives the same file.")] = 0,
    updates: Annotated[int | None, Option(min=1, help="Most gradient updates; the preset says how many.")] = None,
    hold_out: Annotated[float, Option(min=0.0, max=0.89, help="Share of runs held out to check and stop by.")] = 0.15,
    points: Annotated[int | None, Option(min=20, help="Points on the grid of a run; default: as logged.")] = None,
    metric_kind: Annotated[str, Option(help="accuracy, percent, loss or any; 'auto' judges from the values.")] = "auto",
    leave_seed: Annotated[list[int] | None, Option(help="Leave this seed out, to evaluate on; repeatable.")] = None,
    change: Annotated[
        list[str] | None,
        Option("--set", metavar="NAME=VALUE", help="Change any other setting, such as latent=32; repeatable."),
    ] = None,
    fresh: Annotated[bool, Option("--fresh", help="Do not go on from an unfinished fit's checkpoint.")] = False,
    as_json: Annotated[bool, Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Fit a forecaster to your runs: the file that plans and steers the learning rate of the next job.

    It learns most from runs with different schedules and peak rates; lodestar doctor says whether yours suffice. Runs
    that cannot teach anything (diverged, no learning rate, ...) are excluded, and named. The table at the end tells how
    well it forecasts runs it never learned from. A fit that was stopped or killed goes on when the same command is
    given again.

    \b
    Examples:
      lodestar fit runs -o forecaster.lodestar
      lodestar fit runs -o forecaster.lodestar --members 4
      lodestar fit runs -o paper.lodestar --preset paper --leave-seed 4
      lodestar fit sweep.csv -o quick.lodestar --updates 4000 --set latent=12
    """
    from lodestar.fitting import fit, fit_settings
    from lodestar.fitting.dataset import prepare

    changes = _changes(change or [], updates, members)
    try:
        settings = fit_settings(preset, **changes)  # pyright: ignore[reportArgumentType]
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None
    left = set(leave_seed or [])
    found = open_runs(runs)
    if left:
        found = found.keep(lambda run: run.facts.seed not in left)
    try:
        data = prepare(found, points=points, metric_kind=metric_kind)  # pyright: ignore[reportArgumentType]
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--metric-kind") from None
    if not as_json:
        _show_excluded(data.excluded)
        _show_mixed(data)
    _check_writable(out)
    checkpoint = out.with_name(out.name + ".fit")
    if fresh and checkpoint.exists():
        shutil.rmtree(checkpoint)
    if checkpoint.exists():
        _screen.err().print(_screen.safe(f"Going on from {checkpoint} (--fresh starts anew).", "dim"))
    with _Bars(settings.members, settings.updates, quiet=as_json) as bars:
        try:
            forecaster = fit(
                data,
                seed=seed,
                preset=preset,  # pyright: ignore[reportArgumentType]
                hold_out=hold_out,
                checkpoint=checkpoint,
                on_progress=bars.update,
                **changes,
            )
        except KeyboardInterrupt:
            _screen.warn("Stopped. The same command goes on from here.")
            raise typer.Exit(130) from None
    forecaster.save(out)
    shutil.rmtree(checkpoint, ignore_errors=True)
    if as_json:
        _screen.show_json({"file": str(out), "facts": dict(forecaster.facts), "quality": dict(forecaster.quality)})
    else:
        _show(forecaster, out)


def _changes(words: list[str], updates: int | None, members: int | None) -> dict[str, Any]:
    changes: dict[str, Any] = {}
    for word in words:
        name, sign, value = word.partition("=")
        if not sign:
            raise typer.BadParameter(f"--set takes NAME=VALUE, got {word!r}")
        changes[name.strip()] = _value(value.strip())
    asked = {"updates": updates, "members": members}
    return changes | {name: value for name, value in asked.items() if value is not None}


def _value(text: str) -> int | float | str:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _check_writable(out: Path) -> None:
    """Better to hear of a folder that cannot be written before the fit than after."""
    import os

    try:
        _disk.make_folder(out.parent)
    except OSError as error:
        raise ForecasterError(f"the folder {out.parent} cannot be made: {error}. Fix: choose another --out") from error
    if out.is_dir() or not os.access(out.parent, os.W_OK):
        raise ForecasterError(f"{out} cannot be written to. Fix: choose a file in a folder of yours with --out")


def _show_excluded(excluded: tuple[tuple[str, str], ...], most: int = 8) -> None:
    if not excluded:
        return
    _screen.warn(f"{len(excluded)} runs were excluded; they stay in the store:")
    for name, reason in excluded[:most]:
        _screen.err().print(_screen.safe(f"  {_screen.safe(name, limit=48).plain}: {reason}", "dim"))
    if len(excluded) > most:
        _screen.err().print(_screen.safe(f"  and {len(excluded) - most} more: lodestar doctor lists what to do", "dim"))


def _show_mixed(data: "Prepared", most: int = 6) -> None:
    """Say so where runs of several tasks or sizes are fitted together; sizes alone are what the law is for."""
    from collections import Counter

    from lodestar.fitting.calibration import UNKNOWN
    from lodestar.fitting.scale_law import of_sizes

    counts = Counter(name or UNKNOWN for name in data.workloads).most_common()
    if len(counts) < 2:
        return
    if of_sizes(data):
        _screen.say(f"The runs are of {len(counts)} sizes: the fit learns how the best rate moves with the size.")
        return
    shown = ", ".join(f"{_screen.safe(name, limit=48).plain}: {count} runs" for name, count in counts[:most])
    more = f", and {len(counts) - most} more" if len(counts) > most else ""
    _screen.warn(
        f"the runs mix {len(counts)} tasks or sizes ({shown}{more}). Ranks are measured within each; "
        "a forecaster for each alone is often sharper"
    )


class _Bars:
    """A progress bar a member: updates done, time left, error on the held-out runs."""

    def __init__(self, members: int, updates: int, *, quiet: bool):
        self._plain = not quiet and not _screen.err().is_terminal  # a log file: a line now and then instead of a bar
        self._told = [0.0] * members
        self._shown = _screen.bars("{task.fields[error]}", quiet=quiet)
        names = [f"fitting {number}/{members}" for number in range(1, members + 1)] if members > 1 else ["fitting"]
        self._tasks = [self._shown.add_task(name, total=updates, error="compiling") for name in names]

    def __enter__(self) -> "_Bars":
        self._shown.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._shown.stop()

    def update(self, report: "FitProgress") -> None:
        checked = f"held-out error {report.held_out:.4f}" if report.held_out == report.held_out else ""
        text = checked or f"error {report.error:.4f}"
        if report.done and report.update < report.updates:
            text += f", stopped: no better since update {report.best_update}"
        share = report.update / report.updates
        if self._plain and (report.done or share >= self._told[report.member] + 0.2):
            self._told[report.member] = share
            what = self._shown.tasks[report.member].description
            _screen.err().print(_screen.safe(f"{what}: update {report.update} of {report.updates}, {text}", "dim"))
        total = report.update if report.done else report.updates
        self._shown.update(self._tasks[report.member], completed=report.update, total=total, error=text)


def _show(forecaster: "Forecaster", out: Path) -> None:
    from lodestar.forecaster.about import law_words

    console = _screen.out()
    facts, quality = forecaster.facts, forecaster.quality
    size = out.stat().st_size / 1024
    _screen.say(
        f"Fitted to {facts['runs']} runs in {facts['seconds']:.0f} s "
        f"({max(facts['updates'])} updates, {facts['members']} member{'s' if facts['members'] > 1 else ''}).",
        "bold",
    )
    if quality:
        console.print(_quality_table(quality))
        for sentence in _caveats(quality):
            _screen.warn(sentence)
    else:
        _screen.warn("nothing was held out, so the quality is unknown and the intervals are wide. Fix: --hold-out 0.15")
    for sentence in law_words(forecaster):
        _screen.say(f"{sentence[0].upper()}{sentence[1:]}.")
    _screen.say(f"Wrote {out} ({size:.0f} kB). Next: lodestar evaluate {out} RUNS")


def _quality_table(quality: Mapping[str, Any]) -> "Table":
    """A row for each share seen, and for each task where several are mixed; the runs behind each figure beside it."""
    title = "Relative MSE on runs it never learned from"
    found = _screen.table("seen", ">runs", ">loss", ">metric", ">lr", ">ranked", ">rank corr.", title=title)
    for label, words in _LABELS.items():
        cells = [quality.get(f"relative_mse_{name}_{label}") for name in ("loss", "metric", "lr")]
        rank = _screen.number(quality.get(f"spearman_{label}"), 3)
        runs = [str(quality.get(f"{name}_{label}", "-")) for name in ("runs", "spearman_runs")]
        found.add_row(words, runs[0], *(_screen.number(c, 3) for c in cells), runs[1], rank)
        for name, figures in quality.get("workloads", {}).items():
            alone = _screen.number(figures.get(f"spearman_{label}"), 3)
            told = _screen.safe(f"  {name}", "dim", limit=32)
            found.add_row(told, "", "", "", "", str(figures.get(f"runs_{label}", 0)), alone)
    return found


def _caveats(quality: Mapping[str, Any]) -> Iterator[str]:
    """What the figures do not carry: too few runs, a task whose runs it cannot rank."""
    from lodestar.runs.few import FEW_RUNS, caveat

    fewest, words = min((quality.get(f"spearman_runs_{label}", 0), words) for label, words in _LABELS.items())
    told = caveat(fewest, f"the rank correlation with {words} of each run seen")
    if told:
        yield told
    for name, figures in quality.get("workloads", {}).items():
        rank, runs = figures.get("spearman_50"), figures.get("runs_50", 0)
        if rank is not None and rank < _USELESS and runs >= 3:
            few = f", from only {runs} runs" if runs < FEW_RUNS else f", from {runs} runs"
            yield f"it cannot rank the runs of {name[:60]!r} (rank correlation {rank:.2f} with half of each seen{few})"
