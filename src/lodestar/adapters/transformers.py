"""Transformers: one line steers a Trainer.

Comes in: a `Trainer` not yet training, a forecaster, the name of the evaluation metric. Goes out: the same trainer,
with a `LodestarLR` in place of its schedule and a callback that reads the logged loss and the evaluation metric. Total
steps are the trainer's own (`state.max_steps`). The scheduler's state lies in the checkpoint's `scheduler.pt`, so
`resume_from_checkpoint` goes on exactly, given that `save_steps` is a multiple of `logging_steps` (the Trainer itself
forgets the losses since its last log). This file does not know models.

    trainer = Trainer(model, args, train_dataset=..., eval_dataset=..., compute_metrics=...)
    steer(trainer, "forecaster.lodestar", metric="eval_accuracy")
    trainer.train()
"""

import logging
from typing import Any

from lodestar._extras import need
from lodestar.adapters._lr_scheduler import LodestarLR
from lodestar.adapters._source import Source, is_steering
from lodestar.adapters._steered import Steered

need("transformers", "transformers")

from transformers import Trainer, TrainerCallback  # noqa: E402

_log = logging.getLogger(__name__)


def steer(trainer: Trainer, source: Source, *, metric: str, **options: Any) -> "TransformersCallback":
    """Steer `trainer`'s learning rate; returns the callback, whose `scheduler` can be looked at.

    `metric` is a key of what `trainer.evaluate()` returns, such as "eval_accuracy" or "eval_loss": the one the
    forecaster was fitted on. `options` are those of `Scheduler`.
    """
    if trainer.lr_scheduler is not None:
        raise ValueError(
            f"the trainer was given a {type(trainer.lr_scheduler).__name__} in optimizers=(...), and two schedulers "
            "would overwrite each other's rates. Fix: pass optimizers=(optimizer, None)"
        )
    callback = TransformersCallback(source, metric, options)
    trainer.add_callback(callback)

    def create_scheduler(num_training_steps: int, optimizer: Any = None) -> LodestarLR:
        trainer.lr_scheduler = callback.start(
            optimizer or trainer.optimizer, num_training_steps, _batch_of(trainer.args)
        )
        trainer._created_lr_scheduler = True  # the trainer then asks again at its next train()
        return trainer.lr_scheduler

    trainer.create_scheduler = create_scheduler
    return callback


class TransformersCallback(Steered, TrainerCallback):
    """Reads what the trainer logs and evaluates. Made by `steer`."""

    def __init__(self, source: Source, metric: str, options: dict[str, Any]):
        self.scheduler: LodestarLR | None = None
        self.metric = metric
        self._source, self._options = source, options

    def start(self, optimizer: Any, total_steps: int, batch_size: int | None = None) -> LodestarLR:
        """Build the scheduler for a `train()` that begins; the one of an earlier `train()` lets go."""
        if self.scheduler is not None:
            self.scheduler.detach()
        total = None if is_steering(self._source) else total_steps
        job = {"metric": self.metric, "updates": total_steps, "batch_size": batch_size}
        options = {**self._options, "job": {**job, **(self._options.get("job") or {})}}
        self.scheduler = LodestarLR(optimizer, self._source, total, **options)
        return self.scheduler

    def on_train_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Say how the run went."""
        if self.scheduler is not None:
            self.scheduler.close()

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """End the run if a command did."""
        if self.scheduler is not None and self.scheduler.stopped:
            control.should_training_stop = True

    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **kwargs: Any) -> None:
        """Report the mean loss since the last log."""
        if self.scheduler is not None and logs and "loss" in logs:
            self.scheduler.observe(loss=logs["loss"], step=state.global_step)

    def on_evaluate(self, args: Any, state: Any, control: Any, metrics: Any = None, **kwargs: Any) -> None:
        """Report the metric."""
        if self.scheduler is None or not metrics:
            return
        if self.metric not in metrics:
            _log.warning("no metric %r among %s. Fix: steer(..., metric=one of these)", self.metric, sorted(metrics))
            return
        self.scheduler.observe(metric=metrics[self.metric], step=state.global_step)


def _batch_of(args: Any) -> int:
    """Samples in one update: of all processes, with what is accumulated."""
    return args.train_batch_size * args.gradient_accumulation_steps * max(args.world_size, 1)


LodestarCallback = TransformersCallback  # its name in release one
