import contextlib
import re
import warnings
from typing import Any

import pytest
import torch
from tests.adapters.digits import BATCH, BATCHES, batch_at, digits
from tests.adapters.run_example import run_example
from torch import nn
from torch.utils.data import DataLoader, Dataset

from lodestar.adapters.torch import LodestarLR
from lodestar.scheduler import Scheduler
from lodestar.testing import AdapterContract, random_forecaster
from lodestar.testing.adapter_contract import STEPS, Trained

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # Lightning's own imports
    warnings.simplefilter("ignore", FutureWarning)
    import lightning.pytorch as pl
    from lightning.pytorch.callbacks import LearningRateMonitor, ModelCheckpoint
    from lightning.pytorch.loggers import CSVLogger

    from lodestar.adapters.lightning import LodestarCallback

torch.set_num_threads(1)
pytestmark = [
    pytest.mark.filterwarnings("ignore:.*does not have many workers.*"),
    pytest.mark.filterwarnings("ignore:.*isinstance.treespec, LeafSpec.*"),
    pytest.mark.filterwarnings("ignore:.*resuming from a checkpoint that ended before the epoch ended.*"),
    pytest.mark.filterwarnings("ignore:Checkpoint directory .* exists and is not empty"),
]


class Killed(Exception):
    """The job was killed."""


class Digits(Dataset):
    """Training batches as the trainer asks for them: item i of epoch e belongs to update e x 20 + i // 64 + 1."""

    def __init__(self, poison: int | None):
        self.poison, self.epoch = poison, 0

    def __len__(self) -> int:
        return BATCH * BATCHES

    def __getitem__(self, index: int):
        images, labels = batch_at(self.epoch * BATCHES + index // BATCH + 1, self.poison)
        return images[index % BATCH], labels[index % BATCH]


class Module(pl.LightningModule):
    def __init__(self, poison: int | None = None, stop: int | None = None):
        super().__init__()
        self.stop = stop
        torch.manual_seed(0)
        self.net = nn.Sequential(nn.Linear(64, 16), nn.ReLU(), nn.Linear(16, 10))
        self.data = Digits(poison)
        self.rates: dict[int, list[float]] = {}
        self.metrics: dict[int, float] = {}

    def training_step(self, batch, batch_idx):
        images, labels = batch
        return nn.functional.cross_entropy(self.net(images), labels)

    def validation_step(self, batch, batch_idx):
        images, labels = batch
        self.log("val_acc", (self.net(images).argmax(1) == labels).float().mean())

    def configure_optimizers(self) -> Any:
        first, second = self.net[0].parameters(), self.net[2].parameters()
        return torch.optim.Adam([{"params": first}, {"params": second, "lr": 1e-4}], lr=1e-3)

    def optimizer_step(self, epoch, batch_idx, optimizer, optimizer_closure=None):
        super().optimizer_step(epoch, batch_idx, optimizer, optimizer_closure)
        self.rates[self.trainer.global_step + 1] = [group["lr"] for group in optimizer.param_groups]

    def on_train_batch_start(self, batch, batch_idx):
        if self.trainer.global_step == self.stop:
            raise Killed

    def on_train_epoch_start(self):
        self.data.epoch = self.current_epoch

    def on_validation_end(self):
        if not self.trainer.sanity_checking:
            self.metrics[self.trainer.global_step] = float(self.trainer.callback_metrics["val_acc"])

    def train_dataloader(self):
        return DataLoader(self.data, batch_size=BATCH)

    def val_dataloader(self):
        _, _, images, labels = digits()
        return DataLoader(torch.utils.data.TensorDataset(*map(torch.from_numpy, (images, labels))), batch_size=600)


def a_trainer(folder, *callbacks, **options) -> pl.Trainer:
    quiet = {"logger": False, "enable_progress_bar": False, "enable_model_summary": False, "accelerator": "cpu"}
    return pl.Trainer(default_root_dir=folder, callbacks=list(callbacks), **{"max_epochs": 3, **quiet, **options})


def a_scheduler(steps=STEPS) -> Scheduler:
    return Scheduler(random_forecaster(seed=2, points=30), steps, preset="paper", tolerance=1000.0)


class TestLightningContract(AdapterContract):
    ratios = (1.0, 0.1)
    stops = (20, 40)

    def train(self, scheduler, folder, *, steps, stop, poison):
        """Checkpoints are saved during validation, as Lightning does by default."""
        saved = sorted(folder.glob("*.ckpt"), key=lambda path: path.stat().st_mtime)
        keep = ModelCheckpoint(folder, filename="{step}", save_top_k=-1)
        steered = LodestarCallback(scheduler, metric="val_acc")
        trainer = a_trainer(folder, steered, keep, max_epochs=steps // BATCHES)
        module = Module(poison, stop)
        with contextlib.suppress(Killed):
            trainer.fit(module, ckpt_path=saved[-1] if saved else None)
        return Trained(module.rates, module.metrics, steered)


@pytest.mark.parametrize("accumulate", [1, 3])
def test_the_length_comes_from_the_trainer(accumulate, tmp_path):
    callback = LodestarCallback(random_forecaster(seed=2, points=30), metric="val_acc")
    trainer = a_trainer(tmp_path, callback, accumulate_grad_batches=accumulate, enable_checkpointing=False)
    trainer.fit(Module())
    assert callback.scheduler is not None
    assert callback.scheduler.total_steps == trainer.global_step == callback.scheduler.global_step


def test_the_loss_is_not_scaled_by_accumulation(tmp_path):
    scheduler = TestLightningContract().scheduler()
    trainer = a_trainer(
        tmp_path,
        LodestarCallback(scheduler, metric="val_acc"),
        accumulate_grad_batches=4,
        max_steps=2,
        enable_checkpointing=False,
    )
    trainer.fit(Module())
    assert all(2.0 < loss < 2.6 for loss in scheduler.heard("loss").values())  # ten classes: ln 10


def test_the_sanity_check_is_not_observed(tmp_path):
    contract = TestLightningContract()
    scheduler = contract.scheduler()
    trainer = a_trainer(
        tmp_path,
        LodestarCallback(scheduler, metric="val_acc"),
        num_sanity_val_steps=2,
        max_steps=3,
        limit_val_batches=1,
        enable_checkpointing=False,
    )
    trainer.fit(Module())
    assert 0 not in scheduler.heard("metric")
    assert 1 not in scheduler.heard("metric")


def test_a_checkpoint_in_the_middle_of_an_epoch_resumes_exactly(tmp_path):
    whole, rest = Module(), Module()
    keep = ModelCheckpoint(tmp_path, every_n_train_steps=7, save_top_k=-1, filename="{step}")
    a_trainer(tmp_path, LodestarCallback(a_scheduler(), metric="val_acc"), keep, val_check_interval=5).fit(whole)
    trainer = a_trainer(tmp_path, LodestarCallback(a_scheduler(), metric="val_acc"), keep, val_check_interval=5)
    trainer.fit(rest, ckpt_path=tmp_path / "step=28.ckpt")
    assert min(rest.rates) == 29
    assert rest.rates[29] == whole.rates[29]


def test_the_rate_monitor_sees_the_scheduler(tmp_path):
    monitor = LearningRateMonitor()
    callback = LodestarCallback(a_scheduler(), metric="val_acc")
    trainer = a_trainer(
        tmp_path,
        callback,
        monitor,
        logger=CSVLogger(tmp_path),
        max_steps=3,
        enable_checkpointing=False,
        log_every_n_steps=1,
    )
    trainer.fit(Module())
    assert set(monitor.lrs) == {"lodestar/pg1", "lodestar/pg2"}


def test_a_scheduler_of_the_modules_own_is_refused(tmp_path):
    class Scheduled(Module):
        def configure_optimizers(self) -> Any:
            optimizer = torch.optim.Adam(self.parameters())
            return [optimizer], [torch.optim.lr_scheduler.ConstantLR(optimizer)]

    trainer = a_trainer(tmp_path, LodestarCallback(a_scheduler(), metric="val_acc"), enable_checkpointing=False)
    with pytest.raises(ValueError, match=r"returned a ConstantLR.*Fix: return the optimizer only"):
        trainer.fit(Scheduled())


def test_a_lodestar_scheduler_of_the_modules_own_is_used(tmp_path):
    class Scheduled(Module):
        def configure_optimizers(self) -> Any:
            optimizer = torch.optim.Adam(self.parameters())
            scheduler = LodestarLR(optimizer, random_forecaster(seed=2, points=30), 60)
            return {"optimizer": optimizer, "lr_scheduler": {"scheduler": scheduler, "interval": "step"}}

    callback = LodestarCallback(a_scheduler(), metric="val_acc")
    trainer = a_trainer(tmp_path, callback, max_steps=3, enable_checkpointing=False)
    trainer.fit(Scheduled())
    assert trainer.lr_scheduler_configs == [] or trainer.lr_scheduler_configs[0].scheduler is callback.scheduler
    assert callback.scheduler is not None
    assert callback.scheduler.global_step == 3


@pytest.mark.filterwarnings("ignore:the run is planned for:UserWarning", "ignore:no metric was observed:UserWarning")
def test_a_metric_that_is_not_logged_is_named(tmp_path):
    trainer = a_trainer(
        tmp_path, LodestarCallback(a_scheduler(), metric="accuracy"), max_epochs=1, enable_checkpointing=False
    )
    with pytest.warns(UserWarning, match=r"no metric 'accuracy' was logged.*val_acc.*Fix: self.log\('accuracy'"):
        trainer.fit(Module())


def test_a_run_without_an_end_is_refused(tmp_path):
    callback = LodestarCallback(random_forecaster(seed=2), metric="val_acc")
    with pytest.raises(ValueError, match=r"does not know how long.*Fix: set max_steps or max_epochs"):
        a_trainer(tmp_path, callback, max_epochs=-1, enable_checkpointing=False).fit(Module())


def test_the_example_runs(tmp_path, monkeypatch, capsys):
    printed = run_example("lightning_module.py", tmp_path, monkeypatch, capsys)
    assert float(re.findall(r"accuracy (\d\.\d+)", printed)[-1]) > 0.8


def test_the_batch_of_an_update_and_the_optimizer_are_known(tmp_path):
    callback = LodestarCallback(
        random_forecaster(seed=2, points=30), preset="paper", metric="val_acc", job={"width": 16}
    )
    a_trainer(tmp_path, callback, max_steps=20, accumulate_grad_batches=2).fit(Module())
    known = callback._steering.scheduler.job
    assert (known.batch_size, known.width, known.optimizer, known.weight_decay) == (2 * BATCH, 16, "Adam", 0.0)
    assert known.parameters == 64 * 16 + 16 + 16 * 10 + 10
