"""Averaged weights for Optax: wraps any gradient transformation.

Comes in: an optimizer without momentum (`optax.adamw(rate, b1=0.0)`, `optax.sgd(rate)`). Goes out: a transformation
that moves the trained weights y, and `averaged_params`, which reads the model off its state. Knows no rate.

    optimizer = averaged(optax.inject_hyperparams(optax.adamw)(learning_rate=schedule, b1=0.0))
    ...
    validate(averaged_params(opt_state))

Batch statistics belong to the weights they were made with: run some training batches through the averaged ones first.
"""

from typing import Any, NamedTuple

from lodestar._extras import need
from lodestar.schedule_free import INTERPOLATION, POWER, check, share

need("optax", "optax")

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import optax  # noqa: E402


class AveragedState(NamedTuple):
    """Updates made, the fast weights z, the average x, and the state of the optimizer inside."""

    updates: jax.Array
    fast: Any
    average: Any
    inner: Any


def averaged(
    inner: optax.GradientTransformation, *, interpolation: float = INTERPOLATION, power: float = POWER
) -> optax.GradientTransformationExtraArgs:
    """The averaged form of an optimizer. `update` needs `params`."""
    check(interpolation, power)
    steps = optax.with_extra_args_support(inner)

    def init(params: Any) -> AveragedState:
        return AveragedState(jnp.zeros([], jnp.int32), params, params, steps.init(params))

    def update(grads: Any, state: AveragedState, params: Any = None, **extra: Any) -> tuple[Any, AveragedState]:
        if params is None:
            raise ValueError("averaged() needs the weights. Fix: optimizer.update(grads, state, params)")
        moves, within = steps.update(grads, state.inner, state.fast, **extra)
        fast = optax.apply_updates(state.fast, moves)
        part = share(jnp.asarray(state.updates + 1, jnp.float32), power)
        average = _between(state.average, fast, part)
        wanted = _between(fast, average, interpolation)
        change = jax.tree.map(lambda new, old: new - old, wanted, params)
        return change, AveragedState(state.updates + 1, fast, average, within)

    return optax.GradientTransformationExtraArgs(init, update)  # pyright: ignore[reportArgumentType]


def averaged_params(state: Any) -> Any:
    """The weights to validate, test and keep. `state` may hold that of `averaged` anywhere inside."""
    is_ours = lambda node: isinstance(node, AveragedState)  # noqa: E731
    found = [node for node in jax.tree.leaves(state, is_leaf=is_ours) if is_ours(node)]
    if len(found) != 1:
        raise ValueError(
            f"the optimizer's state must hold exactly one AveragedState, found {len(found)}. Fix: make the optimizer "
            "with lodestar.schedule_free.optax.averaged(...)"
        )
    return found[0].average


def _between(start: Any, end: Any, share: Any) -> Any:
    """From `start` so far towards `end`, in each weight's own precision."""
    return jax.tree.map(lambda a, b: a + (share * (b - a)).astype(a.dtype), start, end)
