"""Fitting: from runs to a forecaster: dataset, model, training, calibration. JAX lives here only.

    forecaster = fit(runs, seed=0)

Names are fetched when first used: preparing a dataset needs no JAX, a fit does.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lodestar.fitting.dataset import Prepared as Prepared
    from lodestar.fitting.dataset import prepare as prepare
    from lodestar.fitting.ensemble import FitProgress as FitProgress
    from lodestar.fitting.ensemble import fit as fit
    from lodestar.fitting.model import LatentODE as LatentODE
    from lodestar.fitting.settings import FitSettings as FitSettings
    from lodestar.fitting.settings import fit_settings as fit_settings

    Report = FitProgress

_HOMES = {
    "FitSettings": "settings",
    "LatentODE": "model",
    "Prepared": "dataset",
    "FitProgress": "ensemble",
    "fit": "ensemble",
    "fit_settings": "settings",
    "prepare": "dataset",
}
__all__ = [*_HOMES]  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    name = "FitProgress" if name == "Report" else name  # its name in release one
    if name in _HOMES:
        return getattr(importlib.import_module(f"lodestar.fitting.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
