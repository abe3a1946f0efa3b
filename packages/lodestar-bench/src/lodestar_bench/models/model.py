"""What a network is to the bench: three pure functions.

Comes in: a source of random weights, then weights and inputs. Goes out: weights, then logits. Weights and batch
statistics are nested dictionaries of arrays, so that an optimizer, a vmap or a count needs no knowledge of the network.
First weights are drawn with NumPy: compiled, the drawing alone would take many times a small network's step.
"""

import dataclasses
import math
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from lodestar_bench.problem import ModelState, Params

Key = jax.Array
Draw = Callable[[tuple[int, ...], float], NDArray[np.float32]]
"""Normal weights of a shape and a standard deviation."""


@dataclasses.dataclass(frozen=True)
class Model:
    """A network. `apply(params, state, inputs, key)` gives logits and state; without a key it judges."""

    begin: Callable[[Draw], tuple[Params, ModelState]]
    apply: Callable[[Params, ModelState, jax.Array, Key | None], tuple[jax.Array, ModelState]]
    output_weights: Callable[[Params], jax.Array]

    def parameters(self) -> int:
        """How many weights it has; nothing is allocated."""
        params, _ = jax.eval_shape(lambda: self.begin(lambda shape, scale: jnp.zeros(shape)))  # pyright: ignore
        return sum(math.prod(leaf.shape) for leaf in jax.tree.leaves(params))


def normal(*seed: int) -> Draw:
    """Draws that depend on the seed alone."""
    rng = np.random.default_rng(seed)
    return lambda shape, scale: (scale * rng.standard_normal(shape, np.float32)).astype(np.float32)
