"""The vector field f(z, t) and its solution from t = 0 over the run (the paper's equation 2).

Comes in: z0. Goes out: z at the asked times. Two solvers: `rk4`, a fixed number of steps with cubic Hermite between
them (the default: the same curves at a fraction of the cost), and `tsit5`, adaptive, from Diffrax (the paper's).
Time is the fraction of the run; the field sees the time as an input beside z.
"""

import diffrax
import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from lodestar.forecaster.architecture import Architecture

FIRST_STEP = 0.1  # the paper's initial step size


class Field(eqx.Module):
    """dz/dt = MLP(z, t), tanh."""

    net: eqx.nn.MLP

    def __init__(self, shape: Architecture, *, key: PRNGKeyArray):
        self.net = eqx.nn.MLP(
            shape.latent + 1, shape.latent, shape.field_width, shape.field_depth, activation=jnp.tanh, key=key
        )

    def __call__(self, t: Float[Array, ""], z: Float[Array, " latent"], args: None = None) -> Float[Array, " latent"]:
        return self.net(jnp.concatenate([z, jnp.reshape(t, (1,)).astype(z.dtype)]))


def rk4_knots(field: Field, z0: Float[Array, " latent"], steps: int):
    """States and slopes at the `steps + 1` knots of an equidistant grid over [0, 1]."""
    h = 1.0 / steps

    def step(z, t):
        one = field(t, z)
        two = field(t + 0.5 * h, z + 0.5 * h * one)
        three = field(t + 0.5 * h, z + 0.5 * h * two)
        four = field(t + h, z + h * three)
        return z + h / 6.0 * (one + 2.0 * two + 2.0 * three + four), (z, one)

    starts = jnp.arange(steps, dtype=z0.dtype) * jnp.asarray(h, z0.dtype)
    last, (states, slopes) = jax.lax.scan(step, z0, starts)
    states = jnp.concatenate([states, last[None]])
    slopes = jnp.concatenate([slopes, field(jnp.ones((), z0.dtype), last)[None]])
    return states, slopes


def tsit5_states(field: Field, z0: Float[Array, " latent"], times: Float[Array, " times"], rtol: float, atol: float):
    """States at `times`, adaptive Tsit5 with Diffrax's PID controller."""
    solution = diffrax.diffeqsolve(
        diffrax.ODETerm(field),  # pyright: ignore[reportArgumentType]
        diffrax.Tsit5(),
        t0=0.0,
        t1=1.0,
        dt0=FIRST_STEP,
        y0=z0,
        saveat=diffrax.SaveAt(ts=times),
        stepsize_controller=diffrax.PIDController(rtol=rtol, atol=atol),
        max_steps=4096,
        throw=False,
    )
    assert solution.ys is not None
    return solution.ys
