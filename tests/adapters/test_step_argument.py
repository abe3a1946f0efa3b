"""What `LodestarLR.step` and `observe` are given by position, and copies of the whole."""

import copy
import math
import pickle
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from lodestar.adapters.torch import LodestarLR
from lodestar.scheduler import Scheduler
from lodestar.testing import random_forecaster

STEPS = 60


class Job:
    """A bowl with a minimum at 0, steered."""

    def __init__(self, **options: Any):
        self.weights = nn.Parameter(torch.ones(2))
        self.optimizer = torch.optim.SGD([self.weights], lr=1e-3)
        forecaster = random_forecaster(seed=2, points=30)
        scheduler = Scheduler(forecaster, STEPS, preset="paper", tolerance=1000.0, **options)
        self.scheduler = LodestarLR(self.optimizer, scheduler)

    def update(self) -> torch.Tensor:
        self.optimizer.zero_grad()
        loss = (self.weights**2).sum()
        loss.backward()
        self.optimizer.step()
        return loss


KINDS = [
    lambda loss: loss,
    lambda loss: loss.item(),
    lambda loss: np.float32(loss.item()),
    lambda loss: np.array(loss.item()),
]


@pytest.mark.parametrize("kind", KINDS, ids=["tensor", "float", "numpy scalar", "0-d array"])
def test_a_loss_by_position_is_a_loss(kind):
    by_name, by_position = Job(), Job()
    for _ in range(STEPS):
        by_name.scheduler.step(loss=kind(by_name.update()))
        by_position.scheduler.step(kind(by_position.update()))
        assert by_position.optimizer.param_groups[0]["lr"] == by_name.optimizer.param_groups[0]["lr"]
    assert by_position.scheduler.global_step == STEPS
    assert by_position.scheduler.scheduler.state_dict() == by_name.scheduler.scheduler.state_dict()


def test_a_loss_by_position_that_is_not_finite_does_not_end_the_job():
    job = Job()
    job.update()
    job.scheduler.step(math.nan)
    assert math.isfinite(job.optimizer.param_groups[0]["lr"])


@pytest.mark.parametrize("count", [12, np.int64(12), torch.tensor(12)], ids=["int", "numpy", "tensor"])
def test_a_whole_number_by_position_is_the_count(count):
    job = Job()
    job.scheduler.step(count)
    assert job.scheduler.global_step == 12


@pytest.mark.parametrize("first", [0, 1])
def test_a_number_of_epochs_is_refused_at_once(first):
    job = Job()
    for _ in range(10):
        job.update()
    with pytest.raises(ValueError, match=rf"step\({first}\).*but 10 are.*not that of epochs\. Fix: call step\(\)"):
        job.scheduler.step(first)
    assert job.scheduler.global_step == 10


@pytest.mark.filterwarnings("ignore:no (loss|metric) was observed:UserWarning")
def test_a_count_of_batches_that_runs_ahead_is_warned_of_once():
    job = Job()
    job.update()
    with pytest.warns(UserWarning, match=r"step\(4\).*was seen to make 1.*batches and samples are no updates"):
        job.scheduler.step(4)
    job.update()
    job.scheduler.step(8)  # said already
    assert sum("was seen to make" in text for text in job.scheduler.warnings) == 1


@pytest.mark.filterwarnings("ignore:no (loss|metric) was observed:UserWarning")
def test_a_broken_number_of_epochs_is_noticed():
    job = Job()
    with pytest.warns(UserWarning, match=r"rise evenly.*as epoch \+ i / batches does.*Fix: step\(loss=loss\)"):
        for batch in range(10):
            job.update()
            job.scheduler.step(3 + batch / 100)


@pytest.mark.parametrize(
    "value", ["0.5", [0.5], torch.ones(2), {"loss": 0.5}, object()], ids=lambda value: type(value).__name__
)
def test_what_is_neither_a_loss_nor_a_count_is_refused(value):
    job = Job()
    job.update()
    with pytest.raises(ValueError, match=r"one number by position.*Fix: step\(loss=loss.mean\(\)\)"):
        job.scheduler.step(value)


def test_a_loss_given_twice_is_refused():
    job = Job()
    with pytest.raises(ValueError, match="and a loss beside it"):
        job.scheduler.step(job.update(), loss=0.5)


def test_stepping_beside_a_copied_optimizer_is_warned_of():
    job = Job()
    job.update()
    job.optimizer = copy.deepcopy(job.optimizer)  # this one is not steered
    with pytest.warns(UserWarning, match=r"no update has been made.*not on a copy"):
        for _ in range(10_001):
            job.scheduler.step()


@pytest.mark.parametrize("values", [(0.88,), (7,), (7, 0.88)])
def test_a_value_observed_without_a_name_is_a_sentence(values):
    job = Job()
    with pytest.warns(UserWarning, match=r"observe was given .*by position.*Fix: name it, as in observe\(loss=...\)"):
        job.scheduler.observe(*values)
    assert any("by position" in text for text in job.scheduler.warnings)
    assert not job.scheduler.scheduler.state_dict()["history"]["at"]


def test_a_step_by_position_beside_a_name_is_the_step():
    job = Job()
    job.scheduler.observe(12, metric=0.5)
    assert job.scheduler.scheduler.state_dict()["history"]["metric_step"] == [12]


def test_a_metric_under_a_name_of_its_own_is_a_sentence_and_the_job_goes_on():
    job = Job()
    with pytest.warns(UserWarning, match=r"observe was given accuracy=0.5, .*Fix: .*observe\(metric=...\)"):
        job.scheduler.observe(accuracy=0.5, loss=2.0)
    history = job.scheduler.scheduler.state_dict()["history"]
    assert history["loss"] == [2.0] and 0.5 not in history["metric"]


@pytest.mark.parametrize("made", ["deepcopy", "pickle"])
def test_a_copy_steers_the_copied_optimizer(made):
    job = Job()
    for _ in range(20):
        job.scheduler.step(job.update())
    other = copy.deepcopy(job) if made == "deepcopy" else pickle.loads(pickle.dumps(job))
    assert other.scheduler.optimizer is other.optimizer is not job.optimizer
    for each in (job, other):
        rates = []
        for _ in range(20, STEPS):
            each.scheduler.step(each.update())
            rates.append(each.optimizer.param_groups[0]["lr"])
        each.rates = rates  # pyright: ignore[reportAttributeAccessIssue]
    assert job.scheduler.global_step == other.scheduler.global_step == STEPS
    assert vars(job)["rates"] == vars(other)["rates"]
    with pytest.raises(ValueError, match="already has a LodestarLR"):
        LodestarLR(other.optimizer, random_forecaster(seed=2, points=30), STEPS)


def test_a_copy_of_a_detached_scheduler_stays_detached():
    job = Job()
    job.scheduler.detach()
    other = copy.deepcopy(job)
    other.update()
    assert other.scheduler.global_step == 0


@pytest.mark.parametrize("damage", [{"lr": math.nan}, {"ratios": [math.inf]}, {"reference": 0.0}, {"lr": "x"}, "lr"])
def test_a_damaged_state_is_refused_before_anything_is_taken_over(damage):
    job = Job()
    for _ in range(20):
        job.scheduler.step(job.update())
    saved = job.scheduler.state_dict()
    saved = {k: v for k, v in saved.items() if k != damage} if isinstance(damage, str) else saved | damage
    fresh = Job()
    before = fresh.scheduler.state_dict()
    with pytest.raises(ValueError, match=r"state is damaged.*Fix: resume from another"):
        fresh.scheduler.load_state_dict(saved)
    assert fresh.scheduler.state_dict() == before
