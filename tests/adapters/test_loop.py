import contextlib
import json
import re

import numpy as np
import pytest
from tests.adapters.digits import batch_at, digits
from tests.adapters.run_example import run_example
from tests.full_disk import full_disk

from lodestar.adapters._state_file import read_state
from lodestar.adapters.loop import SteeredLoop
from lodestar.testing import AdapterContract, random_forecaster
from lodestar.testing.adapter_contract import Trained


def logits_of(weights: np.ndarray, images: np.ndarray) -> np.ndarray:
    return np.hstack([images, np.ones((len(images), 1), images.dtype)]) @ weights


def update(weights: np.ndarray, lr: float, step: int, poison: int | None) -> float:
    """One step of softmax regression by plain gradient descent, in place; the loss before it."""
    images, labels = batch_at(step, poison)
    logits = logits_of(weights, images)
    shares = np.exp(logits - logits.max(axis=1, keepdims=True))
    shares /= shares.sum(axis=1, keepdims=True)
    loss = -np.mean(np.log(shares[np.arange(len(labels)), labels]))
    shares[np.arange(len(labels)), labels] -= 1
    weights -= 100 * lr * np.hstack([images, np.ones((len(images), 1))]).T @ shares / len(labels)
    return float(loss)


def accuracy_of(weights: np.ndarray) -> float:
    _, _, images, labels = digits()
    return float(np.mean(logits_of(weights, images).argmax(axis=1) == labels))


class TestLoopContract(AdapterContract):
    stops = (17, 36)
    ends_itself = False

    def train(self, scheduler, folder, *, steps, stop, poison):
        loop = SteeredLoop(scheduler, state=folder / "run.json")
        saved = folder / "weights.npy"
        weights = np.load(saved) if saved.exists() else np.zeros((65, 10))
        rates, metrics = {}, {}
        while loop.step < stop:  # a run may go past its plan, which the iterator does not
            step, lr = next(iter(loop), (loop.step + 1, loop.scheduler.lr_at(loop.step + 1)))
            loop.step = step
            rates[step] = [lr]
            loop.observe(loss=update(weights, lr, step, poison))
            if step % 6 == 0:
                metrics[step] = accuracy_of(weights)
                loop.observe(metric=metrics[step])
        np.save(saved, weights)
        loop.save()
        return Trained(rates, metrics, loop)


def a_loop(**options) -> SteeredLoop:
    return SteeredLoop(random_forecaster(seed=2, points=30), 60, **options)


def test_the_loop_runs_to_the_end_and_knows_how_far_it_is():
    loop = a_loop()
    assert len(loop) == 60
    steps = [step for step, _ in loop]
    assert steps == list(range(1, 61))
    assert len(loop) == 0


def test_a_killed_loop_goes_on_after_its_last_save(tmp_path):
    loop = a_loop(state=tmp_path / "run.json")
    for step, _ in loop:
        if step == 20:
            loop.save()
        if step == 25:
            break
    assert next(iter(a_loop(state=tmp_path / "run.json")))[0] == 21


def test_the_length_can_be_changed_on_the_way():
    loop = a_loop()
    steps = []
    for step, _ in loop:
        steps.append(step)
        if step == 30:
            loop.extend(90)
    assert steps[-1] == 90


def test_saving_needs_a_file():
    with pytest.raises(ValueError, match=r"state is None\. Fix: SteeredLoop"):
        a_loop().save()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "is damaged.*Fix: delete it"),
        ("[1]", "is not a Lodestar state"),
        (json.dumps({"format": "lodestar-state", "version": 7}), r"version 7.*Fix: (git -C|install a newer)"),
    ],
)
def test_a_state_file_that_cannot_be_read_is_refused(content, message, tmp_path):
    path = tmp_path / "run.json"
    path.write_text(content)
    with pytest.raises(ValueError, match=message):
        a_loop(state=path)


def test_a_full_disk_leaves_the_last_good_state_and_the_job_goes_on(tmp_path, caplog):
    path = tmp_path / "run.json"
    loop = a_loop(state=path)
    saved = []
    for step, _ in loop:
        with full_disk() if 20 < step <= 40 else contextlib.nullcontext():
            if step % 10 == 0:
                saved.append(loop.save())
        if step == 40:
            assert read_state(path)["step"] == 20
            assert [entry.name for entry in tmp_path.iterdir()] == ["run.json"]
    assert saved == [True, True, False, False, True, True] and read_state(path)["step"] == 60
    saving = [record for record in caplog.records if record.name == "lodestar.adapters"]
    (said,) = [record.getMessage() for record in saving]  # once until there is room again
    assert str(path) in said and "was not saved, training goes on" in said and "Fix: " in said


def test_the_example_runs(tmp_path, monkeypatch, capsys):
    printed = run_example("plain_loop.py", tmp_path, monkeypatch, capsys)
    assert float(re.findall(r"accuracy (\d\.\d+)", printed)[-1]) > 0.8


def test_a_value_observed_without_a_name_is_a_sentence():
    loop = a_loop()
    next(iter(loop))
    with pytest.warns(UserWarning, match=r"observe was given 0.88 by position.*Fix: name it"):
        loop.observe(0.88)
    with pytest.warns(UserWarning, match=r"observe was given accuracy=0.9.*Fix: "):
        loop.observe(accuracy=0.9)
    loop.observe(1, loss=2.0)  # as Scheduler.observe takes it
    assert loop.state_dict()["scheduler"]["history"]["loss"] == [2.0]
