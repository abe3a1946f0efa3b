"""Files that release one wrote (`make.py` says how) are read, and go on to the same numbers."""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.release_one.make import SAVED_AT, SEED, TOTAL, drive, loss_at, metric_at

import lodestar
from lodestar.adapters.loop import SteeredLoop
from lodestar.runs import RunStore
from lodestar.scheduler import Scheduler, read_log
from lodestar.schedules import Schedule
from lodestar.sweep import Started, run_sweep

FILES = Path(__file__).with_name("files")
AS_THEN: dict[str, Any] = {"hysteresis": 0.15, "least_near": None, "rescale_by": "run"}


def kept(name: str):
    return json.loads((FILES / name).read_text())


@pytest.fixture
def files(tmp_path) -> Path:
    """A copy, which may be written to."""
    return Path(shutil.copytree(FILES, tmp_path / "files"))


def test_a_forecaster_forecasts_the_same():
    forecaster = lodestar.load(FILES / "forecaster.lodestar")
    forecasts = forecaster.decode(forecaster.encode(forecaster.references.context(0, 0, 6)))
    np.testing.assert_allclose(forecasts.metric, kept("forecast.json")["metric"], rtol=1e-6)
    np.testing.assert_allclose(forecasts.lr, kept("forecast.json")["lr"], rtol=1e-6)


def test_a_store_is_read_curve_by_curve(files):
    runs = {run.name: run for run in RunStore.open(files / "store").iter()}
    assert sorted(runs) == sorted(one["name"] for one in kept("runs.json"))
    for one in kept("runs.json"):
        run = runs[one["name"]]
        assert (str(run.direction), str(run.status), run.metric_name) == (
            one["direction"],
            one["status"],
            one["metric_name"],
        )
        assert [str(note) for note in run.notes] == one["notes"]
        assert run.facts.schedule == one["schedule"]
        for channel in ("loss", "metric", "lr"):
            steps, values = one[channel]
            np.testing.assert_array_equal(getattr(run, channel).steps, steps)
            np.testing.assert_array_equal(getattr(run, channel).values, [float(value) for value in values])


def test_a_store_takes_new_runs_and_is_merged(files):
    store = RunStore.open(files / "store")
    before = store.read()
    store.add(before[0].replace(name="new"))
    store.compact()
    assert sorted(run.name for run in RunStore.open(files / "store").iter()) == sorted(
        [*(run.name for run in before), "new"]
    )


def test_a_scheduler_goes_on_bit_for_bit():
    scheduler = Scheduler(FILES / "forecaster.lodestar", TOTAL, seed=SEED)
    scheduler.load_state_dict(kept("state.json"))
    assert drive(scheduler, SAVED_AT + 1, TOTAL) == kept("rates.json")["after"]
    assert [one.step for one in scheduler.decisions] == [step for step, _ in kept("outcomes.json")]


def test_a_new_scheduler_decides_as_release_one_did():
    """With its settings: the same job from its first step, the same rates."""
    scheduler = Scheduler(FILES / "forecaster.lodestar", TOTAL, seed=SEED, **AS_THEN)
    rates = kept("rates.json")
    np.testing.assert_allclose(drive(scheduler, 1, TOTAL), [*rates["before"], *rates["after"]], rtol=1e-9)


def test_a_decision_log_is_read():
    log = read_log(FILES / "decisions.jsonl")
    assert [one.step for one in log.decisions] == [step for step, _ in kept("outcomes.json")]
    fresh = Scheduler(FILES / "forecaster.lodestar", TOTAL, seed=SEED, **AS_THEN)
    drive(fresh, 1, TOTAL)
    assert [one.outcome for one in log.decisions] == [one.outcome for one in fresh.decisions]


def test_a_frozen_plan_is_read():
    plan = Schedule.from_json(FILES / "plan.json")
    rates = kept("rates.json")
    np.testing.assert_allclose(plan.values(), [*rates["before"], *rates["after"]], rtol=1e-6)


def test_a_plain_loop_goes_on(files):
    loop = SteeredLoop(files / "forecaster.lodestar", TOTAL, seed=SEED, state=files / "loop.json")
    rates = []
    for step, lr in loop:
        rates.append(lr)
        loop.observe(loss=loss_at(step), metric=metric_at(step))
    assert rates == kept("rates.json")["after"]


def test_a_torch_scheduler_goes_on():
    torch = pytest.importorskip("torch")
    from lodestar.adapters.torch import LodestarLR

    optimizer = torch.optim.SGD(torch.nn.Linear(2, 1).parameters(), lr=0.1)
    scheduler = LodestarLR(optimizer, FILES / "forecaster.lodestar", TOTAL, seed=SEED)
    scheduler.load_state_dict(kept("torch.json"))
    rates = []
    for step in range(SAVED_AT + 1, TOTAL + 1):
        optimizer.step()
        rates.append(optimizer.param_groups[0]["lr"])
        scheduler.step(loss=loss_at(step), metric=metric_at(step))
    assert rates == kept("rates.json")["after"]


def test_a_sweep_knows_the_trials_it_made(files):
    before = {run.name: run.loss.values.tolist() for run in RunStore.open(files / "sweep").iter()}
    started: list[str] = []
    run_sweep(
        "tests.release_one.job:train",
        out=files / "sweep",
        seed=0,
        runs=5,
        total_steps=40,
        peak=(1e-3, 1e-1),
        jobs=1,
        on_event=lambda event, _: started.append(event.trial.name) if isinstance(event, Started) else None,
    )
    after = {run.name: run.loss.values.tolist() for run in RunStore.open(files / "sweep").iter()}
    assert len(before) == 4
    assert started == sorted(after.keys() - before.keys())  # one new trial, none made again
    assert len(started) == 1
    assert {name: after[name] for name in before} == before
