"""A family of schedules: its names, its parameters with their defaults, and how it is drawn, in one place.

Comes in: a function of the run's fraction t that gives the learning rate as a share of the peak. Goes out: a `Family`;
called with a peak and a number of steps it draws a `Schedule`. Step n of N begins at t = (n - 1) / N. A parameter means
the same in every family that has it. Knows no family.
"""

import dataclasses
import inspect
import math
from collections.abc import Callable, Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

from lodestar.schedules.schedule import Schedule

Fractions = NDArray[np.float64]  # of the run, one a step
Shares = NDArray[np.float64]  # of the peak, one a step

PARAMETERS: Mapping[str, tuple[float, float]] = {
    "warmup": (0, 1),  # share of the run in which the rate rises in a straight line
    "plateau": (0, 1),  # share of the run at the peak
    "decay": (0, 1),  # share of the run, its last, in which the rate falls
    "floor": (0, 1),  # what it falls to, as a share of the peak
    "power": (0, math.inf),  # of the decay: 1 is a straight line, above 1 falls early, below 1 late
    "gamma": (0, 1),  # what each drop multiplies the rate by
    "stages": (1, math.inf),  # equal stretches of the run, a drop between each two
    "pct_start": (0, 1),  # share of the run that rises, by torch's name
    "div_factor": (1, math.inf),  # the peak over the first rate
    "final_div_factor": (1, math.inf),  # the first rate over the last
}
"""Every parameter of any family, with the lowest and the highest value it may have."""
PARTS = ("warmup", "plateau", "decay")
"""Parameters that are parts of one run, so that together they are at most 1."""
ROUNDING = 1e-6


@dataclasses.dataclass(frozen=True, eq=False)
class Family:
    """Call it with a peak, a number of steps and its parameters for a `Schedule`.

    `share(t, **parameters)` is the curve itself, without the warm-up; `above_zero` names the parameters that must not
    be 0 here.
    """

    name: str
    aliases: tuple[str, ...]
    share: Callable[..., Shares]
    defaults: Mapping[str, float]
    above_zero: tuple[str, ...] = ()

    def __call__(self, peak: float, total_steps: int, **parameters: float) -> Schedule:
        """The learning rate of each of `total_steps` steps."""
        self._check(peak, total_steps, parameters)
        given = {**self.defaults, **parameters}
        t = np.arange(total_steps) / total_steps
        share = self.share(t, **given)
        if "warmup" in given:
            share = np.minimum(np.minimum((t + 1 / total_steps) / max(given["warmup"], 1e-12), 1.0), share)
        return Schedule(self.name, peak * share, words=self.words(peak, parameters))

    def words(self, peak: float, parameters: Mapping[str, float]) -> str:
        """What `parse` reads: "linear:0.003:warmup=0.05", the defaults left out."""
        settings = [f"{key}={_number(value)}" for key, value in parameters.items() if value != self.defaults[key]]
        return ":".join([self.name, _number(peak), *settings])

    def _check(self, peak: float, total_steps: int, parameters: Mapping[str, float]) -> None:
        if not 0 < peak < math.inf:
            raise ValueError(f"{self.name}: the peak must be a finite number above 0, got {peak}. Fix: such as 1e-3")
        if total_steps < 1:
            raise ValueError(f"{self.name}: total_steps must be at least 1, got {total_steps}. Fix: the run's length")
        for key, value in parameters.items():
            self._check_parameter(key, value)
        parts = {key: value for key, value in {**self.defaults, **parameters}.items() if key in PARTS}
        if sum(parts.values()) > 1 + ROUNDING:
            stated = " + ".join(f"{key} {value:g}" for key, value in parts.items())
            raise ValueError(
                f"{self.name}: {' + '.join(parts)} must be at most 1, the whole run, got {stated}. Fix: lower one"
            )

    def _check_parameter(self, key: str, value: float) -> None:
        if key not in self.defaults:
            has = f"it has {', '.join(self.defaults)}" if self.defaults else "it has none"
            raise ValueError(f"{self.name}: there is no parameter {key!r}. Fix: {has}")
        low, high = PARAMETERS[key]
        if not (low <= value <= high and math.isfinite(value)) or (key in self.above_zero and value == 0):
            least = f"above {low:g}" if key in self.above_zero else f"at least {low:g}"
            most = "" if high == math.inf else f" and at most {high:g}"
            raise ValueError(f"{self.name}: {key} must be {least}{most}, got {value}. Fix: {self.defaults[key]:g}, say")


def family(name: str, *aliases: str, above_zero: Iterable[str] = ()) -> Callable[[Callable[..., Shares]], Family]:
    """Make a function `share(t, *, parameter=default, ...)` a `Family`."""

    def made(share: Callable[..., Shares]) -> Family:
        parameters = inspect.signature(share).parameters.values()
        defaults = {p.name: float(p.default) for p in parameters if p.kind is inspect.Parameter.KEYWORD_ONLY}
        return Family(name, aliases, share, defaults, tuple(above_zero))

    return made


def _number(value: float) -> str:
    return repr(float(value)).removesuffix(".0")
