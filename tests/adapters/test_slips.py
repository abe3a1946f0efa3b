"""Slips in a torch job that would ruin its run in silence, and the line at its end."""

import logging

import pytest
from tests.scheduler.test_job import fitted

from lodestar.adapters.loop import SteeredLoop
from lodestar.scheduler import Scheduler, read_log
from lodestar.testing import random_forecaster

torch = pytest.importorskip("torch")

from lodestar.adapters.torch import LodestarLR  # noqa: E402

TOTAL = 400
FORECASTER = random_forecaster(seed=5, points=40)


def an_optimizer(lr: float = 1e-3, kind=torch.optim.SGD):
    return kind([torch.nn.Parameter(torch.ones(2))], lr=lr)


def observed(scheduler, step: int) -> None:
    scheduler.observe(loss=1.9 - step / 1000, metric=0.2 + step / 1000)


def test_step_is_never_called_though_the_optimizer_steps():
    optimizer = an_optimizer()
    scheduler = LodestarLR(optimizer, FORECASTER, TOTAL, gate=None)
    with pytest.warns(UserWarning, match=r"made 8 updates, but the scheduler's step\(\) has not been called"):
        for _ in range(TOTAL // 50):
            optimizer.step()
    scheduler.detach()


def test_step_is_called_once_an_epoch():
    optimizer = an_optimizer()
    scheduler = LodestarLR(optimizer, FORECASTER, TOTAL, tolerance=1000.0)
    with pytest.warns(UserWarning, match=r"made 8 updates, but the scheduler's step\(\) was called only 2 times"):
        for update in range(TOTAL // 20):
            optimizer.step()
            if update % 5 == 4:
                scheduler.step()


def test_step_is_called_for_every_batch_of_an_accumulated_update():
    optimizer = an_optimizer()
    scheduler = LodestarLR(optimizer, FORECASTER, TOTAL, tolerance=1000.0)
    words = r"step\(\) was called \d+ times for 8 updates.* if total_steps=400 counts batches"
    with pytest.warns(UserWarning, match=words):
        for batch in range(1, 4 * TOTAL // 50 + 1):
            if batch % 4 == 0:
                optimizer.step()
            if batch >= 4:
                scheduler.step(loss=1.9)


def test_another_scheduler_on_the_same_optimizer():
    optimizer = an_optimizer()
    scheduler = LodestarLR(optimizer, FORECASTER, TOTAL)
    other = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.5)
    with pytest.warns(UserWarning, match=r"the rate applied at update \d is .*: something else sets it as well"):
        for step in range(1, 6):
            optimizer.step()
            scheduler.step(loss=1.9 - step / 1000)
            other.step()


def test_another_scheduler_that_comes_first_each_time_is_said_though_our_rate_holds():
    optimizer = an_optimizer()
    other = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.5)
    scheduler, rates = LodestarLR(optimizer, FORECASTER, TOTAL), []
    with pytest.warns(UserWarning, match=r"before update \d the rate was set to .*: something else sets it as well"):
        for step in range(1, 6):
            rates.append(optimizer.param_groups[0]["lr"])
            optimizer.step()
            other.step()
            scheduler.step(loss=1.9 - step / 1000)
    assert rates == list(scheduler.followed().values()[:5])


def test_a_healthy_job_is_met_in_silence():
    optimizer = an_optimizer()
    scheduler = LodestarLR(optimizer, FORECASTER, TOTAL, tolerance=1000.0)
    for step in range(1, TOTAL + 1):
        optimizer.step()
        observed(scheduler, step)
        scheduler.step()
    assert scheduler.scheduler.warnings == []  # pyright: ignore[reportAttributeAccessIssue]


def test_the_optimizer_is_compared_with_that_of_the_past_runs():
    forecaster = fitted({"optimizers": ["SGD"]})
    LodestarLR(an_optimizer(), forecaster, TOTAL)
    with pytest.warns(UserWarning, match="the job's optimizer is 'AdamW'"):
        LodestarLR(an_optimizer(kind=torch.optim.AdamW), forecaster, TOTAL)


def test_a_ready_scheduler_is_compared_too():
    with pytest.warns(UserWarning, match="the job's optimizer is 'AdamW'"):
        LodestarLR(an_optimizer(kind=torch.optim.AdamW), Scheduler(fitted({"optimizers": ["SGD"]}), TOTAL))


def test_a_closed_gate_goes_no_faster_than_the_user_would_have():
    optimizer = an_optimizer(lr=5e-5)
    scheduler = LodestarLR(optimizer, FORECASTER, TOTAL, max_lr=1.0)
    assert max(scheduler.scheduler.plan().values()) > 1e-3
    rates = []
    closed = pytest.warns(UserWarning, match=r"the gate closed after step 40.*a plain schedule \(.*peak 5e-05\)")
    with (
        pytest.warns(UserWarning, match="loss has been above anything the training runs did for 5% of the run"),
        closed,
    ):
        for _ in range(TOTAL):
            optimizer.step()
            rates.append(optimizer.param_groups[0]["lr"])
            scheduler.step(loss=10.0, metric=0.2)
    assert 0 < max(rates[41:]) <= 5e-5


def test_the_last_metric_brings_the_summary(caplog, tmp_path):
    optimizer = an_optimizer()
    scheduler = LodestarLR(optimizer, FORECASTER, TOTAL, tolerance=1000.0, log=tmp_path / "log.jsonl")
    with caplog.at_level(logging.INFO, logger="lodestar.scheduler"):
        for step in range(1, TOTAL + 1):
            optimizer.step()
            scheduler.step(loss=1.9 - step / 1000)
            if step % 10 == 0:
                scheduler.observe(metric=0.2 + step / 1000)
    said = [record.getMessage() for record in caplog.records if record.levelno == logging.INFO]
    assert said == [scheduler.summary()] == [read_log(tmp_path / "log.jsonl").summary]
    assert "final 0.6, forecast" in said[0]
    assert said[0].endswith("400 of 400 planned updates made")


@pytest.mark.parametrize("forgotten", [False, True])
def test_a_run_that_ends_early_says_so_when_it_is_closed_or_forgotten(forgotten, tmp_path):
    optimizer = an_optimizer()
    scheduler = LodestarLR(optimizer, FORECASTER, TOTAL, tolerance=1000.0, log=tmp_path / "log.jsonl")
    for step in range(1, 31):
        optimizer.step()
        observed(scheduler, step)
        scheduler.step()
    if forgotten:
        del scheduler, optimizer
    else:
        scheduler.close()
    summary = read_log(tmp_path / "log.jsonl").summary
    assert summary is not None
    assert summary.endswith("30 of 400 planned updates made")


def test_a_plain_loop_says_it_at_its_end(caplog):
    loop = SteeredLoop(FORECASTER, TOTAL, tolerance=1000.0)
    with caplog.at_level(logging.INFO, logger="lodestar.scheduler"):
        for step, _ in loop:
            loop.observe(loss=1.9 - step / 1000, metric=0.2 + step / 1000)
    assert [record.getMessage() for record in caplog.records] == [loop.summary()]


def test_what_the_optimizer_tells_and_the_user_states_is_known_of_the_job():
    weights = [torch.nn.Parameter(torch.ones(3, 4))]
    scheduler = LodestarLR(torch.optim.AdamW(weights, weight_decay=0.2), FORECASTER, TOTAL, job={"width": 4})
    expected = {"parameters": 12, "width": 4, "optimizer": "AdamW", "weight_decay": 0.2}
    assert scheduler.scheduler.job.scale == expected  # pyright: ignore[reportAttributeAccessIssue]
