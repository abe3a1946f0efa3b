"""The gate that is on by default: open for jobs like the past runs, closed where the forecaster does not fit."""

import json
from pathlib import Path

import numpy as np
import pytest
from tests.curves import toy_run, toy_runs
from tests.fitted_once import fitted_once

from lodestar import fit
from lodestar.forecaster import Forecaster
from lodestar.scheduler import MILD, PAPER, Outcome, Scheduler
from lodestar.testing import random_forecaster

TOTAL = 600
NEW = [("cosine", 2e-3, 10), ("constant", 1e-3, 11), ("onecycle", 3e-3, 12), ("step", 1.5e-3, 13), ("cosine", 1e-3, 14)]


@pytest.fixture(scope="module")
def forecaster() -> Forecaster:
    small = {"updates": 250, "check_every": 250, "targets": 20, "tokens": 10, "steps": 4, "response": False}
    runs = toy_runs(seeds=2, rates=(1e-3, 3e-3))
    return fitted_once(Path(__file__), "forecaster", lambda: fit(runs, seed=0, members=1, points=60, **small))


def replayed(forecaster: Forecaster, run, loss=lambda x: x, metric=lambda x: x, until: int = TOTAL // 3) -> Scheduler:
    """A job that does what a run did, in shadow mode: what is observed then has the rates that belong to it."""
    one = Scheduler(
        forecaster, TOTAL, mode="shadow", base=lambda step: float(np.interp(step, run.lr.steps, run.lr.values))
    )
    losses, metrics = (dict(zip(s.steps.tolist(), s.values, strict=True)) for s in (run.loss, run.metric))
    for step in range(1, until + 1):
        one.lr_at(step)
        if step in losses:
            one.observe(step, loss=loss(losses[step]), metric=metric(metrics[step]))
    return one


def would_close(one: Scheduler) -> bool:
    return any("the gate would close" in text for text in one.warnings)


@pytest.mark.parametrize(("shape", "peak", "seed"), NEW)
def test_it_stays_open_for_new_runs_of_the_same_job(forecaster, shape, peak, seed):
    assert not would_close(replayed(forecaster, toy_run("new", shape, peak, seed)))


OTHER = {
    "a language model": {"loss": lambda x: 4 + 3 * x},
    "a summed loss": {"loss": lambda x: 64 * x},
    "per cent": {"metric": lambda x: 100 * x},
    "a loss of another scale": {"loss": lambda x: 0.01 * x},
}


@pytest.mark.parametrize("other", OTHER)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_it_closes_for_another_job(forecaster, other):
    for shape, peak, seed in NEW[:3]:
        assert would_close(replayed(forecaster, toy_run("new", shape, peak, seed), **OTHER[other], until=TOTAL // 4))


def steered(forecaster: Forecaster, **options) -> Scheduler:
    """A job that no past run resembles."""
    one = Scheduler(forecaster, TOTAL, **options)
    for step in range(1, TOTAL + 1):
        one.lr_at(step)
        one.observe(step, loss=9.0 - step / TOTAL, metric=0.05 if step % 10 == 0 else None)
    return one


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_closed_it_follows_a_plain_schedule_and_says_so_once(forecaster):
    one = steered(forecaster)
    gated = [decision for decision in one.decisions if decision.outcome is Outcome.GATED]
    assert [decision.step for decision in gated] == [60]
    assert one.decisions[-1] is gated[0]
    assert "a plain schedule (" in gated[0].note
    assert sum("the gate closed after step 60" in text for text in one.warnings) == 1
    rates = one.followed().values()
    assert max(rates[60:]) <= max(steered(forecaster, gate=None, hysteresis=1e9, spike=None).followed().values())
    assert np.all(np.abs(np.diff(np.diff(rates[120:]))) < 1e-4)  # a formula, not a forecast


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_base_is_what_it_falls_to(forecaster):
    one = steered(forecaster, base=lambda step: 1e-3 * (1 - step / 1000))
    assert one.followed().values()[60:].tolist() == [1e-3 * (1 - step / 1000) for step in range(61, TOTAL + 1)]


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_none_turns_it_off(forecaster):
    assert Outcome.GATED not in {decision.outcome for decision in steered(forecaster, gate=None).decisions}


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_closed_it_resumes_and_extends_with_the_rates_it_gave(forecaster):
    one, half = Scheduler(forecaster, TOTAL), Scheduler(forecaster, TOTAL)
    for step in range(1, 301):
        for job in (one, half):
            job.lr_at(step)
            job.observe(step, loss=9.0)
    again = Scheduler(forecaster, TOTAL)
    again.load_state_dict(json.loads(json.dumps(half.state_dict(), allow_nan=False)))
    assert again.plan().values().tolist() == one.plan().values().tolist()
    before = one.followed().values().tolist()
    one.extend(2 * TOTAL)
    assert one.followed().values().tolist() == before
    assert one.lr_at(TOTAL) > again.lr_at(TOTAL)  # the rest is stretched


def test_the_paper_s_algorithm_has_none():
    forecaster = random_forecaster(seed=5, points=40)
    assert Scheduler(forecaster, TOTAL, preset="paper").gate is None
    assert Scheduler(forecaster, TOTAL, settings=PAPER).gate is None
    assert Scheduler(forecaster, TOTAL, preset="paper", gate=MILD).gate is None
    assert Scheduler(forecaster, TOTAL).gate is MILD
