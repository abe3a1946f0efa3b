import math
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import optuna
import pytest
from optuna.trial import TrialState, create_trial
from tests.integrations.optuna_jobs import objective, study_in, words
from tests.pruned import learned_pruner
from tests.responding import TOTAL, run_of, runs

from lodestar.integrations.optuna import LodestarPruner, report
from lodestar.runs import Direction, RunStore, Status
from lodestar.schedules import parse

optuna.logging.set_verbosity(optuna.logging.ERROR)
LR = optuna.distributions.FloatDistribution(1e-5, 1.0, log=True)
SHAPE = optuna.distributions.CategoricalDistribution(["linear", "constant", "wsd"])


def finished(count: int) -> list[optuna.trial.FrozenTrial]:
    """Trials that ended, of all three shapes."""
    found = []
    for number in range(count):
        shape, lr = SHAPE.choices[number % 3], float(np.geomspace(3e-4, 6e-3, count)[number])
        run = run_of(parse(f"{shape}:{lr}", TOTAL), number)
        values = dict(zip(run.metric.steps.tolist(), run.metric.values.tolist(), strict=True))
        params, space = {"lr": lr, "shape": shape}, {"lr": LR, "shape": SHAPE}
        found.append(
            create_trial(params=params, distributions=space, value=run.final_metric, intermediate_values=values)
        )
    return found


@pytest.fixture
def study(tmp_path) -> optuna.Study:
    """A study in a database with some finished trials, and a pruner that has learned from a dozen."""
    pruner = taught(schedule=words)
    made = study_in(f"sqlite:///{tmp_path}/study.db", pruner)
    made.add_trials(finished(3))
    pruner._length = TOTAL
    return made


def taught(**options) -> LodestarPruner:
    pruner = LodestarPruner(**{"overhead": 1.0, **options})
    pruner.pruner.learned, pruner._background._next = learned_pruner().learned, math.inf
    return pruner


def follow(study: optuna.Study, schedule: str) -> optuna.trial.FrozenTrial:
    """One more trial, with this shape and rate."""
    shape, lr = schedule.split(":")
    study.enqueue_trial({"shape": shape, "lr": float(lr)})
    study.optimize(objective, n_trials=1)
    return study.get_trials()[-1]


def test_a_hopeless_trial_is_pruned_early_and_says_why(study):
    trial = follow(study, "constant:3e-4")
    assert trial.state is TrialState.PRUNED
    assert trial.last_step is not None and trial.last_step < 0.3 * TOTAL
    assert trial.user_attrs["lodestar"].startswith("hopeless: at ")
    assert "its chance to end better than the best so far" in trial.user_attrs["lodestar"]


def test_a_trial_that_will_be_the_best_is_not(study):
    trial = follow(study, "wsd:1e-2")
    assert trial.state is TrialState.COMPLETE and "lodestar" not in trial.user_attrs


def test_a_resumed_study_is_learned_from_in_a_thread(tmp_path):
    """Another process, or another day: the pruner knows what the storage knows."""
    storage = f"sqlite:///{tmp_path}/study.db"
    study_in(storage, optuna.pruners.NopPruner()).add_trials(finished(4))
    pruner = LodestarPruner(overhead=1.0)
    trial = study_in(storage, pruner).ask({"lr": LR, "shape": SHAPE})
    trial.report(0.1, 20)
    assert not trial.should_prune() and pruner.pruner.learned.finished == 0
    pruner._background.wait()
    assert pruner.pruner.learned.finished == 4


def test_a_pruner_goes_to_other_processes():
    pruner = LodestarPruner(least_chance=0.1)
    assert pickle.loads(pickle.dumps(pruner)).pruner.least_chance == 0.1


def test_several_workers_share_a_study_and_lose_no_trial(tmp_path):
    storage = f"sqlite:///{tmp_path}/study.db"
    study_in(storage, optuna.pruners.NopPruner())
    line = [sys.executable, "-m", "tests.integrations.optuna_jobs", storage, "6"]
    workers = [subprocess.Popen(line, cwd=Path(__file__).parents[2]) for _ in range(2)]
    assert [worker.wait(120) for worker in workers] == [0, 0]
    trials = study_in(storage, optuna.pruners.NopPruner()).get_trials()
    assert [trial.number for trial in trials] == list(range(12))
    assert {trial.state for trial in trials} <= {TrialState.COMPLETE, TrialState.PRUNED}


def test_a_history_prunes_from_the_first_finished_trial_on(tmp_path):
    store = RunStore(tmp_path / "runs")
    store.add_many(runs(6))
    pruner = LodestarPruner(schedule=words, history=tmp_path / "runs", overhead=1.0)
    study = study_in(None, pruner)
    study.add_trials(finished(9)[-1:])
    pruner.learn(study)
    assert follow(study, "constant:3e-4").state is TrialState.PRUNED


def test_loss_and_rate_are_kept_as_attributes_that_an_import_reads():
    study = study_in(None, LodestarPruner())
    trial = study.ask()
    for step in range(1, 41):
        report(trial, step, loss=1.0 / step, lr=0.1, metric=0.5)
    study.tell(trial, 0.5)
    kept = study.trials[0].user_attrs
    assert kept["loss"][:2] == [[1, 1.0], [2, 0.5]] and kept["lr"][0] == [1, 0.1]
    assert len(kept["loss"]) >= 36


def test_two_objectives_are_a_sentence_and_the_study_goes_on(caplog):
    study = optuna.create_study(directions=["maximize", "minimize"], pruner=LodestarPruner(), study_name="two")

    def both(trial):
        report(trial, 1, metric=0.5, loss=1.0)
        return 0.5, 1.0

    study.optimize(both, n_trials=3)
    assert len(study.best_trials) and caplog.text.count("has 2 objectives") == 1


def test_a_loss_reported_where_accuracy_is_maximised_stops_nobody(caplog):
    pruner = LodestarPruner(overhead=1.0)
    study = study_in(None, pruner)
    for number in range(8):
        values = dict.fromkeys(range(1, 11), 1.0 - 0.1 * number)
        study.add_trial(create_trial(value=float(number), intermediate_values=values))
    pruner.learn(study)
    trial = study.ask()
    assert not any(trial.report(9.0, step) or trial.should_prune() for step in range(1, 11))
    assert "falls where their final value rises" in caplog.text


def test_a_length_that_nobody_can_know_is_a_sentence_and_stops_nobody(caplog):
    pruner = LodestarPruner(overhead=1.0)
    study = study_in(None, pruner)
    for number in range(6):
        values = dict.fromkeys(range(1, 11 + 10 * number), 0.1 * number)
        study.add_trial(create_trial(value=0.1 * number, intermediate_values=values))
    pruner.learn(study)
    trial = study.ask()
    trial.report(0.0, 5)
    assert not trial.should_prune()
    assert "end between steps 10 and 60" in caplog.text and "total_steps" in caplog.text


def test_a_length_that_a_parameter_changes_can_be_told():
    study = study_in(None, taught(schedule=words, total_steps=lambda params: TOTAL))
    study.add_trials([create_trial(value=0.1, intermediate_values={1: 0.0, last: 0.1}) for last in (9, 2 * TOTAL)])
    assert follow(study, "constant:3e-4").state is TrialState.PRUNED


def test_a_schedule_that_cannot_be_told_is_a_sentence(caplog):
    pruner = LodestarPruner(schedule=words)
    other = study_in(None, pruner)
    other.add_trial(create_trial(value=0.1, intermediate_values={1: 0.0, 10: 0.1}))
    assert len(pruner._runs(other)) == 1 and "KeyError('shape')" in caplog.text


def test_words_that_are_no_schedule_are_a_sentence_and_the_trial_is_judged_without(caplog):
    pruner = LodestarPruner()
    other = study_in(None, pruner)
    other.add_trial(create_trial(value=0.1, intermediate_values={1: 0.0, 9: 0.1}, user_attrs={"schedule": "zigzag:1"}))
    assert len(pruner._runs(other)) == 1 and "zigzag" in caplog.text


def test_a_history_of_the_other_direction_is_a_sentence_and_left_out(caplog):
    pruner = LodestarPruner(history=runs(4, direction=Direction.MIN))
    pruner._runs(study_in(None, pruner))
    assert "4 of 4 runs of the history are of a metric to be minimised" in caplog.text


def test_values_that_are_not_finite_stop_a_trial_before_anything_was_learned():
    study = study_in(None, LodestarPruner(overhead=1.0))
    trial = study.ask()
    stopped = []
    for step in range(1, 5):
        trial.report(float("nan"), step)
        stopped.append(trial.should_prune())
    assert stopped == [False, False, True, True]


def test_steps_that_differ_between_trials_count_as_shares_of_a_run():
    """One reports every epoch, counted from 0, another every hundred updates."""
    pruner = LodestarPruner(total_steps=lambda params: params["length"])
    length = optuna.distributions.IntDistribution(1, 10_000)
    made = [
        create_trial(params={"length": n}, distributions={"length": length}, value=0.5, intermediate_values=values)
        for n, values in ((9, dict.fromkeys(range(10), 0.5)), (1000, dict.fromkeys(range(100, 1001, 100), 0.5)))
    ]
    study = study_in(None, pruner)
    study.add_trials(made)
    epochs, updates = pruner._runs(study)
    assert epochs.status is updates.status is Status.FINISHED
    assert epochs.last_step == epochs.total_steps == 10 and updates.last_step == updates.total_steps == 1000


def test_all_trials_failing_is_a_sentence(caplog):
    pruner = LodestarPruner()
    study = study_in(None, pruner)
    study.add_trials([create_trial(state=TrialState.FAIL) for _ in range(12)])
    pruner.learn(study)
    assert "none of the 12 trials that ended has finished" in caplog.text


def test_trials_of_which_some_say_no_rate_are_a_sentence(caplog):
    pruner = LodestarPruner()
    study = study_in(None, pruner)
    values = dict.fromkeys(range(1, 11), 0.5)
    rate = {"lr": [[1, 0.1], [10, 0.1]]}
    for attributes in (rate, {}):
        study.add_trial(create_trial(value=0.5, intermediate_values=values, user_attrs=attributes))
    pruner.learn(study)
    assert "1 of 2 finished trials say nothing of their learning rate" in caplog.text


def test_what_goes_wrong_in_judging_is_a_sentence_and_the_trial_goes_on(caplog):
    study = study_in(None, LodestarPruner(total_steps=lambda params: params["no such"], overhead=1.0))
    trial = study.ask()
    trial.report(0.5, 1)
    assert not trial.should_prune() and "goes on: KeyError('no such')" in caplog.text


def test_judging_keeps_to_its_share_of_the_time(study):
    """Of an instant's work, none is left for judging."""
    pruner = taught(schedule=words, overhead=1e-9)
    pruner._length, pruner._spent = TOTAL, 1.0
    study.pruner = pruner
    trial = study.ask({"lr": LR, "shape": SHAPE})
    trial.report(0.0, TOTAL // 2)
    assert not trial.should_prune()
