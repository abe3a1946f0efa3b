import pytest
from tests.sweep.here import HereExecutor
from tests.tuning.jobs import HERE

from lodestar._errors import SweepError
from lodestar.runs import RunStore
from lodestar.tuning import Round, tune


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
    first = max(run.final_metric for run in RunStore.open(tmp_path / "runs").read([f"tune0-{n:04d}" for n in range(5)]))
    assert [now.prospect is not None for now in rounds] == [False] * 5 + [True]
    assert result.best is not None and result.best[0] == "tune0-0005" and result.best[1] > first
    assert result.as_dict()["plan"] is None


def test_a_job_that_always_fails_is_a_sentence(tmp_path):
    with pytest.raises(SweepError, match="the last 3 rounds all failed: it raised RuntimeError: the data are gone"):
        tuned(tmp_path / "runs", function="broken", budget=9)


def test_a_budget_below_one_run_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"budget is counted in full runs.*got 0.5. Fix"):
        tuned(tmp_path / "runs", budget=0.5)


def test_it_ends_with_a_plan_a_forecast_and_a_forecaster_file(tmp_path):
    result, _ = tuned(tmp_path / "runs", budget=5, fit={"updates": 20, "members": 1}, final=True)
    assert result.plan is not None and len(result.plan.schedule) == 400
    assert result.forecaster == tmp_path / "runs.lodestar" and (tmp_path / "runs.lodestar").is_file()
    assert result.final is not None and result.final[0] == "tune0-final"
    plain = result.as_dict()["plan"]
    assert plain["lower"] < plain["final"] < plain["upper"]
