"""Classification: a network, labelled arrays and a recipe make a problem.

Comes in: a `Model`, inputs and labels of three splits, lengths. Goes out: an `AbstractProblem` with accuracy as its
metric, or bits (cross-entropy in base 2), the smaller the better. Labels may be one a row (images) or one a position
(text). Where the data come from is not known here.
"""

import copy
import math
from collections.abc import Callable
from typing import Literal

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from lodestar.runs import Direction
from lodestar_bench.data.rows import Inputs, Splits
from lodestar_bench.models.model import Model, normal
from lodestar_bench.problem import AbstractProblem, Batch, Figures, ModelState, Params, Split, TrainingRecipe
from lodestar_bench.tasks.order import rows

Prepare = Callable[[jax.Array, jax.Array | None], jax.Array]
WATCHED = 128  # rows of the validation split whose outputs are shown


def scaled(inputs: jax.Array, key: jax.Array | None) -> jax.Array:
    """Nothing but a change to float32."""
    return inputs.astype(jnp.float32)


class Classification(AbstractProblem):
    """Cross-entropy on labelled rows. `prepare` turns stored inputs into the network's, and augments if given a key."""

    def __init__(
        self,
        *,
        task: str,
        scale: str,
        recipe: TrainingRecipe,
        model: Model,
        splits: Splits,
        batch_size: int,
        epochs: float,
        looks_per_epoch: float,
        convolutional: bool,
        prepare: Prepare = scaled,
        metric: Literal["accuracy", "bits"] = "accuracy",
        judged_at_once: int = 500,
    ):
        self.task, self.scale, self.recipe, self.model = task, scale, recipe, model
        self.splits, self.batch_size, self.convolutional = splits, batch_size, convolutional
        self.steps_per_epoch = len(splits.train) // batch_size
        self.total_steps = round(epochs * self.steps_per_epoch)
        self.evaluate_every = max(1, round(self.steps_per_epoch / looks_per_epoch))
        self.metric_name = metric
        self.direction = Direction.MAX if metric == "accuracy" else Direction.MIN
        self._prepare, self._judged_at_once = prepare, judged_at_once
        self._watched = np.arange(min(WATCHED, len(splits.validation)))
        self._judge = jax.jit(self._sums)
        self._outputs = jax.jit(self._probabilities)

    def with_model(self, model: Model) -> "Classification":
        """The same problem for another network."""
        other = copy.copy(self)
        other.model, other._judge, other._outputs = model, jax.jit(other._sums), jax.jit(other._probabilities)
        return other

    def begin(self, seed: int) -> tuple[Params, ModelState]:
        """Fresh weights of this seed."""
        return jax.tree.map(jnp.asarray, self.model.begin(normal(seed, 0)))

    def batches(self, seed: int, first: int, count: int) -> Batch:
        """Inputs and labels; each epoch is shuffled anew, and what does not fill a batch waits for the next epoch."""
        picked = rows(len(self.splits.train), self.batch_size, seed, first, count)
        return self.splits.train.inputs[picked], self.splits.train.labels[picked]

    def loss(
        self, params: Params, state: ModelState, batch: Batch, key: jax.Array
    ) -> tuple[jax.Array, tuple[ModelState, jax.Array]]:
        """Mean cross-entropy."""
        inputs, labels = batch
        augment, drop = jax.random.split(key)
        logits, state = self.model.apply(params, state, self._prepare(inputs, augment), drop)
        return cross_entropy(logits, labels).mean(), (state, logits)

    def evaluate(self, params: Params, state: ModelState, split: Split) -> Figures:
        """Mean cross-entropy and accuracy over the whole split."""
        data = self.splits.validation if split == "validation" else self.splits.test
        loss = right = 0.0
        for first in range(0, len(data), self._judged_at_once):
            here = np.arange(first, min(first + self._judged_at_once, len(data)))
            found = self._judge(params, state, _block(data.inputs, here), data.labels[here])
            loss, right = loss + float(found[0]), right + int(found[1])
        loss /= data.labels.size
        return Figures(loss, right / data.labels.size if self.metric_name == "accuracy" else loss / math.log(2))

    def outputs(self, params: Params, state: ModelState) -> NDArray:
        """Probabilities for the first rows of the validation split."""
        return np.asarray(self._outputs(params, state, _block(self.splits.validation.inputs, self._watched)))

    def output_weights(self, params: Params) -> jax.Array:
        """The weights of the last layer."""
        return self.model.output_weights(params)

    def _sums(self, params, state, inputs, labels):
        logits, _ = self.model.apply(params, state, self._prepare(inputs, None), None)
        return cross_entropy(logits, labels).sum(), (logits.argmax(axis=-1) == labels).sum()

    def _probabilities(self, params, state, inputs):
        return jax.nn.softmax(self.model.apply(params, state, self._prepare(inputs, None), None)[0], axis=-1)


def _block(inputs: Inputs, which: NDArray[np.int64]) -> NDArray:
    """The rows themselves, also where they are read from disk as asked for."""
    return inputs[which[None]][0]


def cross_entropy(logits: jax.Array, labels: jax.Array) -> jax.Array:
    """-log of the probability of the true class, one for each label."""
    chosen = jnp.take_along_axis(logits, labels[..., None].astype(jnp.int32), axis=-1)[..., 0]
    return jax.nn.logsumexp(logits, axis=-1) - chosen
