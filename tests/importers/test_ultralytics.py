"""Ultralytics: the contract on results.csv in its published form (the library is not a dependency, even of tests)."""

import pytest

from lodestar._errors import TrackerError
from lodestar.importers import Choices, import_runs
from lodestar.importers.readers.ultralytics import UltralyticsReader
from lodestar.runs import RunStore
from lodestar.testing import ReaderContract

PADDED = 23  # the width older versions pad names and numbers to
COLUMNS = [
    "epoch",
    "train/box_loss",
    "train/cls_loss",
    "train/dfl_loss",
    "metrics/precision(B)",
    "metrics/recall(B)",
    "metrics/mAP50(B)",
    "metrics/mAP50-95(B)",
    "val/box_loss",
    "val/cls_loss",
    "val/dfl_loss",
    "lr/pg0",
    "lr/pg1",
    "lr/pg2",
]


def write_results(folder, rows):
    folder.mkdir(parents=True, exist_ok=True)
    lines = [",".join(f"{cell:>{PADDED}}" for cell in row) for row in rows]
    (folder / "results.csv").write_text("\n".join(lines) + "\n")


class TestUltralytics(ReaderContract):
    loss = "train/box_loss"
    metric = "metrics/precision(B)"
    lr = "lr/pg0"

    def make(self, place, runs):
        for run in runs:
            names = ["epoch", *run.curves]
            epochs = sorted({epoch for curve in run.curves.values() for epoch in curve})
            rows = [[epoch, *(curve.get(epoch, "") for curve in run.curves.values())] for epoch in epochs]
            write_results(place / "detect" / run.name, [names, *rows])
            settings = "".join(f"{name}: {value}\n" for name, value in run.config.items())
            (place / "detect" / run.name / "args.yaml").write_text(settings)

    def open(self, place):
        return UltralyticsReader(place / "detect")

    def nowhere(self, place):
        return UltralyticsReader(place)


def test_a_training_as_the_library_writes_it(tmp_path):
    rows = [[epoch, *(f"{epoch + column / 100:.5f}" for column in range(len(COLUMNS) - 1))] for epoch in range(1, 11)]
    write_results(tmp_path / "train", [COLUMNS, *rows])
    settings = "task: detect\nepochs: 10\nlr0: 0.01\nfreeze: null\nclasses: [1, 2]\n"
    (tmp_path / "train" / "args.yaml").write_text(settings)
    choices = Choices(metric="metrics/mAP50-95(B)", direction="max")
    report = import_runs(UltralyticsReader(tmp_path), RunStore(tmp_path / "store"), choices)
    (run,) = RunStore(tmp_path / "store").read()
    assert report.imported and run.loss.steps.tolist() == list(range(1, 11))
    assert run.lr.values[0] == pytest.approx(1.1) and any("epoch" in note for note in run.notes)


def test_another_results_csv_is_left_out(tmp_path):
    (tmp_path / "results.csv").write_text("model,score\na,1\n")
    (run,) = UltralyticsReader(tmp_path).list()
    assert "no column 'epoch'" in run.trouble


def test_a_folder_without_results_is_told(tmp_path):
    with pytest.raises(TrackerError, match=r"holds no results\.csv"):
        UltralyticsReader(tmp_path)
