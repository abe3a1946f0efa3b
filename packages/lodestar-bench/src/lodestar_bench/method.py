"""What a method under test is: where the learning rate comes from, and if need be an optimizer of its own.

Comes in: a problem, one value of the method's own grid, a seed. Goes out: an `Optimizer` (how an update is made at a
given rate) and a controller (which rate). Plain shapes need only a schedule, feedback methods observe, methods that
wrap the optimizer carry their state in it, and those that learn beforehand leave a file. A method is one file.
"""

import abc
import dataclasses
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal

import jax
import numpy as np
from numpy.typing import NDArray

from lodestar.runs import RunSet, Scalar
from lodestar_bench.problem import AbstractProblem, Figures, ModelState, Params

OptimizerState = Any


@dataclasses.dataclass(frozen=True)
class Optimizer:
    """Pure functions that JAX traces; the rate is an input, so that one compiled step serves every schedule.

    `update(grads, state, params, rate)` gives new params, new state and the rate that was truly in effect (what is
    logged: a hypergradient method moves its own). `evaluation(params, state)` gives the weights to judge the model by;
    where they are others than those that are trained, say `averaged=True`, and batch statistics are made for them too.
    """

    init: Callable[[Params, jax.Array], OptimizerState]
    update: Callable[[Params, OptimizerState, Params, jax.Array], tuple[Params, OptimizerState, jax.Array]]
    evaluation: Callable[[Params, OptimizerState], Params]
    averaged: bool = False


class AbstractLook(abc.ABC):
    """The model as it stands after an observation, for methods that look inside. Nothing is computed unless asked."""

    params: Params
    state: ModelState

    @abc.abstractmethod
    def validation(self) -> Figures:
        """Loss and metric on the validation split now."""

    @abc.abstractmethod
    def outputs(self) -> NDArray:
        """Probabilities on a fixed part of the validation split."""


class AbstractController(abc.ABC):
    """Names the rate of the coming updates, and is told how they went. Plain Python, one for each run."""

    every: int | None = None
    """Updates between two looks the controller wants; None: whenever the validation metric is measured."""

    @abc.abstractmethod
    def rates(self, first: int, count: int) -> NDArray[np.float64]:
        """The rates of the updates `first` to `first + count - 1` (from 1), as planned now."""

    def observe(  # noqa: B027
        self, first: int, losses: NDArray[np.float64], metric: float | None, look: AbstractLook
    ) -> None:
        """How the updates from `first` on went; `metric` where one was measured after the last of them."""

    def facts(self) -> Mapping[str, Scalar]:
        """What to keep with the run."""
        return {}


class AbstractMethod(abc.ABC):
    """A method under test."""

    def __init_subclass__(cls, **options: Any):
        super().__init_subclass__(**options)
        if "optimiser" in vars(cls):  # as release one spelt it, and methods of your own may
            cls.optimizer = vars(cls)["optimiser"]

    name: str
    title: str
    group: Literal["paper", "modern", "ours"]
    """Which list it is on: the paper's own baselines, what people use today, or Lodestar."""
    learns: Literal["nothing", "by training", "from runs"] = "nothing"
    sweep_form: str = "recipe"
    """The form of the optimizer in the runs it learns from: the recipe's own, or with averaged weights."""

    @property
    def brings_optimizer(self) -> bool:
        """Whether updates are made by another optimizer than the recipe's: such a method is compared in no block."""
        return True

    @abc.abstractmethod
    def grid(self, problem: AbstractProblem) -> tuple[float, ...]:
        """The five values it is tuned over; one value, or none, if there is nothing to tune."""

    @abc.abstractmethod
    def optimizer(self, problem: AbstractProblem, value: float) -> Optimizer:
        """How updates are made. Methods with the same form should return optimizers that compile once (see cache)."""

    def optimiser(self, problem: AbstractProblem, value: float) -> Optimizer:
        """Release one's spelling of `optimizer`."""
        return self.optimizer(problem, value)

    @abc.abstractmethod
    def controller(
        self, problem: AbstractProblem, value: float, *, seed: int, knowledge: Path | None
    ) -> AbstractController:
        """The rates of one run. `knowledge` is the file that `learn` left."""

    def learn(
        self, problem: AbstractProblem, path: Path, *, seed: int, runs: RunSet | None, allowed_runs: int
    ) -> Mapping[str, Scalar]:
        """Learn from `runs` (a sweep) or by making at most `allowed_runs` training runs; leave a file at `path`.

        Returns what the table of costs needs: "seconds", "training_runs" and whatever else is worth keeping.
        """
        raise NotImplementedError(f"method {self.name!r} has nothing to learn")
