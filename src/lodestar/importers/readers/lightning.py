"""Lightning's CSVLogger: `metrics.csv` with sparse rows, `hparams.yaml` beside it.

The clock is the `step` column: the optimizer's global step, counted from 0. Learning rates are the columns of
LearningRateMonitor (`lr-AdamW`, `lr-AdamW/pg1`).
"""

from typing import ClassVar

from lodestar.importers.readers._csv_folder import AbstractCsvReader


class LightningReader(AbstractCsvReader):
    """metrics.csv files below a folder."""

    kind: ClassVar[str] = "lightning"
    file: ClassVar[str] = "metrics.csv"
    settings: ClassVar[str] = "hparams.yaml"
    marks: ClassVar[tuple[str, ...]] = ("step",)
