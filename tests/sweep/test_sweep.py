"""The sweep: what is stored, what a second call makes, what is refused. Trials run in this process."""

import json

import pytest
from tests.sweep.here import HereExecutor
from tests.sweep.jobs import named

from lodestar._errors import StoreError, SweepError
from lodestar.runs import Direction, Run, RunStore, Series, Status
from lodestar.sweep import Done, Failed, Job, Started, Trial, paper_grid, run_sweep, run_trials
from lodestar.sweep.executors.local_worker import WORKER_MARK
from lodestar.sweep.journal import SweepJournal, folder_beside, held
from lodestar.sweep.keeper import Keeper


@pytest.fixture
def sweep(tmp_path):
    """Run a sweep of ten trials into one store; returns the result and the trials that were made."""

    def call(function="good", most=None, **named_options):
        executor = HereExecutor(most)
        options = {"runs": 10, "total_steps": 20, "seed": 0, "out": tmp_path / "runs", "executor": executor}
        try:
            result = run_sweep(named(function), **{**options, **named_options})
        except KeyboardInterrupt:
            result = None
        return result, executor.made

    return call


def test_a_sweep_fills_the_store_and_tells_the_best(sweep, tmp_path):
    result, made = sweep()
    runs = RunStore(tmp_path / "runs").read()
    assert len(runs) == len(made) == result.finished == 10
    assert result.best == ("sobol0-0009", 29.0)
    assert result.as_dict()["best"] == {"run": "sobol0-0009", "metric": 29.0}


def test_a_stopped_sweep_goes_on_with_what_is_missing(sweep):
    _, first = sweep(most=4)
    result, second = sweep()
    assert len(first) == 4 and len(second) == 6
    assert not set(first) & set(second)
    assert (result.before, result.finished) == (4, 6)
    assert result.best == ("sobol0-0009", 29.0)
    assert sweep()[1] == []


def test_more_runs_can_be_asked_for_later(sweep):
    sweep(runs=4)
    assert len(sweep(runs=7)[1]) == 3


def test_failed_trials_run_again_only_if_asked(tmp_path):
    cure = tmp_path / "cure"
    trials = [Trial(f"t{n}", n, 1, None, {"cure": str(cure)}) for n in range(3)]
    job, out = Job(named("fails_once")), tmp_path / "runs"
    assert [f.reason for f in run_trials(job, trials, out, HereExecutor()).failed] == [
        "it raised RuntimeError: not yet"
    ] * 3
    cure.touch()
    again = run_trials(job, trials, out, HereExecutor())
    assert again.failed_before == 3 and again.finished == 0 and not again.failed
    assert run_trials(job, trials, out, HereExecutor(), retry_failed=True).finished == 3
    last = run_trials(job, trials, out, HereExecutor())
    assert last.before == 3 and last.failed_before == 0


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"total_steps": 30}, "total_steps was 20 and is now 30"),
        ({"seed": 1}, "seed was 0 and is now 1"),
        ({"space": "paper"}, 'space was {"choices|space was'),
        ({"function": "slow"}, "function was"),
    ],
)
def test_another_sweep_into_the_same_store_is_refused_with_what_differs(sweep, change, told):
    sweep(runs=2)
    with pytest.raises(SweepError, match=told) as caught:
        sweep(**change)
    assert "--add" in str(caught.value)


def test_two_sweeps_share_a_store_if_asked(sweep, tmp_path):
    sweep(runs=2)
    sweep(runs=3, space="paper", add=True)
    assert len(RunStore(tmp_path / "runs")) == 5
    assert sweep(runs=2)[1] == []
    assert sweep(runs=3, space="paper")[1] == []


def test_a_run_of_that_name_that_is_another_one_is_refused(sweep, tmp_path):
    curve = Series([1], [1.0])
    RunStore(tmp_path / "runs").add(Run("sobol0-0003", curve, curve, curve, Direction.MAX))
    with pytest.raises(SweepError, match="another run called 'sobol0-0003'"):
        sweep()


def test_events_come_in_order_with_the_standing(sweep):
    seen, begun = [], []
    sweep(runs=3, on_start=begun.append, on_event=lambda event, progress: seen.append((type(event), progress.left)))
    assert seen == [(Started, 3), (Done, 2), (Started, 2), (Done, 1), (Started, 1), (Done, 0)]
    assert begun[0].total == 3


def test_a_grid_and_diverged_trials_are_kept(tmp_path):
    trials = [Trial(t.name, t.seed, 20, t.schedule, {"what": "diverge"}) for t in paper_grid().trials(3, 20, seed=0)]
    result = run_trials(Job(named("odd")), trials, tmp_path / "runs", HereExecutor())
    assert result.diverged == 3
    assert {row.status for row in RunStore(tmp_path / "runs").list()} == {Status.DIVERGED}


def test_many_small_files_are_merged_at_the_end(sweep, tmp_path):
    sweep(runs=25)
    assert len(list((tmp_path / "runs").glob("runs-*"))) == 1


def test_only_one_sweep_at_a_time(sweep, tmp_path):
    with (
        held(folder_beside(tmp_path / "runs")),
        pytest.raises(SweepError, match="another sweep writes into this store"),
    ):
        sweep()
    assert len(sweep()[1]) == 10


def test_a_sweep_inside_a_worker_is_refused(sweep, monkeypatch):
    monkeypatch.setenv(WORKER_MARK, "1")
    with pytest.raises(SweepError, match="__main__"):
        sweep()


def test_within_a_worker_a_sweep_may_be_made_in_that_very_process(sweep, monkeypatch):
    monkeypatch.setenv(WORKER_MARK, "1")
    executor = HereExecutor()
    executor.here = True
    result, _ = sweep(executor=executor)
    assert result is not None and result.finished == len(executor.made) == 10


def test_trials_must_have_names_of_their_own(tmp_path):
    with pytest.raises(ValueError, match="two are called 'a'"):
        run_trials(Job(named("good")), [Trial("a", 1, 5), Trial("a", 2, 5)], tmp_path / "runs", HereExecutor())


def test_an_executor_may_be_named_by_its_old_keyword(tmp_path):
    with pytest.raises(SweepError, match="no executor 'moon'"):
        run_sweep(named("good"), out=tmp_path / "runs", seed=0, total_steps=5, place="moon")


@pytest.mark.parametrize(
    ("options", "kind", "told"),
    [
        ({"runs": 0}, ValueError, "runs must be at least 1"),
        ({"direction": "up"}, ValueError, "direction must be max or min"),
        ({"total_steps": None}, SweepError, "--steps"),
        ({"command": "true"}, SweepError, "one of them"),
        ({"executor": "moon"}, SweepError, "no executor 'moon'"),
        ({"space": "none.toml"}, SweepError, "there is no file none.toml"),
    ],
)
def test_bad_arguments_are_refused_before_anything_runs(sweep, tmp_path, options, kind, told):
    with pytest.raises(kind, match=told):
        sweep(**options)
    assert not (tmp_path / "runs").exists()


def test_a_store_that_cannot_be_written_stops_the_sweep(sweep, tmp_path):
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "notes.txt").touch()
    with pytest.raises(StoreError, match="no run store"):
        sweep()


def failed(name):
    return Failed(Trial(name, 0, 1), "it broke", "", 1.0)


def test_a_half_line_in_the_journal_is_cut_off(tmp_path):
    journal = SweepJournal(tmp_path, {"seed": 1})
    journal.open()
    for name in ("a", "b"):
        journal.add(failed(name))
    journal.close()
    whole = journal.path.read_bytes()
    for cut in range(whole.index(b"\n") + 1, len(whole) + 1):
        journal.path.write_bytes(whole[:cut])
        past = journal.open()
        assert set(past.failed) == {"a", "b"} if cut == len(whole) else set(past.failed) <= {"a"}
        journal.add(failed("c"))
        journal.close()
        assert "c" in journal.open().failed
        journal.close()
        assert all(json.loads(line) for line in journal.path.read_bytes().splitlines())


def test_a_newer_or_foreign_journal_is_refused(tmp_path):
    journal = SweepJournal(tmp_path, {"seed": 1})
    journal.path.write_text('{"format": "lodestar-sweep", "version": 99, "identity": {}}\n')
    with pytest.raises(SweepError, match="newer Lodestar"):
        journal.open()
    journal.path.write_text("hello\n")
    with pytest.raises(SweepError, match="no journal of a sweep"):
        journal.open()


def test_a_tracker_that_fails_is_told_once_and_the_store_has_every_run(tmp_path, caplog):
    calls = []

    def write(run):
        calls.append(run.name)
        raise ConnectionError("no such server")

    curve = Series([1], [1.0])
    keeper = Keeper(RunStore(tmp_path / "runs"), write)
    for number in range(5):
        keeper.keep(Run(f"r{number}", curve, curve, curve, Direction.MAX))
    keeper.close()
    assert len(RunStore(tmp_path / "runs")) == 5
    assert len(calls) == 1
    assert [r.message for r in caplog.records if "given up: no such server" in r.message]


def test_an_error_in_storing_reaches_the_sweep(tmp_path):
    (tmp_path / "file").touch()
    curve = Series([1], [1.0])
    keeper = Keeper(RunStore(tmp_path / "file" / "runs"))
    with pytest.raises(StoreError):
        keeper.keep(Run("r", curve, curve, curve, Direction.MAX))
        keeper.close()
