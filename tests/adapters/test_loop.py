import json
import re
import resource

import numpy as np
import pytest
from tests.adapters.digits import batch_at, digits
from tests.adapters.run_example import run_example

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
        return Trained(rates, metrics)


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


def test_a_state_that_cannot_be_written_leaves_the_old_one(tmp_path):
    path = tmp_path / "run.json"
    loop = a_loop(state=path)
    next(iter(loop))
    loop.save()
    before = path.read_text()
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, limits[1]))  # as good as a full disk
    try:
        with pytest.raises(OSError, match="File too large"):
            loop.save()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert path.read_text() == before
    assert [entry.name for entry in tmp_path.iterdir()] == ["run.json"]


def test_the_example_runs(tmp_path, monkeypatch, capsys):
    printed = run_example("plain_loop.py", tmp_path, monkeypatch, capsys)
    assert float(re.findall(r"accuracy (\d\.\d+)", printed)[-1]) > 0.8
