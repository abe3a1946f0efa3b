"""The latent ODE: encoder, field, decoder (the paper's equations 1 to 3).

Comes in: tokens of contexts. Goes out: the whole run's loss, metric and lr in model units. Knows arrays, not runs.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, PRNGKeyArray
from numpy.typing import NDArray

from lodestar.fitting.encoder import AbstractEncoder, make_encoder
from lodestar.fitting.field import Field, rk4_knots, tsit5_states
from lodestar.forecaster.architecture import SCHEDULE_FEATURES, Architecture
from lodestar.forecaster.solve import hermite_matrix

Times = Float[Array, " times"] | NDArray[np.float64]


class ScheduleReader(eqx.Module):
    """From a schedule that is known to its end to what it adds to z0: each token by itself, then their mean.

    What a schedule does to a run is a sum over its moments of something that hangs on the rate there, the learning done
    before and the learning still to come: so the loss laws have it. A sum needs few runs to be learned.
    """

    net: eqx.nn.MLP
    readout: eqx.nn.Linear

    def __init__(self, shape: Architecture, *, key: PRNGKeyArray):
        one, two = jax.random.split(key)
        width = shape.hidden
        self.net = eqx.nn.MLP(
            SCHEDULE_FEATURES, width, width, 1, activation=jnp.tanh, final_activation=jnp.tanh, key=one
        )
        self.readout = eqx.nn.Linear(width, shape.latent, key=two)

    def __call__(self, tokens: Float[Array, "bins 4"]) -> Float[Array, " latent"]:
        return self.readout(jnp.mean(jax.vmap(self.net)(tokens), axis=0))


class LatentODE(eqx.Module):
    """One forecaster's weights. `decoder_width == 0` makes the decoder linear."""

    encoder: AbstractEncoder
    field: Field
    decoder: eqx.nn.MLP
    schedule: ScheduleReader | None
    shape: Architecture = eqx.field(static=True)

    def __init__(self, shape: Architecture, *, key: PRNGKeyArray):
        one, two, three = jax.random.split(key, 3)
        self.encoder = make_encoder(shape, key=one)
        self.field = Field(shape, key=two)
        depth = 1 if shape.decoder_width else 0
        self.decoder = eqx.nn.MLP(shape.latent, 3, max(shape.decoder_width, 1), depth, activation=jnp.tanh, key=three)
        self.schedule = ScheduleReader(shape, key=jax.random.fold_in(key, 3)) if shape.schedules else None
        self.shape = shape

    def encode(self, tokens, valid, schedule=None, known: Bool[Array, ""] | bool = True) -> Float[Array, " latent"]:
        """Tokens of one context to z0; with those of a schedule, if it is `known`."""
        z0 = self.encoder(tokens, valid)
        if schedule is None:
            return z0
        assert self.schedule is not None, "this model reads no schedules"
        return z0 + jnp.where(known, self.schedule(schedule), 0.0)

    def states(self, z0: Float[Array, " latent"], times: Times) -> Float[Array, "times latent"]:
        """The latent path at any times in [0, 1]; for the fixed-step solver they must be known, not traced."""
        if self.shape.solver == "tsit5":
            return tsit5_states(self.field, z0, jnp.asarray(times, z0.dtype), self.shape.rtol, self.shape.atol)
        states, slopes = rk4_knots(self.field, z0, self.shape.steps)
        matrix = jnp.asarray(hermite_matrix(np.asarray(times, np.float64), self.shape.steps), z0.dtype)
        return matrix @ jnp.concatenate([states, slopes])

    def decode(self, z0: Float[Array, " latent"], times: Times) -> Float[Array, "times 3"]:
        """The whole run from z0, in model units."""
        return jax.vmap(self.decoder)(self.states(z0, times))
