"""A schedule: the learning rate of every optimizer step, with a name.

Comes in: a rate for every step, or knots (step, rate) with straight lines between them; at a jump two knots share a
step, and that step belongs to the left one. So a plan of a million steps is a few hundred numbers, and still exact.
Goes out: the rate of any step; a JSON or CSV file; a schedule of torch, Optax or Keras that runs without Lodestar.
Knows nothing of how it was made. Imports NumPy only.
"""

import bisect
import csv
import dataclasses
import functools
import io
import itertools
import json
import math
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lodestar import _disk
from lodestar._extras import picture, update_line
from lodestar._plain import from_json, numbers, shown, whole
from lodestar.schedules.exports import keras_schedule, lambda_lr, optax_schedule

FORMAT = "lodestar-plan"
VERSION = 1
_MOST_STEPS = 10**9  # in a file: its rates must fit in memory
MEANING = "lr is linear between knots; of two equal knots the first holds for that step, the second after"


@dataclasses.dataclass(frozen=True, init=False, eq=False, repr=False)
class Schedule:
    """The learning rate of steps `first_step` to `last_step`, counted from 1. Outside them, the ends hold.

    `Schedule("mine", rates)` has a rate for every step from `first_step` on. With `knots=`, the rates are those at the
    knots. `words` is what `lodestar.schedules.parse` reads, where the schedule is of a known family.
    """

    name: str
    first_step: int
    last_step: int
    knots: Sequence[float]
    lr: Sequence[float] | NDArray[np.float64]
    words: str

    def __init__(
        self,
        name: str,
        rates: ArrayLike,
        *,
        knots: Sequence[float] | None = None,
        first_step: int = 1,
        last_step: int | None = None,
        words: str = "",
    ):
        values = np.array(rates, dtype=np.float64, ndmin=1)
        values.flags.writeable = False
        if values.ndim != 1 or (knots is None and not len(values)):
            raise ValueError(
                f"schedule {name!r}: rates must be a list of numbers, one a step, got an array of {values.shape}"
            )
        at = range(first_step, first_step + len(values)) if knots is None else tuple(map(float, knots))
        _check(name, at, values)
        last = int(at[-1]) if last_step is None else last_step
        fields = (name, first_step, last, at, values if knots is None else tuple(values.tolist()), words)
        for field, value in zip(dataclasses.fields(self), fields, strict=True):
            object.__setattr__(self, field.name, value)

    def __len__(self) -> int:
        return max(self.last_step - self.first_step + 1, 0)

    def __call__(self, step: int) -> float:
        """The learning rate of one optimizer step."""
        return self.lr_at(int(step))

    def lr_at(self, step: int) -> float:
        """The learning rate of one optimizer step."""
        step = min(max(step, self.first_step), self.last_step)
        if isinstance(self.knots, range):
            return float(self.lr[min(int(step) - self.first_step, len(self.lr) - 1)])
        return read_polyline(self.knots, self.lr, step)

    @functools.cached_property
    def rates(self) -> NDArray[np.float64]:
        """The learning rate of every step from `first_step` to `last_step`."""
        if isinstance(self.knots, range) and isinstance(self.lr, np.ndarray) and len(self.lr) == len(self):
            return self.lr
        rates = _read_steps(self.knots, self.lr, np.arange(self.first_step, self.last_step + 1))
        rates.flags.writeable = False
        return rates

    def values(self) -> NDArray[np.float64]:
        """A copy of `rates`, to write in."""
        return self.rates.copy()

    @property
    def peak(self) -> float:
        """The highest rate."""
        return float(self.rates.max())

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Schedule):
            return NotImplemented
        mine, others = (
            (s.name, s.first_step, s.last_step, np.asarray(s.knots), np.asarray(s.lr)) for s in (self, other)
        )
        return mine[:3] == others[:3] and all(map(np.array_equal, mine[3:], others[3:]))

    def __hash__(self) -> int:
        return hash((self.name, self.first_step, self.last_step, len(self.knots)))

    def __repr__(self) -> str:
        return f"Schedule({self.name!r}, {len(self)} updates, peak {np.max(self.lr):g})"

    def __str__(self) -> str:
        return self.words or self.name

    def _repr_html_(self) -> str | None:
        return picture(self)

    def to_json(self, path: str | os.PathLike[str]) -> None:
        """Write the schedule as JSON: knots, and what they mean, so that any language can follow it."""
        data = {
            "format": FORMAT,
            "version": VERSION,
            "meaning": MEANING,
            "name": self.name,
            "first_step": self.first_step,
            "last_step": self.last_step,
            "knots": list(map(float, self.knots)),
            "lr": list(map(float, self.lr)),
        }
        _disk.replace_file(Path(path), (json.dumps(data, indent=1, allow_nan=False) + "\n").encode())

    @classmethod
    def from_json(cls, path: str | os.PathLike[str]) -> "Schedule":
        """Read a schedule written by `to_json`."""
        try:
            data = from_json(_disk.read_whole(Path(path)), finite=True)
        except (OSError, ValueError) as error:
            raise ValueError(f"the plan {path} cannot be read: {error}. Fix: write one with to_json") from error
        if not isinstance(data, dict) or data.get("format") != FORMAT:
            raise ValueError(f"{path} is not a Lodestar plan. Fix: write one with to_json")
        if not isinstance(data.get("version"), int) or data["version"] > VERSION:
            raise ValueError(
                f"{path} has plan version {shown(data.get('version'))}, this Lodestar reads up to {VERSION}. "
                f"Fix: {update_line()}"
            )
        try:
            rates, knots = numbers(data["lr"], "lr", 0), numbers(data["knots"], "knots")
            first = whole(data["first_step"], "first_step", -_MOST_STEPS, _MOST_STEPS)
            last = whole(data["last_step"], "last_step", first - 1, first + _MOST_STEPS)
            return Schedule(str(data.get("name", "plan")), rates, knots=knots, first_step=first, last_step=last)
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"the plan {path} is damaged: {shown(error)}. Fix: export it again") from error

    def to_csv(self, path: str | os.PathLike[str]) -> None:
        """Write one row a step: step, lr."""
        text = io.StringIO()
        rows = csv.writer(text, lineterminator="\n")
        rows.writerow(["step", "lr"])
        rows.writerows(zip(range(self.first_step, self.last_step + 1), map(repr, self.rates.tolist()), strict=True))
        _disk.replace_file(Path(path), text.getvalue().encode())

    @classmethod
    def from_csv(cls, path: str | os.PathLike[str]) -> "Schedule":
        """Read a file with the columns step and lr, as `to_csv` writes it; between rows, straight lines."""
        try:
            with Path(path).open(newline="", encoding="utf-8-sig") as file:
                rows = [(int(row["step"]), float(row["lr"])) for row in csv.DictReader(file)]
        except KeyError as error:
            raise ValueError(f"{path} has no column {error}. Fix: a CSV file with the columns step and lr") from None
        except (OSError, TypeError, ValueError, csv.Error) as error:
            raise ValueError(f"{path} cannot be read: {error}. Fix: a whole step and an lr in every row") from error
        if not rows:
            raise ValueError(f"{path} holds no learning rate. Fix: a row a step, under step,lr")
        steps, rates = zip(*rows, strict=True)
        return Schedule(Path(path).stem, rates, knots=steps, first_step=steps[0], last_step=steps[-1])

    def as_lambda_lr(self, optimizer: Any) -> Any:
        """A plain torch `LambdaLR`; its first step is this schedule's `first_step`."""
        return lambda_lr(self.rates, optimizer)

    def as_optax(self) -> Any:
        """A plain Optax schedule: update count (from 0) to lr; count 0 is this schedule's `first_step`."""
        return optax_schedule(self.rates)

    def as_keras(self) -> Any:
        """A plain Keras `LearningRateSchedule`; iteration 0 is this schedule's `first_step`."""
        return keras_schedule(self.rates)


def read_polyline(knots: Sequence[float], lr: Sequence[float] | NDArray[np.float64], step: float) -> float:
    """The polyline at `step`; a step on a jump reads its left side, a knot is exact, rounding leaves no segment."""
    right = bisect.bisect_left(knots, step)
    if right == len(knots):
        return float(lr[-1])
    if right == 0 or knots[right] == step:
        return float(lr[right])
    x0, x1, y0, y1 = knots[right - 1], knots[right], float(lr[right - 1]), float(lr[right])
    value = y0 + (y1 - y0) * ((step - x0) / (x1 - x0))
    return min(max(value, min(y0, y1)), max(y0, y1))


def _read_steps(
    knots: Sequence[float], lr: Sequence[float] | NDArray[np.float64], steps: NDArray[np.int64]
) -> NDArray[np.float64]:
    """`read_polyline` at many steps, to the last bit."""
    x, y = np.asarray(knots, dtype=np.float64), np.asarray(lr, dtype=np.float64)
    right = np.minimum(np.searchsorted(x, steps), len(x) - 1)
    left = np.maximum(right - 1, 0)
    x0, x1, y0, y1 = x[left], x[right], y[left], y[right]
    inside = (x0 < steps) & (steps < x1)
    part = np.divide(steps - x0, x1 - x0, out=np.ones(len(steps)), where=inside)
    between = np.clip(y0 + (y1 - y0) * part, np.minimum(y0, y1), np.maximum(y0, y1))
    return np.where(inside, between, y1)


def _check(name: str, knots: Sequence[float], lr: NDArray[np.float64]) -> None:
    if not 1 <= len(knots) == len(lr):
        raise ValueError(f"schedule {name!r}: it needs one lr a knot, got {len(knots)} knots and {len(lr)} rates")
    if not isinstance(knots, range) and not all(a <= b for a, b in itertools.pairwise([-math.inf, *knots, math.inf])):
        raise ValueError(f"schedule {name!r}: its knots must be numbers that do not decrease. Fix: sort them by step")
    bad = np.flatnonzero(~np.isfinite(lr) | (lr < 0))
    if len(bad):
        raise ValueError(
            f"schedule {name!r}: its learning rates must be finite numbers >= 0, got {lr[bad[0]]} at step "
            f"{knots[bad[0]]:g}. Fix: correct that rate"
        )
