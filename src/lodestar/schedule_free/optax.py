"""Schedule-free learning for Optax: wraps any gradient transformation.

Comes in: an optimizer without momentum (`optax.adamw(rate, b1=0.0)`, `optax.sgd(rate)`). Goes out: a transformation
that moves the trained weights y, and `eval_params`, which reads the model x off its state. Knows no rate.

    optimizer = schedule_free(optax.inject_hyperparams(optax.adamw)(learning_rate=schedule, b1=0.0))
    ...
    validate(eval_params(opt_state))

Not `optax.contrib.schedule_free`: it has no `r`, so that late weights cannot count more than early ones, and it decays
weights at y, not at z. With power 0 and no decay the two are equal (a test).

Batch statistics belong to the weights they were made with: run some training batches through the averaged ones first.
"""

from typing import Any, NamedTuple

from lodestar._extras import need
from lodestar.schedule_free import INTERPOLATION, POWER, check, share

need("optax", "optax")

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import optax  # noqa: E402


class ScheduleFreeState(NamedTuple):
    """Updates made, the fast weights z, the average x, and the state of the optimizer inside."""

    updates: jax.Array
    fast: Any
    average: Any
    inner: Any


def schedule_free(
    inner: optax.GradientTransformation, *, interpolation: float = INTERPOLATION, power: float = POWER
) -> optax.GradientTransformationExtraArgs:
    """The schedule-free form of an optimizer. `update` needs `params`."""
    check(interpolation, power)
    steps = optax.with_extra_args_support(inner)

    def init(params: Any) -> ScheduleFreeState:
        return ScheduleFreeState(jnp.zeros([], jnp.int32), params, params, steps.init(params))

    def update(grads: Any, state: ScheduleFreeState, params: Any = None, **extra: Any) -> tuple[Any, ScheduleFreeState]:
        if params is None:
            raise ValueError("schedule_free() needs the weights. Fix: optimizer.update(grads, state, params)")
        moves, within = steps.update(grads, state.inner, state.fast, **extra)
        fast = optax.apply_updates(state.fast, moves)
        part = share(jnp.asarray(state.updates + 1, jnp.float32), power)
        average = _between(state.average, fast, part)
        wanted = _between(fast, average, interpolation)
        change = jax.tree.map(lambda new, old: new - old, wanted, params)
        return change, ScheduleFreeState(state.updates + 1, fast, average, within)

    return optax.GradientTransformationExtraArgs(init, update)  # pyright: ignore[reportArgumentType]


def eval_params(state: Any) -> Any:
    """The weights to validate, test and keep. `state` may hold that of `schedule_free` anywhere inside."""
    is_ours = lambda node: isinstance(node, ScheduleFreeState)  # noqa: E731
    found = [node for node in jax.tree.leaves(state, is_leaf=is_ours) if is_ours(node)]
    if len(found) != 1:
        raise ValueError(
            f"the optimizer's state must hold exactly one ScheduleFreeState, found {len(found)}. Fix: make the "
            "optimizer with lodestar.schedule_free.optax.schedule_free(...)"
        )
    return found[0].average


def _between(start: Any, end: Any, share: Any) -> Any:
    """From `start` so far towards `end`, in each weight's own precision."""
    return jax.tree.map(lambda a, b: a + (share * (b - a)).astype(a.dtype), start, end)


# Names of release one.
averaged, averaged_params, AveragedState = schedule_free, eval_params, ScheduleFreeState
