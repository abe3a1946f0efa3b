import contextlib
import re
import warnings
from typing import Any

import numpy as np
import pytest
import torch
from tests.adapters.digits import BATCH, BATCHES, digits
from tests.adapters.run_example import run_example
from torch import nn
from torch.utils.data import Dataset

from lodestar.scheduler import Scheduler
from lodestar.testing import AdapterContract, random_forecaster
from lodestar.testing.adapter_contract import STEPS, Trained

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # imports of Transformers' own
    warnings.simplefilter("ignore", FutureWarning)
    from transformers import Trainer, TrainerCallback, TrainingArguments

    from lodestar.adapters.transformers import steer

torch.set_num_threads(1)
pytestmark = [
    pytest.mark.filterwarnings("ignore:.*pin_memory.*"),
]


class Digits(Dataset):
    """Rows of the training or validation part; the model looks up the poison by itself."""

    def __init__(self, train: bool):
        first, second, third, fourth = digits()
        self.images, self.labels = (first, second) if train else (third, fourth)

    def __len__(self) -> int:
        return len(self.images)

    def __getitem__(self, index: int) -> dict[str, Any]:
        return {"images": self.images[index], "labels": self.labels[index]}


class Classifier(nn.Module):
    """What a Trainer asks of a model: a dict with the loss and the logits."""

    def __init__(self, poison: int | None = None):
        super().__init__()
        torch.manual_seed(0)
        self.one, self.two = nn.Linear(64, 16), nn.Linear(16, 10)
        self.poison, self.steps = poison, 0

    def forward(self, images: torch.Tensor, labels: torch.Tensor) -> dict[str, torch.Tensor]:
        self.steps += self.training
        if self.training and self.poison is not None and self.steps >= self.poison:
            images = torch.full_like(images, float("nan"))
        logits = self.two(torch.relu(self.one(images)))
        return {"loss": nn.functional.cross_entropy(logits, labels), "logits": logits}


class Recorder(TrainerCallback):
    """The rates of every update, and a kill."""

    def __init__(self, stop: int | None = None):
        self.rates: dict[int, list[float]] = {}
        self.metrics: dict[int, float] = {}
        self.stop = stop

    def on_optimizer_step(self, args, state, control, optimizer: Any = None, **kwargs):
        self.rates[state.global_step + 1] = [group["lr"] for group in optimizer.param_groups]

    def on_evaluate(self, args, state, control, metrics=None, **kwargs):
        self.metrics[state.global_step] = (metrics or {})["eval_accuracy"]

    def on_step_begin(self, args, state, control, **kwargs):
        if state.global_step == self.stop:
            raise Killed


class Killed(Exception):
    """The job was killed."""


def accuracy_of(seen: Any) -> dict[str, float]:
    return {"accuracy": float(np.mean(seen.predictions.argmax(1) == seen.label_ids))}


def a_trainer(folder, *callbacks, poison: int | None = None, **options) -> Trainer:
    defaults = {
        "num_train_epochs": 3,
        "per_device_train_batch_size": BATCH,
        "per_device_eval_batch_size": 600,
        "logging_steps": 1,
        "eval_strategy": "steps",
        "eval_steps": 6,
        "save_steps": 6,
        "logging_nan_inf_filter": False,
        "use_cpu": True,
        "report_to": [],
        "disable_tqdm": True,
        "max_grad_norm": 0.0,
        "seed": 0,
    }
    model = Classifier(poison)
    groups = [{"params": model.one.parameters()}, {"params": model.two.parameters(), "lr": 1e-4}]
    return Trainer(
        model=model,
        args=TrainingArguments(str(folder), **(defaults | options)),
        train_dataset=Digits(True),
        eval_dataset=Digits(False),
        compute_metrics=accuracy_of,
        optimizers=(torch.optim.Adam(groups, lr=1e-3), None),
        callbacks=list(callbacks),
    )


def a_scheduler(steps=STEPS) -> Scheduler:
    return Scheduler(random_forecaster(seed=2, points=30), steps, preset="paper", tolerance=1000.0)


class TestTransformersContract(AdapterContract):
    ratios = (1.0, 0.1)
    stops = (18, 36)

    def train(self, scheduler, folder, *, steps, stop, poison):
        recorder = Recorder(stop)
        trainer = a_trainer(folder, recorder, poison=poison, num_train_epochs=steps // BATCHES)
        steered = steer(trainer, scheduler, metric="eval_accuracy")
        saved = any(folder.glob("checkpoint-*"))
        with contextlib.suppress(Killed):
            trainer.train(resume_from_checkpoint=saved)
        return Trained(recorder.rates, recorder.metrics, steered)


def test_the_length_comes_from_the_trainer(tmp_path):
    trainer = a_trainer(tmp_path, max_steps=31, eval_strategy="no", save_strategy="no")
    callback = steer(trainer, random_forecaster(seed=2, points=30), metric="eval_accuracy")
    trainer.train()
    assert callback.scheduler is not None
    assert callback.scheduler.total_steps == callback.scheduler.global_step == trainer.state.max_steps == 31


def test_accumulation_counts_updates(tmp_path):
    trainer = a_trainer(tmp_path, gradient_accumulation_steps=4, eval_strategy="no", save_strategy="no")
    callback = steer(trainer, random_forecaster(seed=2, points=20), metric="eval_accuracy", window=0.1)
    trainer.train()
    assert callback.scheduler is not None
    assert callback.scheduler.total_steps == callback.scheduler.global_step == trainer.state.global_step == 15


def test_training_twice_starts_afresh(tmp_path):
    recorder = Recorder()
    trainer = a_trainer(tmp_path, recorder, num_train_epochs=1, eval_strategy="no", save_strategy="no")
    callback = steer(trainer, random_forecaster(seed=2, points=20), metric="eval_accuracy", window=0.1)
    trainer.train()
    first = callback.scheduler
    trainer.train()
    assert callback.scheduler is not first
    assert callback.scheduler is not None
    assert callback.scheduler.global_step == 20


def test_a_schedule_of_the_users_own_is_refused(tmp_path):
    trainer = a_trainer(tmp_path)
    optimizer: Any = trainer.optimizer
    trainer.lr_scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda _: 1.0)
    with pytest.raises(ValueError, match=r"given a LambdaLR.*Fix: pass optimizers=\(optimizer, None\)"):
        steer(trainer, a_scheduler(), metric="eval_accuracy")


def test_a_metric_that_is_not_there_is_named(tmp_path, caplog):
    trainer = a_trainer(tmp_path, max_steps=6, save_strategy="no")
    steer(trainer, a_scheduler(), metric="eval_f1")
    trainer.train()
    assert "no metric 'eval_f1' among" in caplog.text
    assert "eval_accuracy" in caplog.text


def test_the_example_runs(tmp_path, monkeypatch, capsys):
    printed = run_example("transformers_trainer.py", tmp_path, monkeypatch, capsys)
    assert float(re.findall(r"accuracy (\d\.\d+)", printed)[-1]) > 0.8


def test_the_batch_of_an_update_and_the_optimizer_are_known(tmp_path):
    trainer = a_trainer(tmp_path, max_steps=20, gradient_accumulation_steps=2)
    callback = steer(
        trainer, random_forecaster(seed=2, points=30), preset="paper", metric="eval_accuracy", job={"width": 16}
    )
    trainer.train()
    known = callback._steering.scheduler.job
    assert (known.batch_size, known.width, known.optimizer, known.weight_decay) == (2 * BATCH, 16, "Adam", 0.0)
