"""Ultralytics (YOLO): `results.csv`, one row an epoch, `args.yaml` beside it.

Comes in: a results.csv, or a folder searched at any depth (`runs/detect`). Goes out: one run a training folder. The
clock is the `epoch` column, for nothing else counts there; column names are padded with blanks by older versions.
Learning rates are `lr/pg0` to `lr/pg2`, losses `train/box_loss` and so on. Ultralytics need not be installed.
"""

from typing import ClassVar

from lodestar.importers.readers._csv_folder import AbstractCsvReader


class UltralyticsReader(AbstractCsvReader):
    """results.csv files below a folder."""

    kind: ClassVar[str] = "ultralytics"
    clock: str = "epoch"
    file: ClassVar[str] = "results.csv"
    settings: ClassVar[str] = "args.yaml"
    marks: ClassVar[tuple[str, ...]] = ("epoch",)
