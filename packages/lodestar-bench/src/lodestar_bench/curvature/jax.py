"""Sharpness of a JAX loss: `loss(params, batch)` with weights in any pytree.

Comes in: a loss function, weights, a batch. Goes out: a `Sharpness`. Products are forward over reverse,
Hv = d/de grad(params + e v), compiled once for a `Curvature` and shapes; nothing larger than a vector is made. Whatever
the loss does on this batch is what is differentiated: hand over the form you want judged (dropout off, or its key
fixed). JAX is imported when something is measured. Knows nothing of Optax but where its Adam keeps the second moment.

    from lodestar_bench.curvature.jax import sharpness

    found = sharpness(loss, params, batch, seed=0)
    print(found, found.stability(lr))
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from lodestar._extras import need
from lodestar_bench.curvature.edge import TOLERANCE
from lodestar_bench.curvature.operator import Operator, Vector
from lodestar_bench.curvature.sharpness import Method, Sharpness, measure

EXTRA = "optax"
Loss = Callable[[Any, Any], Any]


class Curvature:
    """Measures one loss at many weights: along a run, say. What is compiled is kept as long as this object."""

    def __init__(self, loss: Loss):
        jax = need("jax", EXTRA)
        ravel = need("jax.flatten_util", EXTRA).ravel_pytree

        def product(params: Any, batch: Any, flat: Any) -> Any:
            _, tree = ravel(params)
            return ravel(jax.jvp(lambda p: jax.grad(loss)(p, batch), (params,), (tree(flat),))[1])[0]

        self._loss = jax.jit(loss)
        self._product = jax.jit(product)

    def operator(self, params: Any, batch: Any) -> tuple[Operator, float]:
        """The Hessian by its products, in the order of `jax.flatten_util.ravel_pytree`, and the loss."""
        jax = need("jax", EXTRA)
        kind, size = _kind(params)
        batch = jax.device_put(batch)
        loss = _number(self._loss(params, batch))

        def product(vector: Vector) -> Vector:
            return np.asarray(self._product(params, batch, vector.astype(kind)))

        return Operator(size, product, float(np.finfo(kind).eps)), loss

    def sharpness(
        self,
        params: Any,
        batch: Any,
        *,
        seed: int,
        method: Method = "power",
        iterations: int | None = None,
        tolerance: float = TOLERANCE,
        preconditioner: Any = None,
    ) -> Sharpness:
        """The largest eigenvalue at these weights on this batch (256 examples are the paper's choice).

        `preconditioner` is a tree like `params` of what the optimizer divides each gradient by: see
        `adam_preconditioner`. `seed` draws the first vector.
        """
        operator, loss = self.operator(params, batch)
        if preconditioner is not None:
            operator = operator.divided(_flat(params, preconditioner))
        return measure(
            operator,
            seed=seed,
            loss=loss,
            method=method,
            iterations=iterations,
            tolerance=tolerance,
            preconditioned=preconditioner is not None,
        )


def sharpness(loss: Loss, params: Any, batch: Any, *, seed: int, **options: Any) -> Sharpness:
    """One measurement; `options` are those of `Curvature.sharpness`. For several, make a `Curvature` and keep it."""
    return Curvature(loss).sharpness(params, batch, seed=seed, **options)


def adam_preconditioner(state: Any, *, b1: float = 0.9, b2: float = 0.999, eps: float = 1e-8) -> Any:
    """What Adam divides a gradient by, from an Optax state, wherever in it `scale_by_adam` keeps its moments.

    D = (1 - b1^t) (sqrt(v / (1 - b2^t)) + eps), a tree like the weights. The first factor is the correction of the
    first moment, which makes early steps longer. A weight whose second moment is 0 never had a gradient and never
    moved: its D is infinite, which leaves it out.
    """
    jax = need("jax", EXTRA)
    leaves = jax.tree.leaves(state, is_leaf=_is_adam)
    found = [leaf for leaf in leaves if _is_adam(leaf)]
    if len(found) != 1:
        raise ValueError(f"state must hold the moments of one Adam (mu, nu, count), got {len(found)} of them")
    count = int(found[0].count)
    if count < 1:
        raise ValueError("state is that of an Adam before its first update: its second moment is still 0. Fix: train")
    first, second = 1 - b1**count, 1 - b2**count

    def divisor(nu: Any) -> Vector:
        own = np.asarray(nu, np.float64)
        return np.where(own > 0, first * (np.sqrt(own / second) + eps), np.inf)

    return jax.tree.map(divisor, found[0].nu)


def _is_adam(node: Any) -> bool:
    return all(hasattr(node, name) for name in ("mu", "nu", "count")) and not isinstance(node, Mapping)


def _kind(params: Any) -> tuple[np.dtype, int]:
    """The one type all weights have, and how many there are."""
    jax = need("jax", EXTRA)
    kinds: dict[str, np.dtype] = {}
    size = 0
    for path, leaf in jax.tree_util.tree_leaves_with_path(params):
        kinds[f"params{jax.tree_util.keystr(path)}"] = kind = np.asarray(leaf).dtype
        size += np.asarray(leaf).size
        if kind not in (np.float32, np.float64):
            raise ValueError(
                f"params{jax.tree_util.keystr(path)} is {kind}, and a Hessian is taken by float32 or float64 weights. "
                "Fix: keep what is not learned out of params (close over it), and cast half precision up"
            )
    if not size:
        raise ValueError("params holds no weights, so there is no Hessian. Fix: pass the pytree that is trained")
    if len(set(kinds.values())) > 1:
        mixed = ", ".join(f"{name} {kind}" for name, kind in list(kinds.items())[:4])
        raise ValueError(f"params must be of one type, got {mixed}. Fix: jax.tree.map(jnp.float32, params)")
    return next(iter(kinds.values())), size


def _number(found: Any) -> float:
    """The loss as a finite number."""
    if isinstance(found, tuple | list | dict):
        raise ValueError(
            f"loss(params, batch) must give one number, got a {type(found).__name__}. Fix: where it also gives other "
            "things, pass lambda params, batch: loss(params, batch)[0]"
        )
    if np.shape(found) != ():
        raise ValueError(f"loss(params, batch) must give one number, got shape {np.shape(found)}. Fix: take its mean")
    if not np.isfinite(found):
        raise ValueError(
            f"the loss at these weights is {float(found)}, so it has no Hessian. Fix: weights from before the run "
            "diverged, and a batch without NaN"
        )
    return float(found)


def _flat(params: Any, preconditioner: Any) -> Vector:
    jax = need("jax", EXTRA)
    wanted, given = jax.tree.structure(params), jax.tree.structure(preconditioner)
    if wanted != given:
        raise ValueError(f"preconditioner must be a tree like params, {wanted}, got {given}")
    parts = zip(jax.tree.leaves(params), jax.tree.leaves(preconditioner), strict=True)
    return np.concatenate([np.broadcast_to(np.asarray(own, np.float64), np.shape(leaf)).ravel() for leaf, own in parts])
