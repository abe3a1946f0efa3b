"""Latent: the ODE, its encoder, field and decoder, and the fit. JAX lives here only."""

from lodestar._extras import need

need("jax", "fit")
need("equinox", "fit")
need("diffrax", "fit")
need("optax", "fit")

from lodestar.latent.fit import Report as Report  # noqa: E402
from lodestar.latent.fit import fit as fit  # noqa: E402
from lodestar.latent.model import LatentODE as LatentODE  # noqa: E402
from lodestar.latent.settings import FitSettings as FitSettings  # noqa: E402
from lodestar.latent.settings import fit_settings as fit_settings  # noqa: E402
