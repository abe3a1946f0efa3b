import numpy as np
import pytest
from tests.responding import drawn, run_of
from tests.sweep.here import HereExecutor
from tests.tuning.jobs import HERE

from lodestar._errors import SweepError
from lodestar.runs import RunStore, Series
from lodestar.schedules import Schedule
from lodestar.sweep import QuasiRandom
from lodestar.tuning import Round, tune
from lodestar.tuning.choose import candidates, numbers_at
from lodestar.tuning.tune import Ended, _edge


def tuned(out, *, function: str = "train", **options):
    rounds: list[Round] = []
    given = {"executor": HereExecutor(), "peak": (3e-4, 1e-2), "prune": False, "fit": False, "seed": 0, **options}
    return tune(f"{HERE}:{function}", out=out, on_round=rounds.append, **given), rounds


def test_interrupted_it_goes_on_where_it_was(tmp_path):
    with pytest.raises(KeyboardInterrupt):
        tuned(tmp_path / "runs", budget=4, executor=HereExecutor(most=2))
    executor = HereExecutor()
    result, rounds = tuned(tmp_path / "runs", budget=4, executor=executor)
    assert executor.made == ["tune0-0002", "tune0-0003"]
    assert rounds[0].spent == 2 and result.spent == 4 and not result.ended_early


def test_it_proposes_from_what_it_has_learned_and_gets_better(tmp_path):
    result, rounds = tuned(tmp_path / "runs", budget=6)
    first = max(run.final_metric for run in RunStore.open(tmp_path / "runs").read([f"tune0-{n:04d}" for n in range(3)]))
    assert [now.prospect is not None for now in rounds] == [False] * 3 + [True] * 3
    assert result.best is not None and result.best[0] >= "tune0-0003" and result.best[1] > first
    assert result.as_dict()["plan"] is None


def test_a_job_that_always_fails_is_a_sentence(tmp_path):
    with pytest.raises(SweepError, match="the last 3 rounds all failed: it raised RuntimeError: the data are gone"):
        tuned(tmp_path / "runs", function="broken", budget=9)


def test_where_weights_are_averaged_rates_may_stay_high(tmp_path):
    result, _ = tuned(tmp_path / "runs", budget=4, space="averaged")
    floors = [float(run.facts.extra["floor"]) for run in RunStore.open(tmp_path / "runs").read()]
    assert result.choice is not None and max(floors) > 0.1
    with pytest.raises(ValueError, match="space must be one of sobol, averaged, got"):
        tuned(tmp_path / "other", budget=4, space="paper")


def test_no_trials_at_all_are_refused(tmp_path):
    with pytest.raises(ValueError, match=r"runs must be at least 1, got 0. Fix"):
        tuned(tmp_path / "runs", runs=0)


def test_a_budget_below_one_run_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"budget is counted in full runs.*got 0.5. Fix"):
        tuned(tmp_path / "runs", budget=0.5)


def test_it_ends_with_a_plan_a_forecast_a_forecaster_file_and_a_steered_run(tmp_path):
    given = {"function": "as_it_goes", "fit": {"updates": 20, "members": 1}, "final": True}
    result, _ = tuned(tmp_path / "runs", budget=5, **given)
    assert result.plan is not None and len(result.plan.schedule) == 400
    assert result.forecaster == tmp_path / "runs.lodestar" and (tmp_path / "runs.lodestar").is_file()
    assert result.final is not None and result.final[0] == "tune0-final-5"
    assert result.steering.startswith("was steered: ")
    last = RunStore.open(tmp_path / "runs").read(["tune0-final-5"])[0]
    assert result.steering == last.facts.extra["steering"] and "400 of 400 planned updates" in result.steering
    assert last.facts.extra["done"] == pytest.approx(np.sum(last.lr.values) / 100 * 1e3, rel=0.05)  # what was used
    assert result.choice is not None and result.schedule == result.choice.schedule
    assert result.schedule_file == tmp_path / "runs.plan.json"
    np.testing.assert_allclose(Schedule.from_json(tmp_path / "runs.plan.json").rates, result.choice.schedule.rates)
    early = last.lr.steps < 20  # before its first decision it follows what was found
    np.testing.assert_allclose(last.lr.values[early], result.choice.schedule.rates[last.lr.steps[early] - 1], rtol=0.1)
    plain = result.as_dict()["plan"]
    assert plain["lower"] < plain["final"] < plain["upper"]


def test_it_ends_early_when_nothing_is_to_be_gained(tmp_path):
    """After 24 runs that ended the same, whatever their rate; but for luck."""
    store = RunStore(tmp_path / "runs")
    with pytest.raises(KeyboardInterrupt):
        tuned(store, function="settled", budget=40, executor=HereExecutor(most=1))
    past = [run_of(drawn(seed), seed, name=f"tune0-{seed:04d}") for seed in range(1, 25)]
    one = store.read(["tune0-0000"])[0]
    store.add_many(
        run.replace(
            loss=Series(one.loss.steps, one.loss.values + luck),
            metric=Series(one.metric.steps, one.metric.values + luck),
        )
        for run, luck in zip(past, np.random.default_rng(0).normal(0, 0.03, 24), strict=True)
    )
    result, rounds = tuned(store, function="settled", budget=40)
    assert result.ended_early and result.spent <= 34
    assert [now.prospect is not None and now.prospect.worth for now in rounds[-2:]] == [False, False]
    assert tuned(store, function="settled", budget=result.spent + 3, spend_all=True)[0].spent == result.spent + 3


@pytest.mark.parametrize(
    ("peak", "said"),
    [((3e-4, 1e-1), ""), ((1e-4, 1e-3), "at the upper end of the rates that were tried, 0.0001 to 0.001")],
)
def test_a_schedule_at_the_edge_of_the_rates_tried_is_said(tmp_path, peak, said):
    result, _ = tuned(tmp_path / "runs", budget=12, peak=peak)
    assert bool(result.edge) == bool(said) and said in result.edge


def test_all_candidates_at_the_edge_of_the_usual_span_are_said():
    """The mean of the 24 highest of the candidates does not reach the very end."""
    points, rates = candidates(QuasiRandom(), 0)
    highest = np.argsort(-rates.max(axis=1))[:24]
    peak = numbers_at(QuasiRandom(), points[highest].mean(axis=0))["peak"]
    assert "upper end" in _edge(peak, QuasiRandom().peak) and not _edge(1e-2, QuasiRandom().peak)


def test_without_a_forecaster_the_final_run_follows_what_was_found(tmp_path):
    result, _ = tuned(tmp_path / "runs", budget=4, final=True)
    assert result.plan is None and result.choice is not None and result.final is not None
    assert result.steering == "followed the plan: no forecaster was fitted"
    last = RunStore.open(tmp_path / "runs").read([result.final[0]])[0]
    np.testing.assert_allclose(last.lr.values, result.choice.schedule.rates[last.lr.steps - 1], rtol=1e-6)


def test_sizes_get_the_same_work_and_a_small_run_counts_for_its_share(tmp_path):
    given = {"function": "sized", "sizes": (16, 64), "fit": {"updates": 20, "members": 1}, "final": True}
    result, rounds = tuned(tmp_path / "runs", budget=3, **given)
    runs = RunStore.open(tmp_path / "runs").read([f"tune0-{number:04d}" for number in range(result.runs)])
    sizes = [run.facts.extra["size"] for run in runs]
    assert sizes == [16, 64, 16, 16, 16, 16, 64] and result.spent == 5 / 4 + 2
    assert result.best is not None and result.best[1] == max(runs[1].final_metric, runs[6].final_metric)
    assert [now.prospect is not None for now in rounds] == [False] * 5 + [True] * 2
    assert result.final is not None and result.plan is not None
    last = RunStore.open(tmp_path / "runs").read([result.final[0]])[0]
    assert last.facts.extra["size"] == 64 and result.steering.startswith("followed the plan: the function reads")


def test_other_sizes_are_another_tuning(tmp_path):
    tuned(tmp_path / "runs", function="sized", sizes=(16, 64), budget=1)
    with pytest.raises(SweepError, match=r"sizes"):
        tuned(tmp_path / "runs", function="sized", sizes=(16, 32), budget=4)


def test_a_job_beyond_the_sizes_is_planned_for_and_never_run(tmp_path):
    given = {"function": "sized", "sizes": (8, 16, 32), "size": 128, "peak": (3e-4, 1e-1)}
    with pytest.raises(KeyboardInterrupt):
        tuned(tmp_path / "runs", budget=2, executor=HereExecutor(most=7), **given)
    executor = HereExecutor()
    result, rounds = tuned(tmp_path / "runs", budget=2, runs=10, executor=executor, **given)
    assert executor.made == ["tune0-0007", "tune0-0008", "tune0-0009"] and result.runs == 10
    sizes = [run.facts.extra["size"] for run in RunStore.open(tmp_path / "runs").read()]
    assert sizes[:6] == [8, 16, 32, 8, 16, 32] and set(sizes) <= {8, 16, 32}
    assert all(now.prospect is not None and now.best is None for now in rounds)
    assert result.choice is not None and result.schedule_file == tmp_path / "runs.plan.json"
    assert result.best is None and result.ended is Ended.RUNS
    other, _ = tuned(tmp_path / "runs", budget=1, **{**given, "size": 48})  # from the same runs
    assert other.runs == 10 and other.choice is not None and other.choice.schedule != result.choice.schedule


def test_a_plan_beyond_the_sizes_has_a_forecast_and_the_job_is_run_once_if_asked_for(tmp_path):
    given = {"function": "sized", "sizes": (8, 16, 32), "size": 64, "runs": 9, "budget": 9}
    result, _ = tuned(tmp_path / "runs", fit={"updates": 20, "members": 1}, final=True, **given)
    assert result.plan is not None and result.plan.schedule == result.schedule and result.note == ""
    assert result.final is not None
    assert RunStore.open(tmp_path / "runs").read([result.final[0]])[0].facts.extra["size"] == 64
