"""Wide tables: a row for each step, a column for each run and quantity, such as `run-1/loss` or `run-1 - val_acc`.

Judged by the names alone; `train/loss` and `val/loss` are parts of one run, not two runs.
"""

import dataclasses
import re
from collections.abc import Callable, Iterable, Sequence

from lodestar.importers import words
from lodestar.importers.roles import is_curve, is_step

_PARTS_OF_A_RUN = words.SPLITS | {
    *("optimizer", "optim", "opt", "trainer", "model", "metrics", "metric", "system", "time", "perf", "lr", "loss"),
    *("config", "params", "args", "hparams", "charts", "epoch", "step", "global", "best", "final", "mean", "avg"),
}
_SEPARATORS = (" - ", "/", ".", ":", "|", "__", " ")


@dataclasses.dataclass(frozen=True)
class WideColumn:
    column: str
    run: str
    quantity: str


def split_wide(columns: Iterable[str], *, least_runs: int = 2) -> tuple[WideColumn, ...] | None:
    """The reading of the names that explains most columns with the fewest quantities; None if there is none."""
    # Trackers that export extremes beside the mean mark them so: `run - loss__MIN`.
    names = [name for name in columns if not is_step(name) and not re.search(r"__(MIN|MAX)$", name)]
    readings = [_read(names, way) for way in _ways()]
    fitting = [found for found in readings if len({c.run for c in found}) >= least_runs]
    return max(fitting, key=lambda found: (len(found), -len({c.quantity for c in found})), default=None)


def _ways() -> Iterable[Callable[[str], tuple[str, str] | None]]:
    for separator in _SEPARATORS:
        for last in (False, True):
            for run_first in (True, False):
                yield lambda name, s=separator, z=last, f=run_first: _cut(name, s, z, f)


def _cut(name: str, separator: str, last: bool, run_first: bool) -> tuple[str, str] | None:
    left, found, right = name.rpartition(separator) if last else name.partition(separator)
    if not found or not left.strip() or not right.strip():
        return None
    return (left.strip(), right.strip()) if run_first else (right.strip(), left.strip())


def _read(names: Sequence[str], way: Callable[[str], tuple[str, str] | None]) -> tuple[WideColumn, ...]:
    found = []
    for name in names:
        parts = way(name)
        if parts and is_curve(parts[1]) and not _is_part(parts[0]):
            found.append(WideColumn(name, *parts))
    return tuple(found)


def _is_part(run: str) -> bool:
    """Whether what would be a run's name is only 'train', 'val' and the like, or a quantity itself."""
    pieces = {word for word in re.split(r"[^a-z0-9]+", run.lower()) if word}
    return pieces <= _PARTS_OF_A_RUN or (is_curve(run) and not re.search(r"\d", run))
