"""The trial scheduler in a real Ray, on one core of this machine; what it does with odd trials, without one."""

import dataclasses
import json
import logging
import os
import pickle
from pathlib import Path

import numpy as np
import pytest

os.environ.setdefault("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")  # read when Ray is imported: stay on 127.0.0.1
os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
os.environ.setdefault("RAY_AIR_NEW_OUTPUT", "0")
os.environ.setdefault("RAY_raylet_start_wait_time_s", "120")  # a busy machine takes longer than 30

import ray
from ray import tune
from ray.tune.experiment import Trial
from ray.tune.schedulers import TrialScheduler
from tests.integrations import ray_jobs
from tests.pruned import learned_pruner
from tests.responding import TOTAL, drawn, run_of, runs

from lodestar.integrations.ray_tune import LodestarTrialScheduler
from lodestar.runs import Direction, RunStore, Status
from lodestar.schedules import parse

CONTINUE, PAUSE, STOP = TrialScheduler.CONTINUE, TrialScheduler.PAUSE, TrialScheduler.STOP
pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning"),  # Ray leaves the pipes of its own processes open
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning:ray"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning:ray"),
]
BAD, MIDDLING, GOOD = "constant:3e-4", "linear:3e-3", "wsd:1e-2"


def curve(words: str, seed: int = 5) -> list[tuple[int, float, float]]:
    """Step, loss and accuracy of a trial that follows the words."""
    run = run_of(parse(words, TOTAL), seed)
    at = run.metric.steps[1::2].tolist()
    return [(step, run.loss.until(step).values[-1], run.metric.until(step).values[-1]) for step in at]


def taught(**options) -> LodestarTrialScheduler:
    """It has learned from a dozen runs, and learns no more."""
    scheduler = LodestarTrialScheduler(**{"time_attr": "step", "total_steps": TOTAL, "overhead": 1.0, **options})
    scheduler.pruner.learned, scheduler._background._next = learned_pruner().learned, np.inf
    return scheduler


@pytest.fixture(scope="module")
def cluster():
    ray.init(num_cpus=1, include_dashboard=False, object_store_memory=80 * 2**20, _node_ip_address="127.0.0.1")
    yield
    ray.shutdown()


def search(trainable, trials: list[dict], scheduler, folder: Path, callbacks=()):
    space = {"trial": tune.grid_search(trials)}
    return tune.Tuner(
        trainable,
        param_space=space,
        tune_config=tune.TuneConfig(metric="accuracy", mode="max", scheduler=scheduler, reuse_actors=True),
        run_config=tune.RunConfig(storage_path=str(folder), name="search", verbose=0, callbacks=list(callbacks)),
    )


def scheduler_in(tuner: tune.Tuner) -> LodestarTrialScheduler:
    """The one that Ray has made of what it saved."""
    assert tuner._local_tuner is not None
    scheduler = tuner._local_tuner._tune_config.scheduler
    assert isinstance(scheduler, LodestarTrialScheduler)
    return scheduler


def config(words: str, **more) -> dict:
    return {"schedule": words, "curve": curve(words), **more}


def planned(config) -> str:
    return config["trial"]["schedule"]


def by_words(results) -> dict:
    return {planned(result.config): result for result in results}


def test_a_hopeless_trial_is_stopped_a_winner_is_not_and_a_restored_search_knows_of_both(cluster, tmp_path):
    """The third trial fails, and goes on when the search is restored."""
    flag = str(tmp_path / "flag")
    trials = [config(GOOD), config(BAD), config(MIDDLING, until=flag)]
    scheduler = taught(schedule=planned)
    found = by_words(search(ray_jobs.follow, trials, scheduler, tmp_path).fit())
    assert [found[words].metrics["step"] for words in (GOOD, BAD)] == [TOTAL, 40]
    assert found[MIDDLING].error is not None
    said = json.loads(Path(found[BAD].path, "lodestar.json").read_text())["reason"]
    assert said.startswith("hopeless: at 10% of the run, its schedule and its curve forecast")
    assert list(scheduler.reasons.values()) == [said]

    Path(flag).touch()
    again = tune.Tuner.restore(str(tmp_path / "search"), ray_jobs.follow, restart_errored=True)
    restored = scheduler_in(again)
    restored.pruner.least_chance = 1e-9  # so that the third may go on
    after = by_words(again.fit())
    assert after[MIDDLING].error is None
    ended = {run.total_steps - run.last_step: run for run in restored._runs()}
    assert len(restored._runs()) == 3 and len(restored.reasons) >= 1
    assert ended[0].status is Status.FINISHED and ended[TOTAL - 40].status is Status.CUT_SHORT
    assert restored._survey is not scheduler._survey and list(scheduler.reasons) == list(restored.reasons)[:1]


def test_trials_with_checkpoints_are_paused_and_the_best_forecast_is_thawed(cluster, tmp_path):
    """Once the third has ended, less is asked: the middling one goes on from its checkpoint, the bad one never does."""
    scheduler, marks = taught(schedule=planned), tmp_path / "marks"

    class LessIsAsked(tune.Callback):
        def on_trial_complete(self, iteration, trials, trial, **info):
            learned = scheduler.pruner.learned
            scheduler.pruner.learned = dataclasses.replace(learned, best=("another", 0.45))

    trials = [config(words, marks=str(marks)) for words in (BAD, MIDDLING, GOOD)]
    tuner = search(ray_jobs.follow_with_checkpoints, trials, scheduler, tmp_path, [LessIsAsked()])
    found = by_words(tuner.fit())
    starts = [line.split() for line in marks.read_text().splitlines()]
    assert [words for words, _ in starts] == [BAD, MIDDLING, GOOD, MIDDLING]
    assert [int(done) > 0 for _, done in starts] == [False, False, False, True]
    assert found[MIDDLING].metrics["step"] == TOTAL and found[BAD].metrics["step"] < TOTAL / 2
    assert len(scheduler.reasons) == 1
    assert "10 of 12 trials looked better by then" in next(iter(scheduler.reasons.values()))


# Without a cluster: the scheduler is told what Ray would tell it.


def added(scheduler, **settings) -> Trial:
    trial = Trial("job", stub=True, config=settings)
    scheduler.on_trial_add(None, trial)
    return trial


def told(scheduler, trial: Trial, results: list[dict]) -> list[str]:
    return [scheduler.on_trial_result(None, trial, result) for result in results]


def reports(words: str, seed: int = 5, **more) -> list[dict]:
    return [{"step": step, "loss": loss, "accuracy": value, **more} for step, loss, value in curve(words, seed)]


def completed(scheduler, results: list[dict], **settings) -> Trial:
    trial = added(scheduler, **settings)
    told(scheduler, trial, results)
    scheduler.on_trial_complete(None, trial, results[-1])
    return trial


def flat(steps, value: float = 0.5, **more) -> list[dict]:
    return [{"step": step, "accuracy": value, **more} for step in steps]


def scheduler_of(**options) -> LodestarTrialScheduler:
    return LodestarTrialScheduler(**{"metric": "accuracy", "mode": "max", "time_attr": "step", **options})


def test_it_learns_from_finished_trials_in_a_thread():
    scheduler = scheduler_of(overhead=1.0)
    scheduler._background._next = np.inf
    for seed in range(4):
        words = drawn(seed)
        run = run_of(words, seed)
        results = [
            {"step": int(s), "loss": run.loss.until(s).values[-1], "accuracy": v, "lr": words(int(s))}
            for s, v in zip(run.metric.steps, run.metric.values, strict=True)
        ]
        completed(scheduler, results)
    scheduler._background._next = 0.0
    assert scheduler.pruner.learned.finished == 0
    completed(scheduler, flat([1]), total_steps=TOTAL)
    scheduler._background.wait()
    assert scheduler.pruner.learned.finished == 4 and "learned from 4 trials" in scheduler.debug_string()
    assert all(len(run.lr) for run in scheduler._runs() if run.status is Status.FINISHED)


def test_a_trial_that_never_says_its_rate_is_judged_by_its_curve():
    scheduler = taught(metric="accuracy", mode="max")
    said = told(scheduler, added(scheduler), reports("constant:3e-4"))
    assert (STOP in said and said[0] == CONTINUE) or said[0] == STOP
    reason = next(iter(scheduler.reasons.values()))
    assert ", its curve forecast a final" in reason and "schedule" not in reason


def test_a_schedule_that_nobody_can_read_is_a_sentence_and_the_trial_is_judged_without(caplog):
    scheduler = taught(metric="accuracy", mode="max")
    assert STOP in told(scheduler, added(scheduler, schedule="zigzag:1"), reports("constant:3e-4"))
    assert caplog.text.count("the schedule of a trial could not be read") == 1


def test_a_history_of_the_other_direction_is_a_sentence_and_left_out(caplog, tmp_path):
    RunStore(tmp_path / "runs").add_many(runs(4, direction=Direction.MIN))
    scheduler = scheduler_of(history=tmp_path / "runs")
    scheduler.pruner.learn(scheduler._runs())
    assert "4 of 4 runs of the history are of a metric to be minimised" in caplog.text


def test_several_objectives_are_a_sentence_and_no_trial_is_stopped(caplog):
    scheduler = LodestarTrialScheduler(time_attr="step", total_steps=TOTAL, overhead=1.0)
    assert scheduler.set_search_properties(None, None)
    for _ in range(2):
        assert set(told(scheduler, added(scheduler), reports("constant:3e-4"))) == {CONTINUE}
    assert caplog.text.count("no metric and mode were said") == 1


def test_the_metric_is_said_in_one_place():
    assert not scheduler_of().set_search_properties("accuracy", None)
    assert scheduler_of(mode=None).set_search_properties(None, "max")
    with pytest.raises(ValueError, match=r"mode must be min or max, got 'best'. Fix"):
        LodestarTrialScheduler(mode="best")


def test_steps_that_differ_between_trials_count_as_shares_of_a_run():
    """One reports every epoch, counted from 0, another every hundred updates."""
    scheduler = scheduler_of()
    completed(scheduler, flat(range(10)), total_steps=9)
    completed(scheduler, flat(range(100, 1001, 100)), total_steps=1000)
    epochs, updates = scheduler._runs()
    assert epochs.status is updates.status is Status.FINISHED
    assert epochs.last_step == epochs.total_steps == 10 and updates.last_step == updates.total_steps == 1000


def test_a_length_that_nobody_can_know_is_a_sentence_and_can_be_told(caplog):
    scheduler = taught(metric="accuracy", mode="max", total_steps=None)
    for last in (10, 60):
        completed(scheduler, flat(range(1, last + 1)))
    assert len(scheduler._runs()) == 2 and "end between steps 10 and 60" in caplog.text
    assert set(told(scheduler, added(scheduler), reports("constant:3e-4"))) == {CONTINUE}
    assert STOP in told(scheduler, added(scheduler, total_steps=TOTAL), reports("constant:3e-4"))


def test_values_that_are_not_finite_stop_a_trial_before_anything_was_learned():
    scheduler = scheduler_of(pause=True)
    assert told(scheduler, added(scheduler), flat(range(1, 5), np.nan)) == [CONTINUE, CONTINUE, STOP, STOP]
    stray = [*flat([1]), *flat([2], np.nan), *flat([3, 4])]
    assert set(told(scheduler, added(scheduler), stray)) == {CONTINUE}


def test_all_trials_failing_is_a_sentence(caplog):
    scheduler = scheduler_of()
    for _ in range(12):
        scheduler.on_trial_error(None, added(scheduler))
    assert scheduler._runs() == [] and "none of the 12 trials that ended has finished" in caplog.text


def test_trials_of_which_some_say_no_rate_are_a_sentence(caplog):
    scheduler = scheduler_of()
    completed(scheduler, flat(range(1, 11), lr=0.1))
    completed(scheduler, flat(range(1, 11)))
    scheduler._runs()
    assert "1 of 2 finished trials say nothing of their learning rate" in caplog.text


def test_what_goes_wrong_in_judging_is_a_sentence_and_the_trial_goes_on(caplog):
    scheduler = scheduler_of(total_steps=lambda config: config["no such"])
    assert told(scheduler, added(scheduler), flat([1, 2])) == [CONTINUE, CONTINUE]
    assert "could not be judged and goes on: KeyError('no such')" in caplog.text


def test_results_without_the_metric_or_with_words_in_its_place_are_passed_over():
    scheduler = scheduler_of()
    trial = added(scheduler)
    assert told(scheduler, trial, [{"step": 1}, {"step": 2, "accuracy": "good"}, *flat([3])]) == [CONTINUE] * 3
    assert scheduler._followed[trial.trial_id].metric == {3: 0.5}


def test_back_at_an_earlier_checkpoint_what_came_after_is_forgotten():
    scheduler = scheduler_of()
    trial = added(scheduler)
    told(scheduler, trial, [*flat([1, 2, 3], loss=1.0), *flat([2], 0.7, loss=2.0)])
    followed = scheduler._followed[trial.trial_id]
    assert followed.metric == {1: 0.5, 2: 0.7} and followed.loss == {1: 1.0, 2: 2.0}


def test_it_goes_to_other_processes_and_into_a_file(tmp_path):
    scheduler = taught(metric="accuracy", mode="max")
    trial = added(scheduler, schedule="constant:3e-4")
    assert STOP in told(scheduler, trial, reports("constant:3e-4"))
    scheduler.save(str(tmp_path / "state"))
    fresh = pickle.loads(pickle.dumps(scheduler_of(least_chance=0.1)))
    assert fresh.pruner.least_chance == 0.1 and fresh._followed == {}
    fresh.restore(str(tmp_path / "state"))
    assert fresh.reasons == scheduler.reasons and fresh._followed == scheduler._followed


def test_judging_keeps_to_its_share_of_the_time():
    """Of an instant's work, none is left for judging."""
    scheduler = taught(metric="accuracy", mode="max", overhead=1e-9)
    scheduler._spent = 1.0
    assert set(told(scheduler, added(scheduler), reports("constant:3e-4"))) == {CONTINUE}


@pytest.fixture(autouse=True)
def warnings_of_ours(caplog):
    caplog.set_level(logging.WARNING, logger="lodestar")
