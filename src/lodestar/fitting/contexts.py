"""Random contexts of runs for training: which run, where the context starts, how long it is, and its tokens.

Comes in: a key and the runs' running totals. Goes out: tokens for the encoder. Lengths are log-uniform, so that short
contexts (what a live job has) are as common as long ones. The tokens equal `lodestar.forecaster.tokens` to rounding.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from lodestar.fitting.settings import FitSettings


def tokens_of(
    totals: Float[Array, "points1 6"], start: Int[Array, ""], length: Int[Array, ""], tokens: int
) -> tuple[Float[Array, "tokens 7"], Bool[Array, " tokens"]]:
    """Tokens of the context [start, start + length) of one run."""
    points = totals.shape[0] - 1
    edges = start + (jnp.arange(tokens + 1) * length) // tokens
    sums = totals[edges[1:]] - totals[edges[:-1]]
    width = edges[1:] - edges[:-1]
    count = sums[:, 3:]
    time = (0.5 * (edges[:-1] + edges[1:] + 1) / points).astype(totals.dtype)
    means = jnp.where(count > 0, sums[:, :3] / jnp.maximum(count, 1.0), 0.0)
    shares = count / jnp.maximum(width, 1)[:, None].astype(totals.dtype)
    return jnp.concatenate([time[:, None], means, shares], axis=1), width > 0


def random_contexts(
    key: PRNGKeyArray, totals: Float[Array, "batch points1 6"], settings: FitSettings
) -> tuple[Float[Array, "batch tokens 7"], Bool[Array, "batch tokens"]]:
    """Tokens of one random context of each run, with noise where the settings ask for it."""
    batch, points = totals.shape[0], totals.shape[1] - 1
    tokens = settings.architecture.tokens
    long, where, first, jitter, shift = jax.random.split(key, 5)
    shortest = max(1, round(settings.shortest * points))
    dtype = totals.dtype
    length = jnp.exp(jax.random.uniform(long, (batch,), dtype, np.log(shortest), np.log(points + 0.5))).astype(
        jnp.int32
    )
    length = jnp.clip(length, shortest, points)
    start = (jax.random.uniform(where, (batch,), dtype) * (points - length + 1)).astype(jnp.int32)
    start = jnp.clip(
        jnp.where(jax.random.uniform(first, (batch,), dtype) < settings.from_start, 0, start), 0, points - length
    )
    made, valid = jax.vmap(lambda t, s, n: tokens_of(t, s, n, tokens))(totals, start, length)
    return noisy((jitter, shift), made, settings), valid


def noisy(
    keys: tuple[PRNGKeyArray, PRNGKeyArray], made: Float[Array, "batch tokens 7"], settings: FitSettings
) -> Float[Array, "batch tokens 7"]:
    """Tokens with noise on the loss and metric observed, each point's own and a whole context's."""
    if not settings.token_noise and not settings.token_shift:
        return made
    (batch, tokens), dtype = made.shape[:2], made.dtype
    noise = settings.token_noise * jax.random.normal(keys[0], (batch, tokens, 2), dtype)
    noise = noise + settings.token_shift * jax.random.normal(keys[1], (batch, 1, 2), dtype)
    seen = made[:, :, 4:6] > 0
    return made.at[:, :, 1:3].add(jnp.where(seen, noise, 0.0))
