"""Schedules by shape: the paper's four, what people use today, and one family that holds most of them.

Comes in: a peak rate and a number of updates. Goes out: a `Schedule`. Update n of N stands at the fraction n/N of the
run, so a shape that decays to zero is zero after its last update only where it says so. Knows nothing of sweeps.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from lodestar.schedules.schedule import Schedule

Shape = Callable[[float, int], Schedule]


def _before(total_steps: int) -> NDArray[np.float64]:
    """The fraction of the run that lies behind when each update begins: 0 for the first."""
    return np.arange(total_steps) / total_steps


def constant(peak: float, total_steps: int) -> Schedule:
    """One rate throughout."""
    return Schedule("constant", np.full(total_steps, peak))


def cosine(peak: float, total_steps: int) -> Schedule:
    """Half a cosine from the peak to zero."""
    return Schedule("cosine", peak * 0.5 * (1 + np.cos(np.pi * _before(total_steps))))


def step_decay(peak: float, total_steps: int) -> Schedule:
    """Halved after each third of the run."""
    return Schedule("step", peak * 0.5 ** np.floor(3 * _before(total_steps)))


def onecycle(
    peak: float, total_steps: int, *, rise: float = 0.3, start_over: float = 25.0, end_over: float = 1e4
) -> Schedule:
    """Cosine up from peak/25 in the first 30 %, cosine down to peak/25/1e4 (Smith; defaults of PyTorch and Optax)."""
    t, first = _before(total_steps), peak / start_over
    last = first / end_over
    up = first + (peak - first) * 0.5 * (1 - np.cos(np.pi * np.minimum(t / rise, 1)))
    down = last + (peak - last) * 0.5 * (1 + np.cos(np.pi * np.clip((t - rise) / (1 - rise), 0, 1)))
    return Schedule("onecycle", np.where(t < rise, up, down))


def warmup_linear(peak: float, total_steps: int, *, warmup: float = 0.1) -> Schedule:
    """Straight up during the warm-up, straight down to zero after."""
    return _renamed("linear", trapezoid(peak, total_steps, warmup=warmup))


def warmup_stable_decay(peak: float, total_steps: int, *, warmup: float = 0.1, decay: float = 0.2) -> Schedule:
    """Warm-up, a long plateau, a straight line to zero in the last fifth."""
    return _renamed("wsd", trapezoid(peak, total_steps, warmup=warmup, plateau=1 - warmup - decay))


def trapezoid(
    peak: float,
    total_steps: int,
    *,
    warmup: float = 0.0,
    plateau: float = 0.0,
    power: float = 1.0,
    floor: float = 0.0,
) -> Schedule:
    """The family: a straight warm-up, a plateau, a decay `(1 - s) ** power` down to `floor` x peak.

    `warmup` and `plateau` are fractions of the run. Power 1 is a straight line, above 1 falls early, below 1 late.
    """
    t = _before(total_steps)
    rest = max(1.0 - warmup - plateau, 1e-12)
    s = np.clip((t - warmup - plateau) / rest, 0, 1)
    up = np.minimum((t + 1 / total_steps) / max(warmup, 1e-12), 1.0)
    return Schedule("trapezoid", peak * np.minimum(up, floor + (1 - floor) * (1 - s) ** power))


def _renamed(name: str, schedule: Schedule) -> Schedule:
    return Schedule(name, schedule.rates)


SHAPES: dict[str, Shape] = {
    "constant": constant,
    "cosine": cosine,
    "onecycle": onecycle,
    "step": step_decay,
    "linear": warmup_linear,
    "wsd": warmup_stable_decay,
}
PAPER_SHAPES = ("constant", "cosine", "onecycle", "step")
