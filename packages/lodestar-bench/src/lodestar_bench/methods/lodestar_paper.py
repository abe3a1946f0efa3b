"""Lodestar with the paper's preset: Algorithm 1 as printed, one forecaster.

At paper scale the fit is the paper's own (ODE-RNN, adaptive solver, 64-bit, 50,000 updates: an hour). At cpu scale that
does not fit into a minute and a half, and at as many updates it forecasts worse than ours (bench/LOG.md): there the
forecaster is one member of the default fit, 16,000 updates, and only the scheduler is the paper's.
"""

from lodestar_bench.methods.steered import SteeredMethod

METHOD = SteeredMethod(
    "lodestar-paper",
    "Lodestar, the paper's preset",
    "paper",
    fits={
        "paper": {"preset": "paper"},
        "laptop": {"updates": 16_000, "members": 1},
        "cpu": {"updates": 16_000, "members": 1},
        "smoke": {"updates": 200, "members": 1, "check_every": 100},
    },
)
