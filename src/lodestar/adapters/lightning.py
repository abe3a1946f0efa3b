"""Lightning: one callback installs the scheduler and reads loss and metric. The module stays as it is.

Comes in: a forecaster and the name of the logged validation metric. Goes out: a callback for
`Trainer(callbacks=[...])`. It puts a `LodestarLR` into the trainer before a checkpoint is restored, so the state is
saved and loaded by Lightning with the other schedulers', and `LearningRateMonitor` sees it. Total steps come from the
trainer. The sanity check is not observed. Checkpoint callbacks run last in Lightning, so a checkpoint saved during
validation holds this validation's metric. This file knows both names of the package, `lightning` and
`pytorch_lightning`.

    trainer = Trainer(max_epochs=20, callbacks=[LodestarCallback("forecaster.lodestar", metric="val_acc")])
"""

import importlib
import math
import sys
from typing import Any

from lodestar._extras import need
from lodestar.adapters._lr_scheduler import LodestarLR
from lodestar.adapters._source import Source, is_steering, metric_name
from lodestar.adapters._steered import Steered

_PACKAGE = "pytorch_lightning" if "pytorch_lightning" in sys.modules else "lightning.pytorch"
pl: Any = need(_PACKAGE, "lightning")
_LRSchedulerConfig: Any = importlib.import_module(f"{_PACKAGE}.utilities.types").LRSchedulerConfig


class LightningCallback(Steered, pl.Callback):
    """Steers the one optimizer of a LightningModule. `options` are those of `Scheduler`.

    `metric` is the name under which the module logs the validation metric the forecaster was fitted on. The loss is
    what `training_step` returns, read every `loss_every` updates (reading waits for the device). If
    `configure_optimizers` returns a `LodestarLR` itself, that one is used.
    """

    def __init__(
        self,
        source: Source,
        *,
        metric: str | None = None,
        total_steps: int | None = None,
        loss_every: int = 1,
        monitor: str | None = None,
        **options: Any,
    ):
        if loss_every < 1:
            raise ValueError(f"loss_every must be at least 1 update, got {loss_every}. Fix: leave it at 1")
        self.metric = metric_name(metric, monitor)
        self.scheduler: LodestarLR | None = None
        self._source, self._total_steps, self._options = source, total_steps, options
        self._loss_every = loss_every

    def on_fit_start(self, trainer: Any, pl_module: Any) -> None:
        """Install the scheduler, or find the module's own."""
        theirs = [config.scheduler for config in trainer.lr_scheduler_configs]
        mine = [scheduler for scheduler in theirs if isinstance(scheduler, LodestarLR)]
        if mine:
            self.scheduler = mine[0]
            return
        if theirs:
            raise ValueError(
                f"configure_optimizers returned a {type(theirs[0]).__name__}, and two schedulers would overwrite each "
                "other's rates. Fix: return the optimizer only, or take the Lodestar callback out"
            )
        self._install(trainer)

    def on_train_batch_end(self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int) -> None:
        """Report the loss, then set the rate of the next update; end the run if a command did."""
        scheduler: LodestarLR = self._steering
        loss = outputs.get("loss") if isinstance(outputs, dict) else outputs
        if loss is not None and pl_module.automatic_optimization:
            loss = loss * trainer.accumulate_grad_batches  # Lightning has divided it, for gradients to add up to a mean
        if scheduler.global_step > 0:
            scheduler.step(loss=None if scheduler.global_step % self._loss_every else loss)
        if scheduler.stopped:
            trainer.should_stop = True

    def on_validation_end(self, trainer: Any, pl_module: Any) -> None:
        """Report the metric."""
        if trainer.sanity_checking or self.scheduler is None:
            return
        value = trainer.callback_metrics.get(self.metric)
        if value is None:
            pl.utilities.rank_zero_warn(
                f"Lodestar: no metric {self.metric!r} was logged in validation, only "
                f"{sorted(trainer.callback_metrics)}. Fix: self.log({self.metric!r}, ...) in validation_step"
            )
        self.scheduler.observe(metric=value)

    def on_train_end(self, trainer: Any, pl_module: Any) -> None:
        """Say how the run went."""
        if self.scheduler is not None:
            self.scheduler.close()

    def summary(self) -> str:
        """What became of the run, in one line."""
        return self._steering.summary()

    def _install(self, trainer: Any) -> None:
        if len(trainer.optimizers) != 1:
            raise ValueError(
                f"the module has {len(trainer.optimizers)} optimizers, and the callback steers one. "
                "Fix: build a LodestarLR for each in configure_optimizers"
            )
        total = None if is_steering(self._source) else self._total_steps or _total_of(trainer)
        left = trainer.estimated_stepping_batches
        job = {"metric": self.metric, "updates": left if math.isfinite(left) and left > 0 else None}
        options = {
            **self._options,
            "job": {**job, "batch_size": _batch_of(trainer), **(self._options.get("job") or {})},
        }
        self.scheduler = LodestarLR(trainer.optimizers[0], self._source, total, **options)
        # Lightning calls step() before it shows us the loss; so it is never to call it, and we do
        config = _LRSchedulerConfig(scheduler=self.scheduler, interval="step", frequency=sys.maxsize, name="lodestar")
        trainer.strategy.lr_scheduler_configs.append(config)


LodestarCallback = LightningCallback


def _batch_of(trainer: Any) -> int | None:
    """Samples in one update, where the trainer's own loader says how many a device gets."""
    size = getattr(trainer.train_dataloader, "batch_size", None)
    if not isinstance(size, int) or isinstance(size, bool) or "ModelParallel" in type(trainer.strategy).__name__:
        return None
    return size * trainer.accumulate_grad_batches * trainer.world_size


def _total_of(trainer: Any) -> int:
    total = trainer.estimated_stepping_batches
    if not math.isfinite(total) or total < 1:
        raise ValueError(
            f"the trainer does not know how long the run will be (estimated_stepping_batches is {total}). "
            "Fix: set max_steps or max_epochs, or pass total_steps to LodestarCallback"
        )
    return int(total)
