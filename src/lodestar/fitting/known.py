"""Contexts whose schedule is known to its end: what teaches the latent ODE to answer *what would this schedule give?*

Comes in: a batch of random contexts. Goes out: the same batch, a share of it seen from the run's first point on, or not
seen at all, with the learning rate of the whole run beside it. In some of these the schedule goes on as another run's
from a random moment: loss and metric count up to there. What is still to come must not change what was.
"""

import dataclasses
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, PRNGKeyArray
from numpy.typing import NDArray

from lodestar.fitting.contexts import noisy, tokens_of
from lodestar.fitting.dataset import Prepared
from lodestar.fitting.response.cells import rate_of
from lodestar.fitting.settings import FitSettings
from lodestar.forecaster.axes import RunMask, RunValues
from lodestar.forecaster.preprocessing.normaliser import LR
from lodestar.forecaster.response.history import on_cells
from lodestar.forecaster.tokens import schedule_bins


class DeviceRuns(NamedTuple):
    """Some runs, for JAX. `bins`: their rates; `ends`: whose rate is known to the end."""

    values: Float[Array, "runs points 3"]
    mask: Bool[Array, "runs points 3"]
    bins: Float[Array, "runs bins 2"]
    ends: Bool[Array, " runs"]


@dataclasses.dataclass(frozen=True)
class RunArrays:
    """All runs of a fit, in NumPy: they may be larger than memory."""

    values: RunValues
    mask: RunMask
    bins: NDArray[np.float64]
    ends: NDArray[np.bool_]

    def pick(self, runs: NDArray[np.int64], dtype: jnp.dtype) -> DeviceRuns:
        """Some of them."""
        values, bins = (jnp.asarray(part[runs], dtype) for part in (self.values, self.bins))
        return DeviceRuns(values, jnp.asarray(self.mask[runs]), bins, jnp.asarray(self.ends[runs]))


class Batch(NamedTuple):
    """Contexts as tokens, the schedule's tokens where one is known (None in a fit that knows none), and the truth."""

    tokens: Float[Array, "batch tokens 7"]
    valid: Bool[Array, "batch tokens"]
    values: Float[Array, "batch points 3"]
    mask: Bool[Array, "batch points 3"]
    schedule: Float[Array, "batch bins 4"] | None = None
    known: Bool[Array, " batch"] | None = None


def run_arrays(data: Prepared, settings: FitSettings) -> RunArrays:
    """What a fit needs of prepared runs."""
    count, bins = len(data), settings.architecture.tokens
    if not settings.architecture.schedules:
        return RunArrays(data.values, data.mask, np.zeros((count, 0, 2)), np.zeros(count, bool))
    rates = np.stack([on_cells(rate_of(data, run)[None])[0] for run in range(count)])
    made = schedule_bins(rates, data.recipe.normaliser.lr, bins)
    return RunArrays(data.values, data.mask, made, np.asarray(data.mask[:, -1, LR]))


def schedule_tokens_of(bins: Float[Array, "batch bins 2"]) -> Float[Array, "batch bins 4"]:
    """Tokens of schedules; equal to `lodestar.forecaster.tokens.schedule_tokens` to rounding."""
    count = bins.shape[1]
    time = jnp.broadcast_to(((jnp.arange(count) + 0.5) / count).astype(bins.dtype), bins.shape[:2])
    done = jnp.cumsum(bins[..., 1], axis=1)
    so_far = done - 0.5 * bins[..., 1]
    to_come = done[:, -1:] - so_far
    return jnp.stack([time, bins[..., 0], jnp.log(so_far + 0.01) + 1.0, jnp.log(to_come + 0.01) + 1.0], axis=-1)


def with_schedules(
    key: PRNGKeyArray, batch: Batch, runs: DeviceRuns, totals: Float[Array, "batch points1 6"], settings: FitSettings
) -> Batch:
    """The first part of the batch with known schedules, the rest as it was."""
    mix, cut, long, nothing, *noise = jax.random.split(key, 6)
    size, points, bins = runs.values.shape[0], runs.values.shape[1], runs.bins.shape[1]
    shown = max(1, round(settings.known * size))
    dtype = runs.values.dtype
    known = (jnp.arange(size) < shown) & runs.ends
    spliced = known & jnp.roll(runs.ends, 1) & (jax.random.uniform(mix, (size,), dtype) < settings.spliced)
    own = jnp.where(spliced, jax.random.randint(cut, (size,), 1, bins), bins)  # bins of the schedule
    until = own * points // bins
    values, mask, schedule = _spliced(runs, own, until)
    length = jnp.minimum(_lengths(long, size, points, settings)[:shown], until[:shown])
    tokens, valid = jax.vmap(lambda t, n: tokens_of(t, jnp.zeros((), n.dtype), n, batch.tokens.shape[1]))(
        totals[:shown], length
    )
    tokens = noisy((noise[0], noise[1]), tokens, settings)
    valid = valid & (jax.random.uniform(nothing, (shown, 1), dtype) >= settings.unobserved)
    keep = known[:shown, None]
    return Batch(
        batch.tokens.at[:shown].set(jnp.where(keep[..., None], tokens, batch.tokens[:shown])),
        batch.valid.at[:shown].set(jnp.where(keep, valid, batch.valid[:shown])),
        values,
        mask,
        schedule_tokens_of(schedule),
        known,
    )


def _spliced(runs: DeviceRuns, own: Array, until: Array) -> tuple[Array, Array, Array]:
    """Runs that take another's schedule after `own` bins: rates from there on are its, loss and metric unknown."""
    points, bins = runs.values.shape[1], runs.bins.shape[1]
    past = jnp.arange(points)[None] < until[:, None]
    kept = jnp.arange(bins)[None] < own[:, None]
    other = jnp.roll(runs.values[..., LR], 1, axis=0), jnp.roll(runs.mask[..., LR], 1, axis=0)
    values = runs.values.at[..., LR].set(jnp.where(past, runs.values[..., LR], other[0]))
    mask = (runs.mask & past[..., None]).at[..., LR].set(jnp.where(past, runs.mask[..., LR], other[1]))
    return values, mask, jnp.where(kept[..., None], runs.bins, jnp.roll(runs.bins, 1, axis=0))


def _lengths(key: PRNGKeyArray, size: int, points: int, settings: FitSettings) -> Array:
    """Log-uniform, as of other contexts."""
    shortest = max(1, round(settings.shortest * points))
    drawn = jax.random.uniform(key, (size,), jnp.float32, np.log(shortest), np.log(points + 0.5))
    return jnp.clip(jnp.exp(drawn).astype(jnp.int32), shortest, points)
