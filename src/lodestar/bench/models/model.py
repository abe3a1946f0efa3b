"""What a network is to the bench: three pure functions.

Comes in: a key, then weights and inputs. Goes out: weights, then logits. Weights and batch statistics are nested
dictionaries of arrays, so that an optimiser, a vmap or a count needs no knowledge of the network.
"""

import dataclasses
import math
from collections.abc import Callable

import jax

from lodestar.bench.problem import ModelState, Params

Key = jax.Array


@dataclasses.dataclass(frozen=True)
class Model:
    """A network. `apply(params, state, inputs, key)` gives logits and state; without a key it judges."""

    begin: Callable[[Key], tuple[Params, ModelState]]
    apply: Callable[[Params, ModelState, jax.Array, Key | None], tuple[jax.Array, ModelState]]
    output_weights: Callable[[Params], jax.Array]

    def parameters(self) -> int:
        """How many weights it has; nothing is allocated."""
        params, _ = jax.eval_shape(self.begin, jax.random.key(0))
        return sum(math.prod(leaf.shape) for leaf in jax.tree.leaves(params))
