"""Encoders: from a context (the observed part of a run) to the latent of the whole run (the paper's equation 1).

Comes in: tokens (time, channel means, shares observed) of a context, with the absolute time of each. Goes out: z0, the
latent state at t = 0. Both encoders read backwards, from the newest token to the oldest. `GRUEncoder` is the fast one;
`OdeRnnEncoder` lets its state drift by an ODE between tokens (Rubanova et al. 2019).
"""

import abc

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from lodestar.forecaster.architecture import TOKEN_FEATURES, Architecture


class AbstractEncoder(eqx.Module):
    """Reads the tokens of one context and returns z0."""

    cell: eqx.AbstractVar[eqx.nn.GRUCell]
    readout: eqx.AbstractVar[eqx.nn.Linear]

    @abc.abstractmethod
    def __call__(
        self, tokens: Float[Array, "tokens features"], valid: Bool[Array, " tokens"]
    ) -> Float[Array, " latent"]:
        """Tokens (oldest first) and which of them hold anything, to z0."""


class GRUEncoder(AbstractEncoder):
    """A plain GRU over the tokens; the time is one of the features."""

    cell: eqx.nn.GRUCell
    readout: eqx.nn.Linear

    def __init__(self, shape: Architecture, *, key: PRNGKeyArray):
        one, two = jax.random.split(key)
        self.cell = eqx.nn.GRUCell(TOKEN_FEATURES, shape.hidden, key=one)
        self.readout = eqx.nn.Linear(shape.hidden, shape.latent, key=two)

    def __call__(self, tokens, valid):
        def read(state, item):
            token, fine = item
            return jnp.where(fine, self.cell(token, state), state), None

        start = jnp.zeros(self.cell.hidden_size, tokens.dtype)
        state, _ = jax.lax.scan(read, start, (tokens[::-1], valid[::-1]))
        return self.readout(state)


class OdeRnnEncoder(AbstractEncoder):
    """ODE-RNN: between two tokens the state follows dh/dt = drift(h), one RK4 step over the gap, backwards in time."""

    cell: eqx.nn.GRUCell
    readout: eqx.nn.Linear
    drift: eqx.nn.MLP

    def __init__(self, shape: Architecture, *, key: PRNGKeyArray):
        one, two, three = jax.random.split(key, 3)
        self.cell = eqx.nn.GRUCell(TOKEN_FEATURES, shape.hidden, key=one)
        self.readout = eqx.nn.Linear(shape.hidden, shape.latent, key=two)
        self.drift = eqx.nn.MLP(
            shape.hidden, shape.hidden, shape.field_width, shape.field_depth, activation=jnp.tanh, key=three
        )

    def __call__(self, tokens, valid):
        def read(carry, item):
            state, time = carry
            token, fine = item
            drifted = self._drift(state, token[0] - time)
            new = self.cell(token, drifted)
            return (jnp.where(fine, new, state), jnp.where(fine, token[0], time)), None

        last = jnp.where(jnp.any(valid), jnp.max(jnp.where(valid, tokens[:, 0], -jnp.inf)), 0.0)
        start = (jnp.zeros(self.cell.hidden_size, tokens.dtype), last)
        (state, time), _ = jax.lax.scan(read, start, (tokens[::-1], valid[::-1]))
        return self.readout(self._drift(state, -time))

    def _drift(self, state, gap):
        one = self.drift(state)
        two = self.drift(state + 0.5 * gap * one)
        three = self.drift(state + 0.5 * gap * two)
        four = self.drift(state + gap * three)
        return state + gap / 6.0 * (one + 2.0 * two + 2.0 * three + four)


def make_encoder(shape: Architecture, *, key: PRNGKeyArray) -> AbstractEncoder:
    """The encoder that an architecture names."""
    return {"gru": GRUEncoder, "ode-rnn": OdeRnnEncoder}[shape.encoder](shape, key=key)
