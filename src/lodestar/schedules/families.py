"""The families of schedules, under the names everybody knows.

Comes in: a name. Goes out: the `Family` that draws it. Each function below is one family: its keywords are the
parameters with their defaults, its value is the learning rate at the fraction t of the run, as a share of the peak and
without the warm-up. Aliases are what PyTorch, Transformers and release one call it. Everything else that speaks of
families (`parse`, `recognise`, `reconstruct`, the sweep) refers to these.
"""

import re
from collections.abc import Callable, Mapping

import numpy as np

from lodestar.schedules.family import Family, Fractions, Shares, family
from lodestar.schedules.schedule import Schedule

Draw = Callable[[float, int], Schedule]
"""Draws a schedule from its peak and its number of steps, as every `Family` does."""


def _after(t: Fractions, warmup: float, plateau: float = 0.0) -> Fractions:
    """How much of what follows the warm-up and the plateau lies behind."""
    return np.maximum((t - warmup - plateau) / max(1.0 - warmup - plateau, 1e-12), 0.0)


@family("constant", "none", "ConstantLR", "constant_with_warmup", "warm-up, constant")
def constant(t: Fractions, *, warmup: float = 0.0) -> Shares:
    """The peak throughout."""
    return np.ones(len(t))


@family("linear", "linear_with_warmup", "warm-up, linear")
def linear(t: Fractions, *, warmup: float = 0.1, floor: float = 0.0) -> Shares:
    """A straight line down to the floor."""
    return floor + (1 - floor) * (1 - _after(t, warmup))


@family("cosine", "cosine_with_warmup", "cosine_annealing", "CosineAnnealingLR", "warm-up, cosine")
def cosine(t: Fractions, *, warmup: float = 0.0, floor: float = 0.0) -> Shares:
    """Half a cosine down to the floor."""
    return floor + (1 - floor) * 0.5 * (1 + np.cos(np.pi * _after(t, warmup)))


@family("onecycle", "OneCycleLR")
def onecycle(
    t: Fractions, *, pct_start: float = 0.3, div_factor: float = 25.0, final_div_factor: float = 1e4
) -> Shares:
    """Half a cosine up to the peak, half a cosine down to next to nothing (Smith; defaults of PyTorch and Optax)."""
    first = 1 / div_factor
    last = first / final_div_factor
    up = first + (1 - first) * 0.5 * (1 - np.cos(np.pi * np.minimum(t / max(pct_start, 1e-12), 1)))
    down = last + (1 - last) * 0.5 * (1 + np.cos(np.pi * _after(t, pct_start)))
    return np.where(t < pct_start, up, down)


@family("step", "StepLR", "step decay", "warm-up, step")
def step(t: Fractions, *, warmup: float = 0.0, gamma: float = 0.5, stages: float = 3.0) -> Shares:
    """Drops by `gamma` between equal stages: halved after each third of the run."""
    return gamma ** np.floor(stages * _after(t, warmup))


@family("wsd", "warmup_stable_decay", "hold, then decay")
def wsd(t: Fractions, *, warmup: float = 0.1, decay: float = 0.2, floor: float = 0.0) -> Shares:
    """Warm-up, stable, decay: a long plateau, then a straight line down in the last fifth."""
    return trapezoid.share(t, warmup=warmup, plateau=1 - warmup - decay, power=1.0, floor=floor)


@family("exponential", "ExponentialLR", "exponential decay", above_zero=("floor",))
def exponential(t: Fractions, *, warmup: float = 0.0, floor: float = 0.01) -> Shares:
    """Falls by the same factor in every stretch of the run, and ends at the floor."""
    return floor ** _after(t, warmup)


@family("inverse-sqrt", "inverse square root", above_zero=("warmup",))
def inverse_sqrt(t: Fractions, *, warmup: float = 0.1) -> Shares:
    """Falls with the square root of the step after the warm-up (Vaswani et al.)."""
    return np.sqrt(warmup / np.maximum(t, warmup))


@family("polynomial", "PolynomialLR", "polynomial_decay", "polynomial_decay_with_warmup", above_zero=("power",))
def polynomial(t: Fractions, *, warmup: float = 0.0, power: float = 1.0, floor: float = 0.0) -> Shares:
    """A power of what is left of the run, down to the floor."""
    return trapezoid.share(t, warmup=warmup, plateau=0.0, power=power, floor=floor)


@family("trapezoid", "trapezoidal", above_zero=("power",))
def trapezoid(
    t: Fractions, *, warmup: float = 0.0, plateau: float = 0.0, power: float = 1.0, floor: float = 0.0
) -> Shares:
    """A plateau and a decay `(1 - s) ** power` down to the floor: what a quasi-random sweep draws from."""
    return floor + (1 - floor) * (1 - np.minimum(_after(t, warmup, plateau), 1.0)) ** power


FAMILIES: Mapping[str, Family] = {
    each.name: each
    for each in (constant, cosine, onecycle, step, linear, wsd, exponential, inverse_sqrt, polynomial, trapezoid)
}
PAPER_SHAPES = ("constant", "cosine", "onecycle", "step")
"""The families of the paper's grid."""
SHAPES = FAMILIES  # this and the three below: names of release one
step_decay, warmup_linear, warmup_stable_decay = step, linear, wsd


def letters(name: str) -> str:
    """A name without what people write differently: "One-Cycle", "one_cycle" and "onecycle" are one."""
    return re.sub(r"[^a-z0-9]", "", name.lower())


_NAMES = {letters(name): each for each in FAMILIES.values() for name in (each.name, *each.aliases)}


def find(name: str) -> Family | None:
    """The family that goes by `name` or an alias of it."""
    return _NAMES.get(letters(name))
