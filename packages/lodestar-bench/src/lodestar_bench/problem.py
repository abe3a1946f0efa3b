"""A task at one scale, ready to train: what the bench's loop needs to know of a model and its data.

Comes in: a scale (one of `SCALES`). Goes out: weights, batches, losses, figures. The learning rate, the
optimizer and the schedule under test are not known here: a problem names only the optimizer of the paper's recipe.
"""

import abc
import copy
import dataclasses
from typing import Any, Literal, Self

import jax
from numpy.typing import NDArray

from lodestar.runs import Direction

Params = Any
ModelState = Any
Batch = Any
SCALES = ("paper", "laptop", "cpu", "smoke")
"""A GPU; one to one and a half minutes a run on one core, at accuracies people know; 10 s a run; seconds."""
Split = Literal["validation", "test"]


@dataclasses.dataclass(frozen=True)
class TrainingRecipe:
    """The optimizer a task is trained with, but for its rate; `rates` are the five peak rates the plain shapes try."""

    optimizer: Literal["adamw", "adam", "sgd"]
    rates: tuple[float, ...]
    weight_decay: float = 0.0
    momentum: float = 0.9
    b1: float = 0.9
    b2: float = 0.999
    averaged: bool = False
    """Whether weights are averaged (schedule-free): what every schedule on this recipe then gets."""

    def as_kept(self) -> dict[str, Any]:
        """For JSON files, under the names of release one, so that its results count as those of the same recipe."""
        fields = {"optimiser" if key == "optimizer" else key: value for key, value in dataclasses.asdict(self).items()}
        if not self.averaged:
            del fields["averaged"]
        return {**fields, "rates": list(self.rates)}


Recipe = TrainingRecipe
"""Its name in release one."""


@dataclasses.dataclass(frozen=True)
class Figures:
    """How a model does on a split: mean loss, and the metric (accuracy unless the task says otherwise)."""

    loss: float
    metric: float


class AbstractProblem(abc.ABC):
    """A task at a scale. Everything random comes from the run's seed; one seed gives one run, bit for bit."""

    task: str
    scale: str
    recipe: TrainingRecipe
    direction: Direction
    metric_name: str
    batch_size: int
    steps_per_epoch: int
    total_steps: int
    evaluate_every: int
    """Updates between two validation figures."""
    convolutional: bool
    """Whether a step holds convolutions: those run one jitted step at a time, others many in one `lax.scan`."""

    def with_recipe(self, recipe: TrainingRecipe) -> Self:
        """The same problem, trained with another optimizer."""
        other = copy.copy(self)
        other.recipe = recipe
        return other

    @abc.abstractmethod
    def begin(self, seed: int) -> tuple[Params, ModelState]:
        """Fresh weights, and whatever else the model carries (batch statistics; an empty dict if nothing)."""

    @abc.abstractmethod
    def batches(self, seed: int, first: int, count: int) -> Batch:
        """Batches for the updates `first` to `first + count - 1` (from 1), stacked on a leading axis: NumPy arrays.

        A pure function of its arguments: epochs are shuffled by the seed, so any update can be made again.
        """

    @abc.abstractmethod
    def loss(
        self, params: Params, state: ModelState, batch: Batch, key: jax.Array
    ) -> tuple[jax.Array, tuple[ModelState, jax.Array]]:
        """Training loss of one batch (traced by JAX; augmentation and dropout draw from `key`); state, and logits."""

    @abc.abstractmethod
    def evaluate(self, params: Params, state: ModelState, split: Split) -> Figures:
        """Loss and metric on a whole split, dropout off."""

    @abc.abstractmethod
    def outputs(self, params: Params, state: ModelState) -> NDArray:
        """The model's outputs (probabilities) on a small fixed part of the validation split."""

    @abc.abstractmethod
    def output_weights(self, params: Params) -> jax.Array:
        """The weights of the last layer."""
