"""A plan: the learning rate of every optimizer step, frozen. Exports run without Lodestar.

A plan is a polyline through knots (step, lr); at a jump two knots share a step, and that step belongs to the left one.
So a plan of a million steps is a few hundred numbers, and still exact. Comes in: knots. Goes out: `lr_at(step)`, a JSON
or CSV file, a torch `LambdaLR`, an Optax schedule, a Keras schedule. Knows nothing of how it was made.
"""

import bisect
import csv
import dataclasses
import io
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lodestar import _disk
from lodestar._extras import need, update_line

FORMAT = "lodestar-plan"
VERSION = 1


@dataclasses.dataclass(frozen=True)
class Plan:
    """Steps `first_step` to `last_step` of a run (1-based: step s is the s-th update). Outside, the ends hold."""

    first_step: int
    last_step: int
    knots: tuple[float, ...]
    lr: tuple[float, ...]

    def __post_init__(self):
        object.__setattr__(self, "knots", tuple(map(float, self.knots)))
        object.__setattr__(self, "lr", tuple(map(float, self.lr)))
        if not 1 <= len(self.knots) == len(self.lr):
            raise ValueError(f"a plan needs one lr a knot, got {len(self.knots)} knots and {len(self.lr)} rates")
        if any(b < a for a, b in zip(self.knots, self.knots[1:], strict=False)):
            raise ValueError("a plan's knots must not decrease. Fix: sort them by step")
        if not np.all(np.isfinite(self.lr)) or min(self.lr) < 0:
            bad = next(rate for rate in self.lr if not (np.isfinite(rate) and rate >= 0))
            raise ValueError(f"a plan's learning rates must be finite numbers >= 0, got {bad}")

    def __len__(self) -> int:
        return max(self.last_step - self.first_step + 1, 0)

    def lr_at(self, step: int) -> float:
        """The learning rate of one optimizer step."""
        return read_polyline(self.knots, self.lr, min(max(step, self.first_step), self.last_step))

    def values(self) -> NDArray[np.float64]:
        """The learning rate of every step from `first_step` to `last_step`."""
        return np.array([self.lr_at(step) for step in range(self.first_step, self.last_step + 1)])

    def to_json(self, path: str | os.PathLike[str]) -> None:
        """Write the plan as JSON: knots, and what they mean, so that any language can follow it."""
        data = {
            "format": FORMAT,
            "version": VERSION,
            "meaning": "lr is linear between knots; of two equal knots the first holds for that step, the second after",
            **dataclasses.asdict(self),
        }
        _disk.replace_file(Path(path), (json.dumps(data, indent=1, allow_nan=False) + "\n").encode())

    @classmethod
    def from_json(cls, path: str | os.PathLike[str]) -> "Plan":
        """Read a plan written by `to_json`."""
        try:
            data = json.loads(Path(path).read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise ValueError(f"the plan {path} cannot be read: {error}. Fix: write one with Plan.to_json") from error
        if not isinstance(data, dict) or data.get("format") != FORMAT:
            raise ValueError(f"{path} is not a Lodestar plan. Fix: write one with Plan.to_json")
        if not isinstance(data.get("version"), int) or data["version"] > VERSION:
            raise ValueError(
                f"{path} has plan version {data.get('version')}, this Lodestar reads up to {VERSION}. "
                f"Fix: {update_line()}"
            )
        try:
            return cls(*(data[field.name] for field in dataclasses.fields(cls)))
        except (KeyError, TypeError) as error:
            raise ValueError(f"the plan {path} is damaged: {error!r}. Fix: export it again") from error

    def to_csv(self, path: str | os.PathLike[str]) -> None:
        """Write one row a step: step, lr."""
        text = io.StringIO()
        rows = csv.writer(text, lineterminator="\n")
        rows.writerow(["step", "lr"])
        rows.writerows((step, repr(self.lr_at(step))) for step in range(self.first_step, self.last_step + 1))
        _disk.replace_file(Path(path), (text.getvalue()).encode())

    def as_lambda_lr(self, optimizer: Any) -> Any:
        """A plain torch `LambdaLR` over a list of multipliers; its first step is this plan's `first_step`.

        Parameter groups keep their ratios: the first group follows the plan, the others in proportion to their lr.
        """
        schedulers = need("torch.optim.lr_scheduler", "torch")
        lead = optimizer.param_groups[0]
        start = float(lead.get("initial_lr", lead["lr"]))
        if start <= 0:
            raise ValueError(f"the first parameter group's lr must be above 0 to be scaled, got {start}. Fix: set it")
        multipliers = [float(rate) / start for rate in self.values()]
        last = len(multipliers) - 1
        return schedulers.LambdaLR(optimizer, lambda done: multipliers[min(done, last)])

    def as_optax(self) -> Any:
        """A plain Optax schedule: update count (from 0) to lr; count 0 is this plan's `first_step`."""
        jnp = need("jax.numpy", "optax")
        rates = jnp.asarray(self.values())
        return lambda count: rates[jnp.clip(count, 0, len(rates) - 1)]

    def as_keras(self) -> Any:
        """A plain Keras `LearningRateSchedule`; iteration 0 is this plan's `first_step`."""
        keras = need("keras", "keras")
        rates = self.values().tolist()

        class FrozenPlan(keras.optimizers.schedules.LearningRateSchedule):
            """The learning rate of each iteration, from a list."""

            def __init__(self, rates: Sequence[float]):
                super().__init__()
                self.rates = list(rates)

            def __call__(self, step: Any) -> Any:
                table = keras.ops.convert_to_tensor(self.rates, dtype="float32")
                at = keras.ops.clip(keras.ops.cast(step, "int32"), 0, len(self.rates) - 1)
                return keras.ops.take(table, at)

            def get_config(self) -> dict[str, Any]:
                return {"rates": self.rates}

        return FrozenPlan(rates)


def read_polyline(knots: Sequence[float], lr: Sequence[float], step: float) -> float:
    """The polyline at `step`; a step on a jump reads its left side, a knot is exact, rounding leaves no segment."""
    right = bisect.bisect_left(knots, step)
    if right == len(knots):
        return lr[-1]
    if right == 0 or knots[right] == step:
        return lr[right]
    x0, x1, y0, y1 = knots[right - 1], knots[right], lr[right - 1], lr[right]
    value = y0 + (y1 - y0) * ((step - x0) / (x1 - x0))
    return min(max(value, min(y0, y1)), max(y0, y1))
