"""One update of a problem under an optimizer, compiled once in a process and shared by every run of that pair.

Comes in: a problem and an optimizer. Goes out: programs that advance a run. The rate is data, so one program serves
every schedule; so is the number of updates in a stretch. Everything traced is pure, and may be vmapped over runs. Which
rate, which batch and when to stop is not known here.
"""

import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from lodestar_bench.method import Optimizer
from lodestar_bench.problem import AbstractProblem, Batch, ModelState, Params


class Position(NamedTuple):
    """Where a run stands: all that an update changes."""

    params: Params
    state: ModelState
    optimizer: Any


class Programs:
    """The compiled parts of a run."""

    def __init__(self, problem: AbstractProblem, optimizer: Optimizer):
        self.problem, self.optimizer = problem, optimizer
        self.longest = problem.evaluate_every
        self.begin = jax.jit(optimizer.init)
        self.evaluation = jax.jit(optimizer.evaluation)
        self._step = jax.jit(self._update)
        self._stretch = jax.jit(self._updates)
        self._statistics = jax.jit(self._after_a_batch)

    def advance(
        self, position: Position, batches: Batch, key: jax.Array, first: int, rates: NDArray[np.float32]
    ) -> tuple[Position, NDArray[np.float64], NDArray[np.float64]]:
        """Make the updates from number `first` on, one for each rate; losses, and the rates that were in effect."""
        go = self._one_by_one if self.problem.convolutional else self._together
        position, losses, used = go(position, batches, key, first, rates)
        return position, np.asarray(losses, np.float64), np.asarray(used, np.float64)

    def statistics(self, params: Params, state: ModelState, batches: Batch, key: jax.Array) -> ModelState:
        """The model's state after some training batches were run through it with these weights; nothing is learned."""
        key = jax.random.fold_in(key, 0)  # updates count from 1
        for i in range(len(jax.tree.leaves(batches)[0])):
            batch = jax.tree.map(lambda part: part[i], batches)  # noqa: B023
            state = self._statistics(params, state, batch, jax.random.fold_in(key, i))
        return state

    def _one_by_one(self, position, batches, key, first, rates):
        """XLA on a CPU runs a convolution within a loop many times slower than one called from outside."""
        losses, used = [], []
        for i, rate in enumerate(rates):
            batch = jax.tree.map(lambda part: part[i], batches)  # noqa: B023
            position, loss, effective = self._step(position, batch, key, np.int32(first + i), rate)
            losses.append(loss)
            used.append(effective)
        return position, jax.device_get(losses), jax.device_get(used)

    def _together(self, position, batches, key, first, rates):
        """Padded to the longest stretch, so that stretches of any length share one program."""
        room = self.longest - len(rates)
        padded = jax.tree.map(lambda part: _padded(part, room), batches)
        count, first = np.int32(len(rates)), np.int32(first)
        position, losses, used = self._stretch(position, padded, key, first, count, _padded(rates, room))
        return position, np.asarray(losses)[: len(rates)], np.asarray(used)[: len(rates)]

    def _update(self, position: Position, batch: Batch, key: jax.Array, number: jax.Array, rate: jax.Array):
        grad = jax.value_and_grad(self.problem.loss, has_aux=True)
        key = jax.random.fold_in(key, number)
        (loss, (state, _)), grads = grad(position.params, position.state, batch, key)
        params, optimizer, used = self.optimizer.update(grads, position.optimizer, position.params, rate)
        return Position(params, state, optimizer), loss, jnp.asarray(used, jnp.float32)

    def _after_a_batch(self, params: Params, state: ModelState, batch: Batch, key: jax.Array) -> ModelState:
        return self.problem.loss(params, state, batch, key)[1][0]

    def _updates(self, position, batches, key, first, count, rates):
        def update(carry):
            i, position, losses, used = carry
            batch = jax.tree.map(lambda part: part[i], batches)
            position, loss, effective = self._update(position, batch, key, first + i, rates[i])
            return i + 1, position, losses.at[i].set(loss), used.at[i].set(effective)

        nothing = jnp.zeros(self.longest, jnp.float32)
        carry = (jnp.int32(0), position, nothing, nothing)
        return jax.lax.while_loop(lambda carry: carry[0] < count, update, carry)[1:]


def _padded(part: NDArray, room: int) -> NDArray:
    return part if room == 0 else np.concatenate([part, np.repeat(part[-1:], room, axis=0)])


@functools.lru_cache(maxsize=64)
def programs(problem: AbstractProblem, optimizer: Optimizer) -> Programs:
    """The programs of this pair; compiled at first use, then kept. Both are told apart by identity."""
    return Programs(problem, optimizer)
