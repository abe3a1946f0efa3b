"""Keras 3, any backend: one callback sets the rate before every batch and reads loss and metric.

Comes in: a forecaster and the name of the validation metric. Goes out: a callback for `model.fit(callbacks=[...])`. A
step is one batch, counted by `optimizer.iterations`, so it stays right when `BackupAndRestore` brings a run back. Keras
keeps no place for the state of other callbacks: with `state=PATH` it is written to a JSON file of our own at the end of
every epoch (or every `save_freq` batches, as in `BackupAndRestore`), with the last few kept, and the one that fits the
restored weights is taken. This file does not know models.

    lodestar = LodestarCallback("forecaster.lodestar", metric="val_accuracy", state="backup.lodestar.json")
    model.fit(..., callbacks=[lodestar, keras.callbacks.BackupAndRestore("backup")])
"""

import logging
import os
from pathlib import Path
from typing import Any, Literal

from lodestar._extras import need
from lodestar.adapters._source import Source, Steering, is_steering, metric_name, scheduler_of, stopped
from lodestar.adapters._state_file import read_state, write_state
from lodestar.adapters._steered import SteeredJob
from lodestar.scheduler.inputs import number_of

keras: Any = need("keras", "keras")

KEPT = 3  # BackupAndRestore may hold its last save, or with double_checkpoint the one before
_log = logging.getLogger(__name__)


class KerasCallback(SteeredJob, keras.callbacks.Callback):
    """Steers `model.optimizer`. `options` are those of `Scheduler`.

    The length of the run is epochs x batches in an epoch, or `total_steps` where Keras does not know it. Keras reports
    the loss as a running mean over the epoch; the mean of each stretch of `loss_every` batches is worked out from it
    (default: one stretch for each point of the forecaster's grid).
    """

    def __init__(
        self,
        source: Source,
        *,
        metric: str | None = None,
        total_steps: int | None = None,
        state: str | os.PathLike[str] | None = None,
        save_freq: int | Literal["epoch"] = "epoch",
        loss_every: int | None = None,
        monitor: str | None = None,
        **options: Any,
    ):
        super().__init__()
        if save_freq != "epoch" and not (isinstance(save_freq, int) and save_freq >= 1):
            raise ValueError(f"save_freq must be 'epoch' or a number of batches, got {save_freq!r}. Fix: 'epoch'")
        if loss_every is not None and loss_every < 1:
            raise ValueError(f"loss_every must be at least 1 batch, got {loss_every}. Fix: leave it out")
        self.metric = metric_name(metric, monitor)
        self.scheduler: Steering | None = None
        self._source, self._total_steps, self._options = source, total_steps, options
        self._path = None if state is None else Path(state)
        self._save_freq, self._given_every = save_freq, loss_every
        self._epoch, self._epoch_start, self._mean = 0, 0, _RunningMean()
        self._unsaved = 0
        self._states: dict[str, Any] = {}  # by step, as in the file

    def on_train_begin(self, logs: Any = None) -> None:
        """Refuse what cannot be steered before any batch is trained."""
        if isinstance(
            getattr(self.model.optimizer, "_learning_rate", None), keras.optimizers.schedules.LearningRateSchedule
        ):
            raise ValueError(
                "the optimizer was made with a LearningRateSchedule, which cannot be steered. "
                "Fix: make it with a number, for example Adam(learning_rate=1e-3)"
            )
        if not is_steering(self._source) and self._total_steps is None and not self.params.get("steps"):
            raise ValueError(
                "Keras does not know how many batches an epoch has, so the length of the run is unknown. "
                "Fix: pass total_steps to LodestarCallback, or steps_per_epoch to fit"
            )

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        """Find out where the run stands (after BackupAndRestore) and, the first time, build the scheduler."""
        self._epoch, self._epoch_start = epoch, int(self.model.optimizer.iterations)
        self._mean = _RunningMean()
        if self.scheduler is None:
            self._start()

    def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:
        """Set the rate of this batch."""
        lr = self._steering.lr_at(self._epoch_start + batch + 1)
        if hasattr(self.model, "jax_state_sync"):  # the JAX trainer keeps the variables outside the model in an epoch
            self.model.jax_state_sync()
        self.model.optimizer.learning_rate = lr

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        """Report the loss of a full stretch; save if it is time; end the run if a command did."""
        step = self._epoch_start + batch + 1
        if logs and "loss" in logs and batch + 1 - self._mean.batches >= self._loss_every:
            self._steering.observe(step, loss=self._mean.advanced(batch + 1, float(logs["loss"])))
        self._unsaved += 1
        if isinstance(self._save_freq, int) and self._unsaved >= self._save_freq:
            self._save(step)
        if stopped(self.scheduler, step):
            self.model.stop_training = True

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        """Report the metric, and the loss of a stretch that the epoch's end cut short; save."""
        step = int(self.model.optimizer.iterations)
        if logs and "loss" in logs and step - self._epoch_start > self._mean.batches:
            self._steering.observe(step, loss=self._mean.advanced(step - self._epoch_start, float(logs["loss"])))
        value = (logs or {}).get(self.metric)
        if value is None and any(name.startswith("val_") for name in logs or {}):
            _log.warning("no metric %r among %s. Fix: metric=one of these", self.metric, sorted(logs or {}))
        self._steering.observe(max(step, 1), metric=value)
        if self._save_freq == "epoch":
            self._save(step)

    def on_train_end(self, logs: Any = None) -> None:
        """Say how the run went."""
        self.close()

    @property
    def _updates(self) -> int:
        return int(self.model.optimizer.iterations)

    @property
    def _loss_every(self) -> int:
        if self._given_every is not None:
            return self._given_every
        return max(1, self._steering.total_steps // self._steering.forecaster.points)

    def _start(self) -> None:
        left = (self.params.get("epochs", 1) - self._epoch) * (self.params.get("steps") or 0)
        total = None if is_steering(self._source) else self._total_steps or self._epoch_start + left
        job = {"metric": self.metric, "optimizer": type(self.model.optimizer).__name__, "parameters": _size(self.model)}
        job["weight_decay"] = number_of(getattr(self.model.optimizer, "weight_decay", None))
        if self._epoch_start == 0 and left:  # resumed within an epoch, Keras counts its batches again
            job["updates"] = left
        self.scheduler = scheduler_of(self._source, total, self._options, **job)
        if self._path is not None and self._epoch_start > 0:
            self._restore(self._path, str(self._epoch_start))

    def _restore(self, path: Path, step: str) -> None:
        states = self._states = read_state(path) if path.exists() else {}
        if step in states:
            self._steering.load_state_dict(states[step])
            return
        _log.warning(
            "the model comes back at step %s, but %s holds %s: steering starts without the past. Fix: save both at the "
            "same batches (save_freq of LodestarCallback and BackupAndRestore)",
            step,
            path,
            list(states) or "nothing",
        )

    def _save(self, step: int) -> None:
        self._unsaved = 0
        if self._path is None:
            return
        earlier = {key: value for key, value in self._states.items() if key.isdecimal() and int(key) < step}
        kept = dict(sorted(earlier.items(), key=lambda item: int(item[0]))[-(KEPT - 1) :])
        self._states = {**kept, str(step): self._steering.state_dict()}
        write_state(self._path, self._states)


LodestarCallback = KerasCallback


def _size(model: Any) -> int | None:
    return (model.count_params() or None) if model.built else None


class _RunningMean:
    """Takes a running mean apart again: the mean of the batches since the last look."""

    def __init__(self):
        self.batches, self.mean = 0, 0.0

    def advanced(self, batches: int, mean: float) -> float:
        """The mean over the batches since the last call."""
        part = (batches * mean - self.batches * self.mean) / (batches - self.batches)
        self.batches, self.mean = batches, mean
        return part
