"""Jobs that are unlike a sweep in one thing: the seven shifts, and controllers that meet them.

Comes in: a task at cpu scale and the name of a shift. Goes out: the job's problem and recipe, and controllers. A shift
that a job only meets on its way (a longer run, an overshoot) is a controller's affair, so that a closed loop, its own
plan and a replayed schedule meet the very same. Sweeps, fits and tables are not known here.
"""

import copy
import dataclasses
import functools
import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lodestar.runs import Scalar
from lodestar.schedules import Schedule
from lodestar_bench import tasks
from lodestar_bench.data.rows import Rows
from lodestar_bench.method import AbstractController, AbstractLook
from lodestar_bench.methods.steered import Steered
from lodestar_bench.problem import Batch, TrainingRecipe
from lodestar_bench.tasks.classification import Classification
from lodestar_bench.tasks.order import rows

SHIFTS = ("same", "width", "batch", "length", "labels", "decay", "data", "spike")
TIMES = 4  # as wide, or as large a batch
NOISY = 0.5  # of the labels
DECAY, LEAST_DECAY = 10.0, 0.1  # times the recipe's; and what a recipe without any gets
SPIKE, SPIKE_SHARE = 10.0, 0.03


class Growing(Classification):
    """A problem that learns from the first half of its rows until half time, and then from all of them."""

    def __init__(self, whole: Classification):
        for name, value in vars(whole).items():
            setattr(self, name, value)

    def batches(self, seed: int, first: int, count: int) -> Batch:
        """As ever, but out of fewer rows at first."""
        half, train = self.total_steps // 2, self.splits.train
        early = max(0, min(count, half - first + 1))
        picked = [
            rows(total, self.batch_size, seed, start, length)
            for total, start, length in ((len(train) // 2, first, early), (len(train), first + early, count - early))
            if length
        ]
        which = np.concatenate(picked)
        return train.inputs[which], train.labels[which]


@functools.lru_cache(maxsize=16)
def job(task: str, shift: str) -> Classification:
    """The problem of a job; its length is that at its end."""
    whole = tasks.problem(task, "cpu")
    assert isinstance(whole, Classification)
    if shift == "width":
        narrow = tasks.task(task).narrow
        assert narrow is not None
        times: Any = Fraction(1, TIMES)  # so many times narrower; a Fraction keeps the quotient a whole number
        return whole.with_model(narrow("cpu", times))
    other = copy.copy(whole)
    if shift == "batch":
        other.batch_size = TIMES * whole.batch_size
    elif shift == "length":
        other.total_steps = 2 * whole.total_steps
    elif shift == "labels":
        train = Rows(whole.splits.train.inputs, noisy(whole.splits.train.labels))
        other.splits = dataclasses.replace(whole.splits, train=train)
    elif shift == "decay":
        other.recipe = decayed(whole.recipe)
    elif shift == "data":
        other = Growing(whole)
    return other.with_model(whole.model)


def noisy(labels: NDArray[np.int32]) -> NDArray[np.int32]:
    """The labels with `NOISY` of them, the same for all runs, drawn anew from all labels."""
    rng = np.random.default_rng(len(labels))
    found = labels.copy().reshape(-1)
    chosen = rng.permutation(found.size)[: round(NOISY * found.size)]
    found[chosen] = labels.reshape(-1)[rng.integers(0, found.size, len(chosen))]
    return found.reshape(labels.shape)


def decayed(recipe: TrainingRecipe) -> TrainingRecipe:
    """Ten times the weight decay; Adam without any becomes AdamW."""
    if recipe.weight_decay:
        return dataclasses.replace(recipe, weight_decay=DECAY * recipe.weight_decay)
    form = "adamw" if recipe.optimizer == "adam" else recipe.optimizer
    return dataclasses.replace(recipe, optimizer=form, weight_decay=LEAST_DECAY)


class Met(AbstractController):
    """A controller in a job that is longer than planned, or that overshoots at first.

    `steps` is the length as planned. At half of it a longer job says so: a scheduler is told to `extend`, the rest of
    a schedule is stretched. In the first 3 % of an overshooting job ten times the rate is applied, and a scheduler sees
    what was applied.
    """

    def __init__(self, inner: AbstractController, shift: str, steps: int):
        self.inner, self._shift, self._half = inner, shift, steps // 2
        self._until = math.ceil(SPIKE_SHARE * steps) if shift == "spike" else 0
        self._longer = 2 * steps if shift == "length" else steps
        self._at = 0
        self._told = np.zeros(0)

    @property
    def every(self) -> int | None:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The inner controller's, but with a stop where something happens."""
        usual = self.inner.every
        stops = [self._until] if self._shift == "spike" else [self._half] if self._shift == "length" else []
        for stop in stops:
            due = math.inf if usual is None else (self._at // usual + 1) * usual
            if self._at < stop < due:
                return stop
        return usual

    def rates(self, first: int, count: int) -> NDArray[np.float64]:
        """Of the inner controller, or ten times as much."""
        if self._shift == "length" and self._at == self._half == first - 1:
            self._extend()
        self._told = self.inner.rates(first, count)
        return self._told * np.where(np.arange(first, first + count) <= self._until, SPIKE, 1.0)

    def observe(self, first: int, losses: NDArray[np.float64], metric: float | None, look: AbstractLook) -> None:
        """Told as it was, with the rates that were applied."""
        self._at = first + len(losses) - 1
        if isinstance(self.inner, Steered):
            for step in range(first, min(self._at, self._until) + 1):
                self.inner.scheduler.applied(step, SPIKE * float(self._told[step - first]))
        self.inner.observe(first, losses, metric, look)

    def facts(self) -> Mapping[str, Scalar]:
        """The inner controller's."""
        return self.inner.facts()

    def _extend(self) -> None:
        if isinstance(self.inner, Steered):
            self.inner.scheduler.extend(self._longer)


def stretched(rates: NDArray[np.float64], shift: str) -> Schedule:
    """A schedule as a job meets it: of a longer job, the second half takes three times as long."""
    steps = len(rates)
    if shift != "length":
        return Schedule("replayed", rates)
    half = steps // 2
    later = np.interp(np.linspace(half + 1, steps, 2 * steps - half), np.arange(1, steps + 1), rates)
    return Schedule("replayed", np.concatenate([rates[:half], later]))


def on_new_clock(rates: NDArray[np.float64]) -> Schedule:
    """A schedule of a job that is twice as long from half time on: later steps have the rate of their place in the run.

    It is where it would be had the length been known, so at half time it goes back to what it was at a quarter.
    """
    steps = len(rates)
    half = steps // 2
    later = np.interp(np.arange(half + 1, 2 * steps + 1) / 2, np.arange(1, steps + 1), rates)
    return Schedule("replayed", np.concatenate([rates[:half], later]))
