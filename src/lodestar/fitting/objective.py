"""What a fit minimises: the masked reconstruction error of the whole run, plus the length of the latent path.

The path penalty is the paper's l2 penalty on the latent trajectory: the sum of step lengths, each latent dimension
divided by its spread over the batch (no gradient through that), so that shrinking z does not cheat it.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from lodestar.fitting.field import rk4_knots
from lodestar.fitting.known import Batch
from lodestar.fitting.model import LatentODE
from lodestar.forecaster.solve import hermite_matrix


class Reader(eqx.Module):
    """How decoded runs are read off: the grid's times and, for the fixed-step solver, the interpolation matrix."""

    times: Float[Array, " points"]
    matrix: Float[Array, "points knots"]

    @classmethod
    def on_grid(cls, points: int, steps: int, dtype: jnp.dtype) -> "Reader":
        """For every point of the grid."""
        times = np.arange(1, points + 1) / points
        return cls(jnp.asarray(times, dtype), jnp.asarray(hermite_matrix(times, steps), dtype))

    def pick(self, rows: Array) -> "Reader":
        """For some points only."""
        return Reader(self.times[rows], self.matrix[rows])


def reconstruct(
    model: LatentODE, batch: Batch, reader: Reader
) -> tuple[Float[Array, "batch points 3"], Float[Array, "batch knots latent"]]:
    """Whole runs from contexts, and the latent paths."""
    schedules = () if batch.schedule is None or batch.known is None else (batch.schedule, batch.known)
    z0 = jax.vmap(model.encode)(batch.tokens, batch.valid, *schedules)
    if model.shape.solver == "tsit5":
        path = jax.vmap(lambda z: model.states(z, reader.times))(z0)
        return jax.vmap(jax.vmap(model.decoder))(path), path
    states, slopes = jax.vmap(lambda z: rk4_knots(model.field, z, model.shape.steps))(z0)
    path = jnp.einsum("pk,bkd->bpd", reader.matrix, jnp.concatenate([states, slopes], axis=1))
    return jax.vmap(jax.vmap(model.decoder))(path), states


def path_length(path: Float[Array, "batch knots latent"]) -> Float[Array, ""]:
    """Mean length of the latent paths, in units of the batch spread, per root dimension."""
    spread = jax.lax.stop_gradient(jnp.std(path, axis=(0, 1)) + 1e-3)
    step = jnp.diff(path, axis=1) / spread
    length = jnp.sum(jnp.sqrt(jnp.sum(step**2, axis=-1) + 1e-12), axis=1)
    return jnp.mean(length) / np.sqrt(path.shape[-1])


def squared_error(made: Float[Array, "batch points 3"], batch: Batch) -> Float[Array, ""]:
    """The mean over what was observed."""
    return jnp.sum(jnp.where(batch.mask, (made - batch.values) ** 2, 0.0)) / jnp.maximum(jnp.sum(batch.mask), 1)


def objective(
    model: LatentODE, batch: Batch, reader: Reader, path_weight: float
) -> tuple[Float[Array, ""], Float[Array, ""]]:
    """The loss of one batch, and its reconstruction part alone."""
    made, path = reconstruct(model, batch, reader)
    error = squared_error(made, batch)
    return error + path_weight * path_length(path), error
