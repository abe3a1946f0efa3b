"""One member's training: jitted chunks of updates, a look at the held-out runs after each, the best weights kept.

Comes in: arrays in model units. Goes out: weights. Every update's randomness comes from (key, number of the update), so
that a run resumed from a checkpoint ends where the uninterrupted one does. Large sets are visited a pool of runs at a
time: memory holds the pool, not the set.
"""

import dataclasses
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, PRNGKeyArray
from numpy.typing import NDArray

from lodestar._errors import FitError
from lodestar.fitting.contexts import random_contexts
from lodestar.fitting.folds import Fold
from lodestar.fitting.known import Batch, DeviceRuns, RunArrays, schedule_tokens_of, with_schedules
from lodestar.fitting.model import LatentODE
from lodestar.fitting.objective import Reader, objective, reconstruct, squared_error
from lodestar.fitting.settings import FitSettings
from lodestar.forecaster.tokens import context_tokens

POOL = 512  # runs in memory at a time
_WATCHED = 48  # held-out runs looked at during training
_KNOWN_LOOKS = (0.0, 0.05, 0.25, 0.5)  # shares of them seen, their schedule known
_LOOKS = ((0.0, 0.05), (0.0, 0.25), (0.0, 0.5), (0.45, 0.5), (0.7, 0.75))  # contexts of them, as fractions


@dataclasses.dataclass
class Progress:
    """Where a member's training stands. Everything needed to go on: nothing else carries over between chunks."""

    params: Any
    opt_state: Any
    best: Any
    averaged: Any  # the mean of recent weights: what held-out runs judge and a fit keeps
    update: int = 0
    best_error: float = float("inf")
    best_update: int = 0
    done: bool = False
    history: list[tuple[int, float, float]] = dataclasses.field(default_factory=list)  # update, train, held-out


class Trainer:
    """The compiled parts of a fit, shared by all members."""

    def __init__(self, settings: FitSettings, points: int):
        self.settings = settings
        self.dtype = jnp.float64 if settings.bits == 64 else jnp.float32
        self.reader = Reader.on_grid(points, settings.architecture.steps, self.dtype)
        self.chunk = settings.check_every
        # Adam without its rate, which comes in as data: a fit of another length needs no new program.
        adam = optax.scale_by_adam()
        self.optimizer = optax.chain(optax.clip_by_global_norm(settings.clip), adam) if settings.clip else adam
        self.static = eqx.partition(self._model(jax.random.key(0)), eqx.is_array)[1]
        self._run_chunk = jax.jit(self._chunk, donate_argnums=(0, 1))
        self._look = jax.jit(self._held_out_error)

    def begin(self, key: PRNGKeyArray) -> Progress:
        """Fresh weights."""
        params = eqx.partition(self._model(key), eqx.is_array)[0]
        return Progress(params, self.optimizer.init(params), *(jax.tree.map(jnp.copy, params) for _ in range(2)))

    def train(
        self,
        progress: Progress,
        key: PRNGKeyArray,
        runs: RunArrays,
        fold: Fold,
        updates: int,
        after_chunk: Callable[[Progress], None],
    ) -> Progress:
        """Go on until the updates are used up or the held-out runs stop improving."""
        watch = self._watch(runs, fold.held_out)
        rates = jax.vmap(optax.cosine_onecycle_schedule(updates, self.settings.peak_lr))
        data: DeviceRuns | None = None
        while not progress.done:
            number = progress.update // self.chunk
            if data is None or len(fold.train) > POOL:
                data = self._pool(runs, fold.train, number)
            numbers = jnp.arange(progress.update, progress.update + self.chunk)
            (progress.params, progress.opt_state, progress.averaged), error = self._run_chunk(
                progress.params,
                progress.opt_state,
                progress.averaged,
                key,
                numbers,
                jnp.asarray(rates(numbers), self.dtype),
                data,
            )
            progress.update += self.chunk
            held_out = None if watch is None else float(self._look(progress.averaged, watch))
            self._after(progress, float(error), held_out, updates)
            after_chunk(progress)
        return progress

    def _after(self, progress: Progress, error: float, held_out: float | None, updates: int) -> None:
        judged = error if held_out is None else held_out
        if not np.isfinite(judged):
            raise FitError(
                f"the fit broke down: its error is {judged} after {progress.update} updates. "
                "Fix: a lower peak_lr (half of it), or see lodestar doctor for odd runs"
            )
        progress.history.append((progress.update, error, float("nan") if held_out is None else held_out))
        if judged < progress.best_error or held_out is None:
            progress.best = jax.tree.map(jnp.copy, progress.averaged)
            progress.best_error, progress.best_update = judged, progress.update
        waited = progress.update - progress.best_update
        progress.done = progress.update >= updates or waited > self.settings.patience * updates

    def _model(self, key: PRNGKeyArray) -> LatentODE:
        model = LatentODE(self.settings.architecture, key=key)
        return jax.tree.map(lambda x: x.astype(self.dtype) if eqx.is_inexact_array(x) else x, model)

    def _pool(self, runs: RunArrays, train: NDArray[np.int64], number: int) -> DeviceRuns:
        """The runs of this chunk: all of them, or a pool drawn by the chunk's number."""
        if len(train) > POOL:
            train = np.sort(np.random.default_rng(number).choice(train, POOL, replace=False))
        return runs.pick(train, self.dtype)

    def _watch(self, runs: RunArrays, held_out: NDArray[np.int64]) -> Batch | None:
        """Fixed contexts of held-out runs, with the whole runs to compare to: schedules unknown, then known."""
        held_out = held_out[:_WATCHED]
        if len(held_out) == 0:
            return None
        looks = [(run, low, high, False) for run in held_out for low, high in _LOOKS]
        if self.settings.known:
            looks += [(run, 0.0, seen, True) for run in held_out[runs.ends[held_out]] for seen in _KNOWN_LOOKS]
        made = [self._look_at(runs, run, low, high) for run, low, high, _ in looks]
        whole = runs.pick(np.array([run for run, *_ in looks]), self.dtype)
        tokens, valid = jnp.asarray(np.stack([t for t, _ in made]), self.dtype), jnp.asarray([v for _, v in made])
        if not self.settings.known:
            return Batch(tokens, valid, whole.values, whole.mask)
        known = jnp.asarray([known for *_, known in looks])
        return Batch(tokens, valid, whole.values, whole.mask, schedule_tokens_of(whole.bins), known)

    def _look_at(self, runs: RunArrays, run: int, low: float, high: float) -> tuple[NDArray, NDArray]:
        points = runs.values.shape[1]
        start, stop = round(low * points), max(round(low * points) + 1, round(high * points))
        context = np.asarray(runs.values[run, start:stop]), np.asarray(runs.mask[run, start:stop])
        tokens, valid = context_tokens(*context, start, points, self.settings.architecture.tokens)
        return tokens, valid & (high > low)

    def _chunk(self, params, opt_state, averaged, key, numbers, rates, runs):
        both = jnp.concatenate([jnp.where(runs.mask, runs.values, 0.0), runs.mask.astype(self.dtype)], axis=-1)
        totals = jnp.pad(jnp.cumsum(both, axis=1), ((0, 0), (1, 0), (0, 0)))

        def update(state, item):
            params, opt_state, averaged = state
            number, rate = item
            batch, reader = self._batch(jax.random.fold_in(key, number), runs, totals)
            grads, error = jax.grad(self._loss, has_aux=True)(params, batch, reader)
            changes, opt_state = self.optimizer.update(grads, opt_state, params)
            params = jax.tree.map(lambda p, c: p - rate * c, params, changes)
            return (params, opt_state, self._averaged(averaged, params, number)), error

        state, errors = jax.lax.scan(update, (params, opt_state, averaged), (numbers, rates))
        return state, jnp.mean(errors)

    def _averaged(self, averaged, params, number):
        """A running mean over the last ninth of the updates, at most over those that `averaging` names."""
        if not self.settings.averaging:
            return params
        share = jnp.maximum(9.0 / (number + 10.0), 1.0 / self.settings.averaging).astype(self.dtype)
        return jax.tree.map(lambda mean, now: mean + share * (now - mean), averaged, params)

    def _batch(self, key: PRNGKeyArray, runs: DeviceRuns, totals: Array) -> tuple[Batch, Reader]:
        which, where, rows = jax.random.split(key, 3)
        batch, points = self.settings.batch, runs.values.shape[1]
        index = jax.random.permutation(which, runs.values.shape[0])[jnp.arange(batch) % runs.values.shape[0]]
        made = Batch(*random_contexts(where, totals[index], self.settings), runs.values[index], runs.mask[index])
        if self.settings.known:
            chosen = DeviceRuns(*(part[index] for part in runs))
            made = with_schedules(jax.random.fold_in(where, 5), made, chosen, totals[index], self.settings)
        targets = self.settings.targets
        if not targets or targets >= points:
            return made, self.reader
        # One random point in each of `targets` equal stretches, and always the last: the end is what counts.
        place = (jnp.arange(targets) + jax.random.uniform(rows, (targets,), self.dtype)) * (points / targets)
        pick = jnp.clip(place.astype(jnp.int32), 0, points - 1).at[-1].set(points - 1)
        return made._replace(values=made.values[:, pick], mask=made.mask[:, pick]), self.reader.pick(pick)

    def _loss(self, params, batch, reader):
        return objective(eqx.combine(params, self.static), batch, reader, self.settings.path_weight)

    def _held_out_error(self, params, batch):
        return squared_error(reconstruct(eqx.combine(params, self.static), batch, self.reader)[0], batch)
