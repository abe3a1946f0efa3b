"""The places we can write to: "mlflow:ADDRESS/EXPERIMENT", "wandb:[ENTITY/]PROJECT", "tensorboard:FOLDER".

Comes in: such a text. Goes out: an open writer. Importing this imports no tracker. To add one, write its file and its
entry here.
"""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lodestar.exporters.writer import AbstractWriter

WRITERS = {
    "mlflow": ("lodestar.exporters.mlflow:MlflowWriter", "mlflow:ADDRESS/EXPERIMENT"),
    "wandb": ("lodestar.exporters.wandb:WandbWriter", "wandb:[ENTITY/]PROJECT"),
    "tensorboard": ("lodestar.exporters.tensorboard:TensorboardWriter", "tensorboard:FOLDER"),
}


def open_writer(address: str) -> "AbstractWriter":
    """The writer at `address`."""
    kind, colon, place = address.partition(":")
    if kind not in WRITERS or not colon or not place:
        shapes = ", ".join(shape for _, shape in WRITERS.values())
        raise ValueError(f"a place to log to must be one of {shapes}, got {address!r}")
    module, name = WRITERS[kind][0].split(":")
    return getattr(importlib.import_module(module), name)(place)
