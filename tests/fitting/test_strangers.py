"""Quality of a forecaster where tasks are mixed, and where runs had logged nothing yet."""

import dataclasses

import numpy as np
import pytest
from tests.curves import toy_run, toy_runs

from lodestar._errors import ForecasterError
from lodestar.cli.fit import _show, _show_mixed
from lodestar.fitting.calibration import HeldOut, measure_intervals, measure_quality
from lodestar.fitting.dataset import prepare
from lodestar.fitting.folds import Fold
from lodestar.fitting.quality import spearman, spearman_within, std_within
from lodestar.forecaster.intervals import SEEN
from lodestar.runs import Direction, Facts, RunSet
from lodestar.runs.few import FEW_RUNS, caveat
from lodestar.testing import random_forecaster


def late(name, begins=200):
    """A run of which nothing was logged at first."""
    run = toy_run(name)
    after = {key: getattr(run, key) for key in ("loss", "metric", "lr")}
    return run.replace(
        **{key: type(s)(s.steps[s.steps > begins], s.values[s.steps > begins]) for key, s in after.items()}
    )


def test_ranks_are_compared_within_a_task_by_hand():
    """Four runs in order, three in reverse; the second task is far above the first."""
    made = np.array([1.0, 2, 3, 4, 12, 11, 10])
    true = np.array([1.0, 2, 3, 4, 10, 11, 12])
    assert spearman(made, true) > 0.8
    found = spearman_within(made, true, ["a"] * 4 + ["b"] * 3)
    assert found == (pytest.approx((3 * 1.0 + 2 * -1.0) / 5), 7)


def test_a_task_of_two_runs_says_nothing_about_ranks():
    assert spearman_within(np.arange(6.0), np.arange(6.0), ["a"] * 4 + ["b"] * 2) == (1.0, 4)
    assert np.isnan(spearman_within(np.arange(4.0), np.arange(4.0), list("aabb"))[0])


def test_the_spread_of_finals_is_that_within_a_task():
    assert std_within(np.array([1.0, 3.0, 101.0, 103.0]), list("aabb")) == pytest.approx(1.0)


def held(data, workloads, forecast):
    shape = data.values.shape
    return HeldOut(forecast, data.values, data.mask, np.zeros(shape), data.finals, workloads)


def test_quality_of_a_mixed_fit_shows_the_task_it_cannot_rank():
    """The forecast tells the tasks apart, and puts the runs of one of them in the wrong order."""
    hard = [dataclasses.replace(run, name=f"hard {run.name}", facts=Facts(task="hard")) for run in toy_runs()]
    data = prepare([*toy_runs(), *hard])
    values = data.values.copy()
    values[16:, :, 1] -= 20.0
    data = dataclasses.replace(data, values=values)
    forecast = values.copy()
    forecast[16:, :, 1] = -20.0 - (values[16:, :, 1] + 20.0)
    quality = measure_quality(data, *[held(data, data.workloads, forecast)] * 2)
    assert quality["workloads"]["toy"]["spearman_05"] == pytest.approx(1.0)
    assert quality["workloads"]["hard"]["spearman_05"] == pytest.approx(-1.0)
    assert quality["spearman_05"] == pytest.approx(0.0)
    assert quality["spearman_runs_05"] == 32


def test_runs_that_had_logged_nothing_are_no_part_of_the_quality():
    data = prepare([*toy_runs(), *(late(f"late-{i}") for i in range(3))])
    forecaster = dataclasses.replace(random_forecaster(seed=0, points=60), recipe=data.recipe)
    folds = [Fold(np.arange(12), np.arange(12, 19))]
    early, half = (HeldOut.of(forecaster, data, folds, seen) for seen in (0.05, 0.5))
    quality = measure_quality(data, early, half)
    assert (quality["runs_05"], quality["runs_50"], quality["held_out_runs"]) == (4, 7, 7)


def test_where_no_run_had_begun_the_intervals_are_wide_and_the_rest_is_measured():
    data = prepare([late(f"late-{i}") for i in range(6)])
    forecaster = dataclasses.replace(random_forecaster(seed=0, points=60), recipe=data.recipe)
    parts = [HeldOut.of(forecaster, data, [Fold(np.arange(0), np.arange(6))], seen) for seen in SEEN]
    assert len(parts[0].truth) == 0
    intervals = measure_intervals(parts, Direction.MAX)
    assert np.isfinite(intervals.low).all() and intervals.low[0, 0, -1, 1] == -2.0
    assert "spearman_05" not in measure_quality(data, parts[1], parts[5])


def test_there_is_no_forecast_from_nothing():
    forecaster = random_forecaster(seed=0, points=60)
    with pytest.raises(ForecasterError, match=r"first 5.0% of the run, so .*\(the first stands at 35.0% of the run\)"):
        forecaster.context_of(late("a"), 0.05)
    assert forecaster.context_of(late("a"), 0.5).stop == 30


def test_a_fit_shows_counts_and_what_they_do_not_carry(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    tasks = {"toy": {"runs_50": 12, "spearman_50": 0.9}, "hard": {"runs_50": 12, "spearman_50": -0.76}}
    quality = {"runs_05": 2, "runs_50": 24, "spearman_runs_05": 2, "spearman_runs_50": 24, "spearman_50": 0.07}
    facts = {"runs": 40, "seconds": 1.0, "updates": [10], "members": 1}
    made = dataclasses.replace(random_forecaster(seed=0), facts=facts, quality=quality | {"workloads": tasks})
    (tmp_path / "f.lodestar").write_bytes(b"x")
    _show(made, tmp_path / "f.lodestar")
    told = capsys.readouterr()
    lines = {line.split()[0]: line.split() for line in told.out.splitlines() if line.strip()}
    assert lines["50"][-2:] == ["24", "0.07"] and lines["5"][-2:] == ["2", "-"]
    assert lines["hard"] == ["hard", "12", "-0.76"]
    assert "the rank correlation with 5 % of each run seen rests on 2 runs" in told.err
    assert "it cannot rank the runs of 'hard' (rank correlation -0.76 with half of each seen, from 12 runs)" in told.err


def test_a_fit_says_what_is_mixed(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    sized = [
        run.replace(name=f"{run.name} big", facts=Facts("toy", extra={"params": 7})) for run in toy_runs().runs[:3]
    ]
    _show_mixed(prepare(RunSet([*toy_runs(), *sized])))
    assert "the runs mix 2 tasks or sizes (toy: 16 runs, toy params=7: 3 runs)" in capsys.readouterr().err
    _show_mixed(prepare(toy_runs()))
    assert capsys.readouterr().err == ""


def test_few_runs_have_a_caveat_and_enough_have_none():
    assert caveat(FEW_RUNS, "it") is None
    assert "rests on 1 run: below 10" in str(caveat(1, "it"))
