"""Weights by name: between Equinox modules and the plain dictionaries that the runtime and files use."""

from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from lodestar.fitting.model import LatentODE


def to_weights(params: Any) -> dict[str, NDArray]:
    """One model's arrays by name, such as `field.net.layers.0.weight`."""
    leaves = jax.tree_util.tree_flatten_with_path(eqx.filter(params, eqx.is_array))[0]
    return {_name(path): np.asarray(leaf) for path, leaf in leaves}


def stack_weights(members: Sequence[Any]) -> dict[str, NDArray]:
    """Several models' arrays by name, with a leading axis of members."""
    each = [to_weights(params) for params in members]
    return {name: np.stack([weights[name] for weights in each]) for name in each[0]}


def from_weights(model: LatentODE, weights: dict[str, NDArray]) -> LatentODE:
    """The same model with its arrays replaced by name."""
    arrays, static = eqx.partition(model, eqx.is_array)
    leaves, tree = jax.tree_util.tree_flatten_with_path(arrays)
    return eqx.combine(jax.tree.unflatten(tree, [jnp.asarray(weights[_name(path)]) for path, _ in leaves]), static)


def _name(path: tuple[Any, ...]) -> str:
    return ".".join(str(getattr(key, "name", getattr(key, "idx", key))) for key in path)
