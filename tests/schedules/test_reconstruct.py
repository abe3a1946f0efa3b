"""Rebuilt learning rates equal those of the libraries whose configs they are read from; doubt means no rate."""

import dataclasses

import numpy as np
import pytest
from tests.importers.shelf import Shelf, curves

from lodestar.importers import Choices, import_runs
from lodestar.runs import RunStore
from lodestar.schedules import reconstruct

STEPS = np.arange(1, 101)
FULL = {"lr_scheduler_type": "cosine", "learning_rate": 1e-3, "warmup_steps": 10, "max_steps": 100}


def used_by(make):
    """The rate of each of 100 updates under a scheduler of PyTorch."""
    torch = pytest.importorskip("torch")
    optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=1e-3)
    scheduler = make(optimizer)
    rates = []
    for _ in STEPS:
        rates.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        scheduler.step()
    return rates


@pytest.mark.parametrize(
    ("name", "warmup"),
    [("linear", 0), ("linear", 10), ("cosine", 0), ("cosine", 10), ("constant", 0), ("constant_with_warmup", 10)],
)
def test_rates_equal_those_of_transformers(name, warmup):
    transformers = pytest.importorskip("transformers")
    config = {**FULL, "lr_scheduler_type": f"SchedulerType.{name.upper()}", "warmup_steps": str(warmup)}
    rates, how = reconstruct(config, STEPS, in_epochs=False)
    assert rates is not None
    expected = used_by(lambda optimizer: transformers.get_scheduler(name, optimizer, warmup, 100))
    np.testing.assert_allclose(rates, expected, rtol=1e-9, atol=1e-15)
    assert "peak 0.001" in how


def test_a_ratio_of_warmup_is_rounded_up():
    config = {**FULL, "warmup_steps": 0, "warmup_ratio": 0.033}
    assert "warm-up 4" in reconstruct(config, STEPS, in_epochs=False)[1]


def test_onecycle_equals_pytorchs():
    torch = pytest.importorskip("torch")
    config = {"scheduler": "OneCycleLR", "max_lr": 0.1, "total_steps": 101}
    expected = used_by(lambda optimizer: torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.1, total_steps=101))
    assert reconstruct(config, STEPS, in_epochs=False)[0] == pytest.approx(expected, rel=1e-9)


def test_step_equals_pytorchs():
    torch = pytest.importorskip("torch")
    config = {"scheduler": "StepLR", "lr": 1e-3, "step_size": 30, "gamma": 0.1}
    expected = used_by(lambda optimizer: torch.optim.lr_scheduler.StepLR(optimizer, 30, 0.1))
    assert reconstruct(config, STEPS, in_epochs=False)[0] == pytest.approx(expected, rel=1e-9)


def test_cosine_with_a_floor_equals_pytorchs():
    torch = pytest.importorskip("torch")
    config = {"scheduler": "CosineAnnealingLR", "lr": 1e-3, "T_max": 100, "eta_min": 1e-5}
    expected = used_by(lambda optimizer: torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 100, 1e-5))
    assert reconstruct(config, STEPS, in_epochs=False)[0] == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"lr_scheduler_type": None}, "names no schedule"),
        ({"lr_scheduler_type": "mystery"}, "'mystery' is not one we can rebuild"),
        ({"learning_rate": None}, "no peak learning rate"),
        ({"learning_rate": 1e-3, "lr": 2e-3}, "not clear"),
        ({"max_steps": -1}, "does not state the planned number of steps"),
        ({"max_steps": 50}, "below the last step"),
        ({"warmup_epochs": 3}, "other units"),
        ({"warmup_tokens": 1e6}, "'warmup_tokens' means"),
        ({"lr_scheduler_kwargs": "{'num_cycles': 2}"}, "arguments of its own"),
    ],
)
def test_doubt_means_no_rate_and_says_why(change, why):
    config = {key: value for key, value in {**FULL, **change}.items() if value is not None}
    rates, sentence = reconstruct(config, STEPS, in_epochs=False)
    assert rates is None and why in sentence


def test_a_rebuilt_rate_is_marked_and_can_be_refused(tmp_path):
    shelf = Shelf()
    shelf.put("a", curves(100, lr=None), config=FULL)
    store = RunStore(tmp_path / "store")
    import_runs(shelf, store)
    run = store.read()[0]
    assert run.facts.extra["lr_rebuilt"] is True and len(run.lr) == 100
    assert any("rebuilt from the config (cosine, peak 0.001, warm-up 10, 100 steps)" in note for note in run.notes)
    import_runs(shelf, store, Choices(rebuild_lr=False))
    assert len(store.read()[0].lr) == 0


def test_a_rate_that_cannot_be_rebuilt_says_why(tmp_path):
    shelf = Shelf()
    shelf.put("a", curves(100, lr=None), config={"learning_rate": 0.1})
    report = import_runs(shelf, RunStore(tmp_path / "store"))
    assert any("not rebuilt: the config names no schedule" in note for _, note in report.notes)


def test_a_logged_rate_is_never_replaced(tmp_path):
    shelf = Shelf()
    shelf.put("a", curves(100), config=FULL)
    store = RunStore(tmp_path / "store")
    import_runs(shelf, store)
    assert set(store.read()[0].lr.values) == {0.1} and dataclasses.asdict(store.read()[0])["notes"] == ()
