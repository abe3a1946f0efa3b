"""Lodestar with its default preset: two members, a plan that is kept unless candidates beat its own forecast.

It steers the recipe's optimizer with averaged weights (`lodestar.schedule_free`), and learns from runs made so. At cpu
scale the fit has 8,000 updates a member, 75 s of one core; at paper scale the preset's 20,000.
"""

from lodestar_bench.methods.steered import SteeredMethod

METHOD = SteeredMethod(
    "lodestar",
    "Lodestar, default preset",
    "default",
    fits={
        "paper": {},
        "laptop": {"updates": 8_000},
        "cpu": {"updates": 8_000},
        "smoke": {"updates": 200, "members": 1, "check_every": 100},
    },
    sweep_form="averaged",
)
