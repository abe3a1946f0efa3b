"""Lodestar steers the learning rate of a training job towards the best final result.

    runs = lodestar.RunStore("runs")                     # what past training jobs left behind
    forecaster = lodestar.fit(runs, seed=0)              # a latent ODE that forecasts a run from its first part (JAX)
    forecaster.save("forecaster.lodestar")
    lodestar.plan(forecaster, 10_000)                    # the best schedule for the next job, with its forecast
    lodestar.Scheduler("forecaster.lodestar", total_steps=10_000)   # in a new job: NumPy only, no JAX

Importing this imports nothing heavy: each name is fetched when first used.
"""

import importlib
from typing import TYPE_CHECKING, Any

from lodestar import _moved

__version__ = "0.2.0"

_HOMES = {
    "Direction": "lodestar.runs",
    "Facts": "lodestar.runs",
    "Run": "lodestar.runs",
    "RunSet": "lodestar.runs",
    "RunStore": "lodestar.runs",
    "Series": "lodestar.runs",
    "Status": "lodestar.runs",
    "Forecaster": "lodestar.forecaster",
    "Scheduler": "lodestar.scheduler",
    "fit": "lodestar.fitting",
    "load": "lodestar.forecaster",
    "plan": "lodestar.planning",
    "run_sweep": "lodestar.sweep",
    "what_if": "lodestar.forecaster.known_schedules",
}
__all__ = ["__version__", *_HOMES]  # pyright: ignore[reportUnsupportedDunderAll]
_moved.install()

if TYPE_CHECKING:
    from lodestar.fitting import fit as fit
    from lodestar.forecaster import Forecaster as Forecaster
    from lodestar.forecaster import load as load
    from lodestar.forecaster.known_schedules import what_if as what_if
    from lodestar.planning import plan as plan
    from lodestar.runs import Direction as Direction
    from lodestar.runs import Facts as Facts
    from lodestar.runs import Run as Run
    from lodestar.runs import RunSet as RunSet
    from lodestar.runs import RunStore as RunStore
    from lodestar.runs import Series as Series
    from lodestar.runs import Status as Status
    from lodestar.scheduler import Scheduler as Scheduler
    from lodestar.sweep import run_sweep as run_sweep


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'lodestar' has no attribute {name!r}")
    try:
        return getattr(importlib.import_module(_HOMES[name]), name)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.startswith("lodestar"):
            raise
        from lodestar._extras import stand_in

        return stand_in(name, _HOMES[name], error.name, "fit" if name == "fit" else "cli")


def __dir__() -> list[str]:
    return sorted(__all__)
