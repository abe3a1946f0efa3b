"""Steered runs: decision logs read back, and what they hold in the order a reader asks for it.

Comes in: paths of logs. Goes out: `Steered`, without curves; `recognise.py` finds the run of each. Draws nothing.
"""

import dataclasses
import functools
import os
from collections.abc import Sequence
from pathlib import Path

from lodestar._errors import LodestarError
from lodestar.runs.run import Run
from lodestar.scheduler import Log, read_log
from lodestar.scheduler.settings import PRESETS


@dataclasses.dataclass(frozen=True)
class Steered:
    """A steered run: its log, and its curves if they were found."""

    name: str
    log: Log
    run: Run | None = None

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
        preset = next((name for name, known in PRESETS.items() if settings.items() <= known.to_dict().items()), None)
        words = f"preset {preset}" if preset else "own settings"
        return f"{words}, shadow" if self.shadow else words

    @functools.cached_property
    def decided(self) -> dict[int, float]:
        """The learning rate by step."""
        return dict(zip(*self.rates(), strict=True))

    def rates(self) -> tuple[list[int], list[float]]:
        """The learning rate as it was decided: each decision's until the next one takes over."""
        decisions = self.log.decisions
        edges = [decision.step for decision in decisions[1:]] + [2**62]
        pairs = [p for d, stop in zip(decisions, edges, strict=True) for p in d.lr if p[0] <= stop]
        return [step for step, _ in pairs], [rate for _, rate in pairs]


def read_steered(paths: Sequence[str | os.PathLike[str]]) -> list[Steered]:
    """Logs by path; a folder stands for every .jsonl file in it."""
    files = [file for path in paths for file in _files(Path(path))]
    stems = [file.stem for file in files]
    names = [stem if stems.count(stem) == 1 else str(file) for stem, file in zip(stems, files, strict=True)]
    found = []
    for name, file in zip(names, files, strict=True):
        log = read_log(file)
        if not log.decisions:
            raise LodestarError(f"the log {file} holds no decision. Fix: leave it out, or wait until the job has begun")
        found.append(Steered(name, log))
    return found


def _files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    found = sorted(path.glob("*.jsonl"))
    if not found:
        raise LodestarError(f"the folder {path} holds no decision log (*.jsonl). Fix: pass the files given as log=...")
    return found
