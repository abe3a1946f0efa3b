"""Lightning: the contract on its CSVLogger, and a real training with two parameter groups and LearningRateMonitor."""

import warnings

import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from lodestar._errors import TrackerError
from lodestar.importers import Choices, import_runs
from lodestar.importers.readers.lightning import LightningReader
from lodestar.runs import RunStore
from lodestar.testing import ReaderContract

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # Lightning's own imports
    warnings.simplefilter("ignore", FutureWarning)
    import lightning.pytorch as pl
    from lightning.pytorch.callbacks import LearningRateMonitor
    from lightning.pytorch.loggers import CSVLogger

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*does not have many workers.*"),
    pytest.mark.filterwarnings("ignore:.*isinstance.treespec, LeafSpec.*"),
    pytest.mark.filterwarnings("ignore:Experiment logs directory .* exists and is not empty"),
]


class TestCsvLogger(ReaderContract):
    names_are_mine = False  # a run is called by its folder

    def make(self, place, runs):
        for run in runs:
            logger = CSVLogger(place / "logs", name=run.name, version=0)
            logger.log_hyperparams(dict(run.config))
            for name, curve in run.curves.items():
                for step, value in curve.items():
                    logger.log_metrics({name: value}, step)
            logger.save()

    def open(self, place):
        return LightningReader(place / "logs")

    def nowhere(self, place):
        return LightningReader(place)


class Module(pl.LightningModule):
    def __init__(self, width: int = 4, rate: float = 0.01):
        super().__init__()
        self.save_hyperparameters()
        self.one, self.two = nn.Linear(3, width), nn.Linear(width, 1)

    def training_step(self, batch, _):
        loss = self.two(self.one(batch[0])).square().mean()
        self.log("train_loss", loss)
        return loss

    def validation_step(self, batch, _):
        self.log("val_acc", self.two(self.one(batch[0])).mean())

    def configure_optimizers(self):  # pyright: ignore[reportIncompatibleMethodOverride]
        groups = [{"params": self.one.parameters()}, {"params": self.two.parameters(), "lr": 0.1}]
        optimizer = torch.optim.AdamW(groups, lr=0.01)
        plan = torch.optim.lr_scheduler.StepLR(optimizer, 5, 0.5)
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": plan, "interval": "step"}}


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """The folder a real Trainer leaves: 3 epochs of 8 updates."""
    folder = tmp_path_factory.mktemp("lightning")
    data = DataLoader(TensorDataset(torch.randn(16, 3)), batch_size=2)
    pl.Trainer(
        max_epochs=3,
        accelerator="cpu",
        logger=CSVLogger(folder),
        callbacks=[LearningRateMonitor("step")],
        log_every_n_steps=2,
        enable_progress_bar=False,
        enable_model_summary=False,
        enable_checkpointing=False,
    ).fit(Module(), data, data)
    return folder


def test_a_real_trainings_sparse_rows_and_groups(trained):
    tracker = LightningReader(trained)
    (run,) = tracker.list()
    assert run.name == "lightning_logs/version_0" and run.config == {"width": 4, "rate": 0.01}
    assert {"train_loss", "val_acc", "lr-AdamW/pg1", "lr-AdamW/pg2", "epoch"} <= set(run.quantities)
    found = tracker.fetch(run, run.quantities)
    assert found["train_loss"].steps.tolist() == list(range(1, 24, 2))
    assert found["val_acc"].steps.tolist() == [7, 15, 23]
    assert found["lr-AdamW/pg2"].values[0] == 0.1 and found["lr-AdamW/pg1"].values[0] == 0.01


def test_the_second_group_may_be_chosen(trained, tmp_path):
    import_runs(LightningReader(trained), RunStore(tmp_path), Choices(lr="lr-AdamW/pg2"))
    (run,) = RunStore(tmp_path).read()
    assert run.peak_lr == pytest.approx(0.1) and run.metric_name == "val_acc"


def test_a_file_still_being_written_is_read_up_to_its_half_line(tmp_path):
    (tmp_path / "metrics.csv").write_text("epoch,step,train_loss\n0,1,0.5\n0,2,oops\n0,3,0.25\n0,4")
    tracker = LightningReader(tmp_path / "metrics.csv")
    (run,) = tracker.list()
    found = tracker.fetch(run, ["train_loss"])["train_loss"]
    assert found.steps.tolist() == [1, 3]
    assert "'oops' on line 3" in found.notes[0] and "1 rows are not whole (the first on line 5)" in found.notes[1]


def test_another_csv_is_left_out_with_a_cure(tmp_path):
    (tmp_path / "metrics.csv").write_text("time,value\n1,2\n")
    (run,) = LightningReader(tmp_path).list()
    assert "no column 'step'" in run.trouble and "lodestar import csv" in run.trouble


def test_an_empty_file_and_a_wrong_folder(tmp_path):
    (tmp_path / "metrics.csv").write_text("")
    (run,) = LightningReader(tmp_path).list()
    assert "is empty" in run.trouble
    (tmp_path / "metrics.csv").unlink()
    with pytest.raises(TrackerError, match=r"holds no metrics\.csv"):
        LightningReader(tmp_path)
