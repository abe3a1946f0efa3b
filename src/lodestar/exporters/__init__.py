"""Writing runs to where people look at them: MLflow, W&B, TensorBoard. What is written, `lodestar import` reads again.

    with follow(scheduler, open_writer("wandb:my-project"), name="steered"):   # a live job
        ...
    write_run(run, open_writer("mlflow:http://localhost:5000/digits"))         # a whole run

Names are fetched when first used: a job that logs nowhere loads nothing.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lodestar.exporters.follower import Follower as Follower
    from lodestar.exporters.follower import follow as follow
    from lodestar.exporters.kinds import open_writer as open_writer
    from lodestar.exporters.whole_run import write_run as write_run
    from lodestar.exporters.writer import AbstractWriter as AbstractWriter

_HOMES = {
    "AbstractWriter": "writer",
    "Follower": "follower",
    "follow": "follower",
    "open_writer": "kinds",
    "write_run": "whole_run",
}
__all__ = [*_HOMES]  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(f"lodestar.exporters.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
