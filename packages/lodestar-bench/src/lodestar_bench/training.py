"""A run on its way: advance it some updates at given rates, look at it, read off what was logged.

Comes in: a problem, an optimizer, a seed, then rates. Goes out: losses, figures, the series of a `Run`. The same
arguments give the same numbers, bit for bit, however the updates are cut into stretches. Who chooses the rates is not
known here: `train` asks a controller, a reinforcement learner's environment asks its policy.
"""

import dataclasses
import math
import time

import jax
import numpy as np
from numpy.typing import ArrayLike, NDArray

from lodestar.runs import Series
from lodestar_bench.compiled import Position, programs
from lodestar_bench.method import AbstractLook, Optimizer
from lodestar_bench.problem import AbstractProblem, Figures, ModelState, Params, Split

POINTS = 100  # of the logged loss and rate
BATCHES = 20  # run through a model for the batch statistics of averaged weights


@dataclasses.dataclass
class Seconds:
    """Where a run's time went. `train` and `evaluate` include compiling when a program is used for the first time."""

    train: float = 0.0
    evaluate: float = 0.0
    controller: float = 0.0

    @property
    def total(self) -> float:
        """All of it."""
        return self.train + self.evaluate + self.controller


@dataclasses.dataclass(frozen=True)
class Best:
    """The weights at the best validation metric so far."""

    step: int
    figures: Figures
    params: Params
    state: ModelState


class Look(AbstractLook):
    """The model now, with the weights it would be judged by."""

    def __init__(self, training: "Training", params: Params, state: ModelState):
        self.params, self.state = params, state
        self._training = training
        self._figures: Figures | None = None

    def validation(self) -> Figures:
        """Loss and metric on the validation split; computed once."""
        if self._figures is None:
            self._figures = self._training.figures(self.params, self.state, "validation")
        return self._figures

    def outputs(self) -> NDArray:
        """Probabilities on a fixed part of the validation split."""
        return self._training.problem.outputs(self.params, self.state)


class Training:
    """One run, from its first update to its last. `step` counts the updates made."""

    def __init__(self, problem: AbstractProblem, optimizer: Optimizer, *, seed: int, first_rate: float):
        self.problem, self.seed = problem, seed
        self.seconds = Seconds()
        self.step = 0
        self.best: Best | None = None
        self._programs = programs(problem, optimizer)
        self._key = jax.random.key(seed)
        params, state = problem.begin(seed)
        self._position = Position(params, state, self._programs.begin(params, np.float32(first_rate)))
        self._losses = np.zeros(problem.total_steps)
        self._rates = np.zeros(problem.total_steps)
        self._metrics: list[tuple[int, float]] = []
        self._lost = False
        self._judged_state: tuple[int, ModelState] | None = None

    @property
    def diverged(self) -> bool:
        """Whether a loss, in training or on the validation split, was not a finite number."""
        return self._lost or (bool(self.step) and not math.isfinite(self._losses[self.step - 1]))

    @property
    def done(self) -> bool:
        """Whether there is nothing left to do."""
        return self.diverged or self.step >= self.problem.total_steps

    @property
    def last_rate(self) -> float:
        """The rate in effect at the last update."""
        return float(self._rates[self.step - 1]) if self.step else 0.0

    def next_evaluation(self) -> int:
        """The update after which the validation metric is measured next."""
        every = self.problem.evaluate_every
        return min((self.step // every + 1) * every, self.problem.total_steps)

    def advance(self, rates: ArrayLike) -> NDArray[np.float64]:
        """Make one update at each rate; gives the losses. Stops for good after the first that is not finite."""
        wanted = np.asarray(rates, dtype=np.float64)
        self._check(wanted)
        began, first = time.perf_counter(), self.step + 1
        batches = self.problem.batches(self.seed, first, len(wanted))
        single = wanted.astype(np.float32)
        self._position, losses, used = self._programs.advance(self._position, batches, self._key, first, single)
        bad = np.flatnonzero(~np.isfinite(losses))
        made = int(bad[0]) + 1 if len(bad) else len(losses)
        here = slice(self.step, self.step + made)
        self._losses[here] = losses[:made]
        self._rates[here] = np.where(used == single, wanted, used)[:made]
        self.step += made
        self.seconds.train += time.perf_counter() - began
        return losses[:made]

    def look(self) -> Look:
        """The model as it stands."""
        params = self._programs.evaluation(self._position.params, self._position.optimizer)
        return Look(self, params, self._state_of(params))

    def _state_of(self, params: Params) -> ModelState:
        """Averaged weights have batch statistics of their own: the last training batches are run through once more."""
        state = self._position.state
        if not self._programs.optimizer.averaged or not jax.tree.leaves(state) or self.diverged:
            return state
        if self._judged_state is None or self._judged_state[0] != self.step:
            began, count = time.perf_counter(), min(BATCHES, self.step)
            batches = self.problem.batches(self.seed, self.step - count + 1, count)
            self._judged_state = self.step, self._programs.statistics(params, state, batches, self._key)
            self.seconds.evaluate += time.perf_counter() - began
        return self._judged_state[1]

    def measure(self, look: Look) -> Figures:
        """Log the validation metric now, and keep the weights if it is the best so far."""
        found = look.validation()
        self._metrics.append((self.step, found.metric))
        self._lost = self._lost or not math.isfinite(found.loss)
        beaten = self.best is None or self.problem.direction.better(found.metric, self.best.figures.metric)
        if beaten and not self._lost and math.isfinite(found.metric):
            self.best = Best(self.step, found, look.params, look.state)
        return found

    def figures(self, params: Params, state: ModelState, split: Split) -> Figures:
        """Loss and metric on a split, timed."""
        began = time.perf_counter()
        found = self.problem.evaluate(params, state, split)
        self.seconds.evaluate += time.perf_counter() - began
        return found

    def series(self) -> tuple[Series, Series, Series]:
        """Loss (mean since the point before), metric, and rate in effect: what a tracker would have kept."""
        ends = points(self.problem.total_steps)
        ends = np.unique(np.minimum(ends[ends < self.step + ends[0]], self.step))
        starts = np.concatenate([[0], ends[:-1]])
        means = [self._losses[a:b].mean() for a, b in zip(starts, ends, strict=True)]
        known = np.unique(np.concatenate([[1], ends]))
        steps, metrics = zip(*self._metrics, strict=True) if self._metrics else ((), ())
        return Series(ends, means), Series(steps, metrics), logged_rates(known, self._rates[known - 1])

    def _check(self, rates: NDArray[np.float64]) -> None:
        left = self.next_evaluation() - self.step
        if self.done or rates.ndim != 1 or not 1 <= len(rates) <= left:
            raise ValueError(
                f"rates must be a list of 1 to {left} numbers (the updates up to the next evaluation) for a run that "
                f"is not over, got shape {rates.shape} at update {self.step} of {self.problem.total_steps}"
            )
        bad = np.flatnonzero(~np.isfinite(rates) | (rates < 0))
        if len(bad):
            raise ValueError(
                f"a learning rate must be a finite number >= 0, got {rates[bad[0]]} for update "
                f"{self.step + 1 + bad[0]}. Fix: check what the method returns from rates()"
            )


def logged_rates(steps: NDArray[np.int64], rates: NDArray[np.float64]) -> Series:
    """The rates in effect; a method that moves its own leaves NaN where the run blows up, which is no rate."""
    known = np.isfinite(rates)
    return Series(steps[known], rates[known])


def points(total_steps: int) -> NDArray[np.int64]:
    """The updates after which loss and rate are logged: about a hundred, evenly, the last one always."""
    every = max(1, round(total_steps / POINTS))
    return np.unique(np.append(np.arange(every, total_steps + 1, every), total_steps))
