"""Ultralytics (YOLO): `results.csv`, one row an epoch, `args.yaml` beside it.

The clock is the `epoch` column, for nothing else counts there; older versions pad column names with blanks.
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
