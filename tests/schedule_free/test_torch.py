"""Schedule-free learning on a torch optimizer: the formula, the Optax form, and how it may be used."""

import re
from typing import Any

import numpy as np
import optax
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.adapters.digits import batch_at, digits
from tests.adapters.run_example import run_example
from torch import nn

from lodestar.adapters.torch import LodestarLR
from lodestar.schedule_free import share
from lodestar.schedule_free.optax import eval_params, schedule_free
from lodestar.schedule_free.torch import ScheduleFree
from lodestar.testing import random_forecaster

torch.set_num_threads(1)
GOAL = np.array([1.0, -2.0, 0.5])


def played(make, steps, **options):
    """Weights in training and on average after each update, on a bowl."""
    one = torch.zeros(3, dtype=torch.float64, requires_grad=True)
    optimizer = make([one])
    weights = ScheduleFree(optimizer, **options)
    trained, average = [], []
    for _ in range(steps):
        optimizer.zero_grad()
        ((one - torch.from_numpy(GOAL)) ** 2).sum().backward()
        optimizer.step()
        trained.append(one.detach().numpy().copy())
        with weights.averaged():
            average.append(one.detach().numpy().copy())
    return np.array(trained), np.array(average)


@settings(max_examples=30, deadline=None)
@given(st.floats(0, 0.95), st.floats(0, 20), st.floats(0.001, 0.2))
def test_it_is_the_formula(interpolation, power, rate):
    trained, average = played(lambda p: torch.optim.SGD(p, lr=rate), 12, interpolation=interpolation, power=power)
    fast = mean = place = np.zeros(3)
    for step in range(1, 13):
        fast = fast - rate * 2 * (place - GOAL)
        mean = mean + share(step, power) * (fast - mean)
        place = (1 - interpolation) * fast + interpolation * mean
        np.testing.assert_allclose(trained[step - 1], place, atol=1e-9)
        np.testing.assert_allclose(average[step - 1], mean, atol=1e-9)


def test_without_interpolation_it_is_plain_descent_and_its_mean():
    trained, average = played(lambda p: torch.optim.SGD(p, lr=0.05), 20, interpolation=0.0, power=0.0)
    one = torch.zeros(3, dtype=torch.float64, requires_grad=True)
    optimizer, seen = torch.optim.SGD([one], lr=0.05), []
    for _ in range(20):
        optimizer.zero_grad()
        ((one - torch.from_numpy(GOAL)) ** 2).sum().backward()
        optimizer.step()
        seen.append(one.detach().numpy().copy())
    np.testing.assert_allclose(trained, seen, atol=1e-12)
    np.testing.assert_allclose(average[-1], np.mean(seen, axis=0), atol=1e-12)


def test_torch_and_optax_agree():
    trained, average = played(lambda p: torch.optim.AdamW(p, lr=0.01, betas=(0.0, 0.99), weight_decay=0.1), 30)
    form = schedule_free(optax.adamw(0.01, b1=0.0, b2=0.99, weight_decay=0.1))
    params: Any = np.zeros(3, np.float32)
    state = form.init(params)
    for step in range(30):
        moves, state = form.update(2 * (params - GOAL.astype(np.float32)), state, params)
        params = optax.apply_updates(params, moves)
        np.testing.assert_allclose(np.asarray(params), trained[step], atol=2e-5)
        np.testing.assert_allclose(np.asarray(eval_params(state)), average[step], atol=2e-5)


def a_job(seed=0):
    torch.manual_seed(seed)
    model = nn.Sequential(nn.Linear(64, 16), nn.ReLU(), nn.Linear(16, 10))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2, betas=(0.0, 0.99))
    return model, optimizer, ScheduleFree(optimizer)


def go_on(model, optimizer, steps):
    for step in steps:
        images, labels = batch_at(step)
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(torch.from_numpy(images)), torch.from_numpy(labels))
        loss.backward()
        optimizer.step()
        yield loss


def flat(model):
    return torch.cat([one.detach().flatten() for one in model.parameters()]).numpy().copy()


def accuracy(model):
    _, _, images, labels = digits()
    with torch.no_grad():
        return float((model(torch.from_numpy(images)).argmax(1) == torch.from_numpy(labels)).float().mean())


def test_a_real_job_ends_better_on_average_at_a_constant_rate():
    model, optimizer, weights = a_job()
    assert [*go_on(model, optimizer, range(300))]
    at_the_end = accuracy(model)
    with weights.averaged():
        assert accuracy(model) >= at_the_end and accuracy(model) > 0.93


def test_a_real_job_is_steered_as_ever():
    model, optimizer, weights = a_job()
    scheduler = LodestarLR(optimizer, random_forecaster(seed=2, points=30), total_steps=60, preset="default")
    steering: Any = scheduler.scheduler
    planned = []
    for loss in go_on(model, optimizer, range(60)):
        planned.append(optimizer.param_groups[0]["lr"])
        scheduler.step(loss=loss)
    assert weights.updates == 60 and steering.decisions and len({*planned}) > 10


def test_looking_changes_nothing():
    one, two = a_job(), a_job()
    for _ in go_on(*one[:2], range(10)):
        with one[2].averaged():
            pass
    assert [*go_on(*two[:2], range(10))]
    np.testing.assert_array_equal(flat(one[0]), flat(two[0]))


def test_a_job_goes_on_to_the_same_weights(tmp_path):
    whole = a_job()
    assert [*go_on(*whole[:2], range(20))]
    first = a_job()
    assert [*go_on(*first[:2], range(9))]
    torch.save([part.state_dict() for part in first], tmp_path / "job.pt")
    again = a_job(seed=5)
    for part, state in zip(again, torch.load(tmp_path / "job.pt", weights_only=True), strict=True):
        part.load_state_dict(state)
    assert [*go_on(*again[:2], range(9, 20))]
    np.testing.assert_array_equal(flat(whole[0]), flat(again[0]))
    with whole[2].averaged(), again[2].averaged():
        np.testing.assert_array_equal(flat(whole[0]), flat(again[0]))


def test_taken_off_the_model_keeps_the_average_and_the_optimizer_is_its_own():
    model, optimizer, weights = a_job()
    assert [*go_on(model, optimizer, range(5))]
    with weights.averaged():
        wanted = flat(model)
    weights.detach()
    np.testing.assert_array_equal(flat(model), wanted)
    assert [*go_on(model, optimizer, range(5, 6))] and weights.updates == 5


def test_misuse_is_told():
    model = nn.Linear(2, 1)
    with pytest.raises(ValueError, match=r"betas=\(0.9, 0.999\).*betas=\(0.0, 0.999\)"):
        ScheduleFree(torch.optim.AdamW(model.parameters()))
    with pytest.raises(ValueError, match=r"momentum=0\.9"):
        ScheduleFree(torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9))
    with pytest.raises(ValueError, match="interpolation must lie"):
        ScheduleFree(torch.optim.SGD(model.parameters(), lr=0.1), interpolation=1.0)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    weights = ScheduleFree(optimizer)
    with pytest.raises(RuntimeError, match="closure"):
        optimizer.step(lambda: 1.0)
    model(torch.ones(2)).sum().backward()
    optimizer.step()
    with weights.averaged():
        with pytest.raises(RuntimeError, match="within averaged"):
            optimizer.step()
        with pytest.raises(RuntimeError, match="twice"), weights.averaged():
            pass
    with pytest.raises(ValueError, match="no schedule-free state"):
        weights.load_state_dict({})
    kept = weights.state_dict()
    other = ScheduleFree(torch.optim.SGD(nn.Linear(3, 1).parameters(), lr=0.1))
    with pytest.raises(ValueError, match="parameter 0"):
        other.load_state_dict(kept)


def test_the_example_runs(tmp_path, monkeypatch, capsys):
    printed = run_example("torch_schedule_free.py", tmp_path, monkeypatch, capsys)
    assert float(re.findall(r"accuracy (\d\.\d+)", printed)[-1]) > 0.8
