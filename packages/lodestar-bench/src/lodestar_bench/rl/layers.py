"""A network as a graph: a node for each layer with the statistics of its weights, an edge from each to the next.

Comes in: a model's parameters, any pytree. Goes out: which layers there are, of which kind, and at each decision how
their weights stand and moved (Xiong et al. 2022). A layer is a group of arrays with the same parent; its order is that
of the pytree. Activations and gradients are not looked at, and no policy is known.
"""

import dataclasses
import functools

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from lodestar_bench.problem import AbstractProblem, Params
from lodestar_bench.rl.senses import AbstractSenses, Sensed, tame

KINDS = ("vector", "matrix", "cube", "convolution")  # by the number of axes of a layer's largest array
STATISTICS = ("mean", "std", "norm", "mean of the update", "norm of the update")
GLOBALS = ("training loss", "validation loss", "rate", "progress")


@dataclasses.dataclass(frozen=True)
class Graph:
    """The layers: which leaves belong to each, and each one's kind (a number of `KINDS`)."""

    leaves: tuple[tuple[int, ...], ...]
    kinds: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.leaves)


def graph_of(params: Params) -> Graph:
    """Arrays with the same parent are one layer."""
    groups: dict[str, list[int]] = {}
    found = jax.tree_util.tree_flatten_with_path(params)[0]
    for place, (path, _) in enumerate(found):
        parent = path[:-1] if len(path) > 1 else path
        groups.setdefault(jax.tree_util.keystr(parent), []).append(place)
    axes = [max(np.ndim(found[place][1]) for place in places) for places in groups.values()]
    return Graph(
        tuple(tuple(places) for places in groups.values()),
        tuple(min(max(count, 1), len(KINDS)) - 1 for count in axes),
    )


def adjacency(nodes: int) -> NDArray[np.float32]:
    """Each layer beside the next, and itself, normalised by the square roots of the degrees (Kipf and Welling 2017)."""
    edges = np.eye(nodes) + np.eye(nodes, k=1) + np.eye(nodes, k=-1)
    degree = edges.sum(axis=1)
    return (edges / np.sqrt(np.outer(degree, degree))).astype(np.float32)


class Layers(AbstractSenses):
    """The statistics of every layer, then what holds for the whole run."""

    def __init__(self, problem: AbstractProblem):
        self.graph = graph_of(jax.eval_shape(lambda: problem.begin(0)[0]))
        self.size = len(self.graph) * len(STATISTICS) + len(GLOBALS)
        self._before: Params | None = None

    def see(self, moment: Sensed) -> NDArray[np.float32]:
        """Norms, losses and the rate as logarithms: they span decades."""
        params = moment.look.params
        before = params if self._before is None else self._before
        nodes = np.asarray(_statistics(self.graph, params, before), dtype=np.float64)
        self._before = params
        losses = [_log(moment.loss), _log(moment.look.validation().loss)]
        return tame(np.concatenate([nodes.ravel(), losses, [_log(moment.rate), moment.progress]]))


@functools.partial(jax.jit, static_argnums=0)
def _statistics(graph: Graph, params: Params, before: Params) -> jax.Array:
    """One row a layer."""
    now, then = jax.tree.leaves(params), jax.tree.leaves(before)
    rows = []
    for places in graph.leaves:
        weights = jnp.concatenate([now[place].ravel() for place in places])
        moved = weights - jnp.concatenate([then[place].ravel() for place in places])
        rows.append(
            jnp.stack(
                [
                    weights.mean(),
                    jnp.log10(weights.std() + 1e-8),
                    jnp.log10(jnp.linalg.norm(weights) + 1e-8),
                    moved.mean(),
                    jnp.log10(jnp.linalg.norm(moved) + 1e-8),
                ]
            )
        )
    return jnp.stack(rows)


def _log(value: float) -> float:
    return float(np.log10(np.clip(value, 1e-30, 1e30))) if np.isfinite(value) else np.nan
