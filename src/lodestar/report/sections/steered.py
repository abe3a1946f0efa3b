"""Steered runs: decision logs read back, and what they hold in the order a reader asks for it.

Comes in: paths of logs, then runs. Goes out: `SteeredRun`, each with the run it is of. The log's header names that run;
a log of release one names none, and is taken to be of the run that has its file's name. Draws nothing.
"""

import dataclasses
import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from lodestar._errors import LodestarError
from lodestar.runs.run import Run
from lodestar.scheduler import Log, read_log
from lodestar.scheduler.settings import DEFAULT_OF_RELEASE_ONE, PRESETS


@dataclasses.dataclass(frozen=True)
class SteeredRun:
    """A steered run: its log, the name its run should have, and its curves if they are among the runs given."""

    name: str
    log: Log
    run_name: str
    run: Run | None = None

    @property
    def states_run(self) -> bool:
        """Whether the log itself says which run it is of."""
        return self.log.run_name is not None

    @property
    def total_steps(self) -> int:
        """The run's planned length."""
        return int(self.log.header.get("total_steps", 0)) or max((d.step for d in self.log.decisions), default=1)

    @property
    def metric(self) -> str:
        """What the forecaster forecasts."""
        return str(self.log.header.get("metric", "metric"))

    @property
    def shadow(self) -> bool:
        """Whether nothing of it was followed."""
        return self.log.header.get("mode") == "shadow"

    @property
    def kind(self) -> str:
        """Preset and mode in words."""
        settings = self.log.header.get("settings") or {"unknown": True}
        # Only what the log knows of: a later version may have settings that it lacks.
        known = {**PRESETS, "default of release one": DEFAULT_OF_RELEASE_ONE}
        preset = next((name for name, one in known.items() if settings.items() <= one.to_dict().items()), None)
        words = f"preset {preset}" if preset else "own settings"
        return f"{words}, shadow" if self.shadow else words

    def rates(self) -> tuple[list[int], list[float]]:
        """The learning rate as it was decided: each decision's until the next one takes over."""
        decisions = self.log.decisions
        edges = [decision.step for decision in decisions[1:]] + [2**62]
        pairs = [p for d, stop in zip(decisions, edges, strict=True) for p in d.lr if p[0] <= stop]
        return [step for step, _ in pairs], [rate for _, rate in pairs]


def read_steered(
    paths: Sequence[str | os.PathLike[str]], left_out: Callable[[str], None] | None = None
) -> list[SteeredRun]:
    """Logs by path; a folder stands for every .jsonl file in it.

    Of a folder, what cannot be read is left out, and `left_out` is told; a file that was named must be a log.
    """
    named = {Path(path) for path in paths}
    files = [file for path in paths for file in _files(Path(path))]
    stems = [file.stem for file in files]
    names = [stem if stems.count(stem) == 1 else str(file) for stem, file in zip(stems, files, strict=True)]
    found = []
    for name, file in zip(names, files, strict=True):
        try:
            found.append(_steered(name, file))
        except LodestarError as error:
            if file in named or left_out is None:
                raise
            left_out(f"left out: {error}")
    return found


def _steered(name: str, file: Path) -> SteeredRun:
    log = read_log(file)
    if not log.decisions:
        raise LodestarError(f"the log {file} holds no decision. Fix: leave it out, or wait until the job has begun")
    return SteeredRun(name, log, log.run_name or file.stem)


def join_runs(steered: Sequence[SteeredRun], runs: Iterable[Run]) -> list[SteeredRun]:
    """Each with its run, where a run of that name is among `runs`."""
    known = {run.name: run for run in runs}
    return [dataclasses.replace(one, run=known.get(one.run_name)) for one in steered]


def _files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    found = sorted(path.glob("*.jsonl"))
    if not found:
        raise LodestarError(f"the folder {path} holds no decision log (*.jsonl). Fix: pass the files given as log=...")
    return found
