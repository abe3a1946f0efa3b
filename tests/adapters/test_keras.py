"""Keras on the torch backend; the contract runs once more on JAX, in a process of its own."""

import contextlib
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, cast

os.environ.setdefault("KERAS_BACKEND", "torch")

import keras
import numpy as np
import pytest
from tests.adapters.digits import BATCH, BATCHES, digits
from tests.adapters.run_example import run_example
from tests.full_disk import full_disk

from lodestar.adapters._state_file import read_state
from lodestar.adapters.keras import LodestarCallback
from lodestar.scheduler import Scheduler
from lodestar.testing import AdapterContract, random_forecaster
from lodestar.testing.adapter_contract import STEPS, Trained, Watched

if keras.backend.backend() == "torch":
    import torch

    torch.set_num_threads(1)
pytestmark = [
    pytest.mark.filterwarnings("ignore:__array__ implementation doesn't accept a copy keyword"),  # Keras saving weights
]


class Killed(Exception):
    """The job was killed."""


class Recorder(keras.callbacks.Callback):
    """The rate of every update, and a kill."""

    def __init__(self, stop: int | None = None):
        super().__init__()
        self.stop, self.step = stop, 0
        self.rates: dict[int, list[float]] = {}
        self.metrics: dict[int, float] = {}

    @property
    def optimizer(self) -> Any:
        return cast(Any, self.model).optimizer

    def on_epoch_begin(self, epoch, logs=None):
        self.step = int(self.optimizer.iterations)
        if self.step == self.stop:
            raise Killed

    def on_train_batch_begin(self, batch, logs=None):
        self.step += 1
        self.rates[self.step] = [float(self.optimizer.learning_rate)]

    def on_epoch_end(self, epoch, logs=None):
        self.metrics[self.step] = (logs or {})["val_accuracy"]


class Poison(keras.layers.Layer):
    """Turns its input to NaN from update number `start` on."""

    def __init__(self, start: int | None):
        super().__init__()
        self.start = start
        self.seen = self.add_weight(shape=(), initializer="zeros", trainable=False)

    def call(self, inputs, training=False):
        if not training or self.start is None:
            return inputs
        self.seen.assign_add(1.0)
        return keras.ops.where(self.seen >= self.start, float("nan"), inputs)


def a_model(poison: int | None = None) -> keras.Model:
    keras.utils.set_random_seed(0)
    layers = [keras.Input((64,)), Poison(poison), keras.layers.Dense(16, activation="relu"), keras.layers.Dense(10)]
    model = keras.Sequential(layers)
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.Adam(1e-3), loss=loss, metrics=["accuracy"])
    return model


def fit(model: keras.Model, *callbacks, epochs: int = 3, **options) -> None:
    images, labels, val_images, val_labels = digits()
    quiet: dict[str, Any] = {"shuffle": False, "verbose": 0}
    model.fit(
        images,
        labels,
        batch_size=BATCH,
        epochs=epochs,
        validation_data=(val_images, val_labels),
        callbacks=list(callbacks),
        **quiet,
        **options,
    )


def a_scheduler(steps=STEPS) -> Scheduler:
    return Scheduler(random_forecaster(seed=2, points=30), steps, preset="paper", tolerance=1000.0)


class TestKerasContract(AdapterContract):
    precision = 1e-6
    stops = (20, 40)

    def train(self, scheduler, folder, *, steps, stop, poison):
        steered = LodestarCallback(scheduler, metric="val_accuracy", state=folder / "lodestar.json", loss_every=1)
        backup = keras.callbacks.BackupAndRestore(str(folder / "backup"), delete_checkpoint=False)
        recorder = Recorder(stop)
        with contextlib.suppress(Killed):
            fit(a_model(poison), steered, backup, recorder, epochs=steps // BATCHES)
        return Trained(recorder.rates, recorder.metrics, steered)


@pytest.mark.skipif(keras.backend.backend() == "jax", reason="this is the run on JAX")
def test_the_contract_holds_on_jax():
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-n",
        "0",
        "-q",
        "-p",
        "no:cacheprovider",
        f"{__file__}::TestKerasContract",
    ]
    environment = os.environ | {"KERAS_BACKEND": "jax", "PYTEST_ADDOPTS": ""}
    done = subprocess.run(command, env=environment, cwd=Path(__file__).parents[2], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-3000:]


def test_the_length_comes_from_keras():
    steered = LodestarCallback(random_forecaster(seed=2, points=30), metric="val_accuracy")
    fit(a_model(), steered, epochs=2)
    assert steered.scheduler is not None
    assert steered.scheduler.total_steps == 2 * BATCHES


def test_the_summary_can_be_had_from_the_callback():
    scheduler = a_scheduler(steps=2 * BATCHES)
    steered = LodestarCallback(scheduler, metric="val_accuracy")
    fit(a_model(), steered, epochs=2)
    assert steered.summary() == scheduler.summary(2 * BATCHES)


def test_a_second_fit_with_a_new_callback_goes_on_counting():
    model = a_model()
    fit(model, epochs=1)
    steered = LodestarCallback(random_forecaster(seed=2, points=30), metric="val_accuracy")
    fit(model, steered, epochs=2)
    assert steered.scheduler is not None
    assert steered.scheduler.total_steps == 3 * BATCHES


def test_the_loss_is_the_mean_of_each_stretch_not_of_the_epoch():
    heard, each = (_losses(loss_every) for loss_every in (6, 1))
    losses = list(each.values())
    assert list(heard) == [6, 12, 18, 20]
    assert heard[6] == pytest.approx(np.mean(losses[:6]), rel=1e-3)
    assert heard[20] == pytest.approx(np.mean(losses[18:]), rel=1e-3)


def _losses(loss_every: int) -> dict[int, float]:
    """What is heard in an epoch of a job whose rates do not depend on it."""
    scheduler = Watched(random_forecaster(seed=2, points=30), STEPS, hysteresis=1e9, spike=None)
    fit(a_model(), LodestarCallback(scheduler, metric="val_accuracy", loss_every=loss_every), epochs=1)
    return scheduler.heard("loss")


def test_saves_every_few_batches_resume_at_the_one_the_weights_fit(tmp_path):
    def job(stop: int | None) -> tuple[Any, Recorder]:
        steered = LodestarCallback(
            a_scheduler(), metric="val_accuracy", state=tmp_path / "lodestar.json", save_freq=7, loss_every=1
        )
        every: Any = 7
        backup = keras.callbacks.BackupAndRestore(str(tmp_path / "backup"), save_freq=every, delete_checkpoint=False)
        recorder = Recorder(stop)
        with contextlib.suppress(Killed):
            fit(a_model(), steered, backup, recorder)
        return steered.scheduler, recorder

    first, _ = job(stop=20)
    second, recorder = job(stop=None)
    assert min(recorder.rates) == 15  # Keras goes back to its save after update 14
    assert recorder.rates[15][0] == pytest.approx(first.followed().lr_at(15), rel=1e-6)
    expected = ("past the end", "left out", "no metric was observed")
    assert all(any(words in text for words in expected) for text in second.warnings)


def test_a_full_disk_leaves_the_last_good_state_and_the_job_goes_on(tmp_path, caplog):
    path = tmp_path / "lodestar.json"
    steered = LodestarCallback(a_scheduler(), metric="val_accuracy", state=path)
    fill = keras.callbacks.LambdaCallback(
        on_epoch_begin=lambda epoch, logs: stack.enter_context(full_disk()) if epoch else None
    )
    with contextlib.ExitStack() as stack:
        fit(a_model(), fill, steered)
    assert list(read_state(path)) == [str(BATCHES)]  # of the first epoch
    (said,) = [record.getMessage() for record in caplog.records if record.name == "lodestar.adapters"]
    assert str(path) in said and "was not saved, training goes on" in said
    assert int(cast(Any, steered.model).optimizer.iterations) == STEPS


def test_a_state_file_that_is_damaged_under_the_job_does_not_end_it(tmp_path):
    path = tmp_path / "lodestar.json"
    steered = LodestarCallback(a_scheduler(), metric="val_accuracy", state=path)
    damage = keras.callbacks.LambdaCallback(on_epoch_begin=lambda epoch, logs: path.write_text("{"))
    fit(a_model(), damage, steered)
    assert str(STEPS) in read_state(path)


def test_weights_without_their_state_are_reported(tmp_path, caplog):
    model = a_model()
    fit(model, epochs=1)
    steered = LodestarCallback(a_scheduler(), metric="val_accuracy", state=tmp_path / "lodestar.json")
    fit(model, steered, epochs=1)
    assert "comes back at step 20" in caplog.text
    assert "Fix: save both at the same batches" in caplog.text


def test_a_schedule_in_the_optimizer_is_refused():
    model = a_model()
    schedule: Any = keras.optimizers.schedules.CosineDecay(1e-3, 10)
    model.compile(keras.optimizers.Adam(schedule), loss=model.loss)
    with pytest.raises(ValueError, match=r"LearningRateSchedule.*Fix: make it with a number"):
        fit(model, LodestarCallback(a_scheduler(), metric="val_accuracy"))


def test_an_unknown_length_is_refused_with_the_cure():
    steered = LodestarCallback(random_forecaster(seed=2), metric="val_accuracy")
    steered.set_params({"epochs": 3, "steps": None})
    steered.set_model(a_model())
    with pytest.raises(ValueError, match=r"how many batches.*Fix: pass total_steps"):
        steered.on_train_begin()


def test_a_metric_that_is_not_there_is_named(caplog):
    fit(a_model(), LodestarCallback(a_scheduler(), metric="val_acc"), epochs=1)
    assert "no metric 'val_acc' among" in caplog.text


@pytest.mark.parametrize(("name", "value"), [("save_freq", "batch"), ("save_freq", 0), ("loss_every", 0)])
def test_bad_arguments_are_refused_when_built(name, value):
    with pytest.raises(ValueError, match=f"{name} must be"):
        LodestarCallback(a_scheduler(), metric="val_accuracy", **{name: value})


def test_a_frozen_plan_runs_as_a_plain_schedule():
    plan = a_scheduler().plan()
    model = a_model()
    model.compile(keras.optimizers.SGD(plan.as_keras()), loss=model.loss)
    fit(model, epochs=1)
    assert float(cast(Any, model).optimizer.learning_rate) == pytest.approx(plan.lr_at(21), rel=1e-6)


def test_the_example_runs(tmp_path, monkeypatch, capsys):
    printed = run_example("keras_fit.py", tmp_path, monkeypatch, capsys)
    assert float(re.findall(r"accuracy (\d\.\d+)", printed)[-1]) > 0.8


def test_what_keras_knows_of_the_job_is_known():
    callback = LodestarCallback(random_forecaster(seed=2, points=30), metric="val_accuracy", job={"width": 16})
    model = a_model()
    model.optimizer.weight_decay = 0.1
    fit(model, callback, epochs=1)
    known = callback._steering.job
    assert (known.width, known.weight_decay, known.parameters) == (16, 0.1, model.count_params())
