"""The job is compared with the forecaster's runs when the scheduler is built."""

import dataclasses

import pytest
from tests.sized import sized_forecaster

from lodestar.forecaster import Forecaster, load
from lodestar.forecaster.at_scale import at_scale
from lodestar.planning import plan
from lodestar.runs import Direction
from lodestar.scheduler import Scheduler
from lodestar.scheduler.records.log import read_log
from lodestar.testing import random_forecaster

TOTAL = 400
KNOWN = {
    "tasks": ["cifar"],
    "optimizers": {"SGD": 12},
    "batch_sizes": [128, 256],
    "parameters": [1e5, 1e5],
    "widths": [16, 64],
}


def fitted(job: dict | None = None, direction: Direction = Direction.MAX, **facts) -> Forecaster:
    bare = random_forecaster(seed=5, points=40, direction=direction)
    return dataclasses.replace(bare, facts={"metric_name": "val_accuracy", "job": job or KNOWN, **facts})


@pytest.mark.parametrize("name", ["eval_loss", "val/perplexity", "testError"])
def test_a_metric_of_the_other_direction_is_refused(name):
    words = (
        rf"fitted to 'val_accuracy', a share in 0 to 1, where more is better; got '{name}', where less .* Fix: report"
    )
    with pytest.raises(ValueError, match=words):
        Scheduler(fitted(), TOTAL, job={"metric": name})


def test_a_loss_forecaster_refuses_an_accuracy():
    loss = fitted(direction=Direction.MIN, metric_name="eval_loss")
    with pytest.raises(ValueError, match="'eval_loss', loss-like, where less is better; got 'acc'"):
        Scheduler(loss, TOTAL, job={"metric": "acc"})


@pytest.mark.parametrize("name", ["accuracy", "eval_accuracy", "val/acc", "valid_accuracy", "test_acc"])
def test_other_spellings_of_the_metric_are_the_same_metric(name):
    assert Scheduler(fitted(), TOTAL, job={"metric": name}).warnings == []


def test_a_stated_direction_outweighs_a_name():
    with pytest.warns(UserWarning, match="the job's metric is 'negative_loss'"):
        Scheduler(fitted(), TOTAL, job={"metric": "negative_loss"}, direction="max")


@pytest.mark.parametrize(
    ("job", "words"),
    [
        ({"metric": "f1"}, "the job's metric is 'f1', the forecaster was fitted to runs with 'val_accuracy'. Fix"),
        ({"optimizer": "AdamW"}, "the job's optimizer is 'AdamW', the forecaster was fitted to runs with 'SGD'. Fix"),
        ({"task": "gpt2"}, "the job's task is 'gpt2', the forecaster was fitted to runs with 'cifar'. Fix"),
        ({"batch_size": 2048}, "the job's batch size is 2,048, the forecaster's runs had 128 to 256. Fix"),
        ({"parameters": 124e6}, "the job's size is 124,000,000, the forecaster's runs had 100,000. Fix"),
        ({"width": 1024}, "the job's width is 1,024, the forecaster's runs had 16 to 64. Fix"),
        ({"updates": 40}, "planned for 400 updates, but the job will make 40: .* Fix: total_steps=40"),
    ],
)
def test_each_other_difference_is_one_warning(job, words, caplog):
    with pytest.warns(UserWarning, match=words):
        one = Scheduler(fitted(), TOTAL, job=job)
    assert len(one.warnings) == 1
    assert [record.getMessage() for record in caplog.records] == one.warnings


def test_a_length_ten_times_that_of_the_past_runs_is_a_warning():
    with pytest.warns(
        UserWarning, match="length in updates is 400, the forecaster's runs had 40. Fix: count optimizer"
    ):
        Scheduler(fitted(total_steps=[40, 40]), TOTAL)


def test_a_job_like_the_past_runs_is_met_in_silence():
    job = {"metric": "val_accuracy", "optimizer": "torch.optim.sgd", "task": "cifar", "batch_size": 256, "lr": 0.1}
    assert Scheduler(fitted(total_steps=[300, 400]), TOTAL, job=job).warnings == []


def test_a_file_of_release_one_knows_less_and_warns_of_nothing():
    old = dataclasses.replace(fitted(), facts={"metric_name": "val_accuracy"})
    assert Scheduler(old, TOTAL, job={"optimizer": "AdamW", "task": "gpt2", "parameters": 1e9}).warnings == []


@pytest.mark.parametrize("odd", ["SGD", [1, None], {"tasks": 3, "batch_sizes": ["a", 2], "parameters": [0, -1]}, None])
def test_facts_of_another_shape_are_not_known(odd):
    known = dataclasses.replace(fitted(), facts={"metric_name": 3, "job": odd, "total_steps": "x"}).job
    assert (known.metric_name, known.tasks, known.optimizers, known.batch_sizes) == (None, (), (), None)


def test_what_is_known_outlives_the_file(tmp_path):
    fitted(total_steps=[300, 400]).save(tmp_path / "f.lode")
    known = load(tmp_path / "f.lode").job
    assert (known.optimizers, known.batch_sizes, known.total_steps) == (("SGD",), (128, 256), (300, 400))
    assert (known.metric_unit, known.direction) == ("share", Direction.MAX)
    assert known.loss[0] < 1.0 < known.loss[1]


@pytest.mark.parametrize(
    ("job", "words"),
    [
        ({"optimiser": "SGD"}, "job has no 'optimiser'.* did you mean 'optimizer'"),
        ({"batch_size": "many"}, "job's batch_size must be a finite number above 0, got 'many'"),
        ({"width": 0}, "job's width must be a finite number above 0, got 0. Fix: job={'width': 64}"),
        ({"parameters": -3}, "job's parameters must be a finite number above 0, got -3"),
        ({"weight_decay": -0.1}, "job's weight_decay must be a finite number >= 0, got -0.1"),
        ({"width": float("nan")}, "job's width must be a finite number above 0, got nan"),
        ({"optimizer": 3}, "job's optimizer must be a text, got 3"),
    ],
)
def test_bad_jobs(job, words):
    with pytest.raises(ValueError, match=words):
        Scheduler(fitted(), TOTAL, job=job)


def test_what_is_known_of_the_job_stands_in_the_log_and_later_words_fill_gaps(tmp_path):
    one = Scheduler(
        *(fitted(), TOTAL), job={"width": 64, "optimizer": "SGD"}, facts={"seed": 3}, log=tmp_path / "run.jsonl"
    )
    one.compare({"weight_decay": 0.1, "optimizer": "SGD", "batch_size": 128.0})
    one.lr_at(1)
    expected = {"width": 64, "batch_size": 128, "optimizer": "SGD", "weight_decay": 0.1}
    assert one.job.scale == expected
    assert read_log(tmp_path / "run.jsonl").facts == {**expected, "seed": 3}


def test_what_was_stated_stands_where_nothing_new_is_said():
    one = Scheduler(fitted(), TOTAL, job={"width": 64})
    one.compare({"parameters": 1e5})
    assert (one.job.width, one.job.parameters) == (64, 1e5)


def test_a_job_of_another_size_begins_with_a_plan_made_for_it():
    """By the law over sizes; where the job does not state its size, as ever by the best past runs."""
    placed, unplaced = (
        Scheduler(sized_forecaster(), 400, job=job) for job in ({"width": 256.0, "batch_size": 64}, {"batch_size": 64})
    )
    assert (placed.settings.initial_plan, unplaced.settings.initial_plan) == ("search", "whole")
    wanted = plan(at_scale(sized_forecaster(), {"width": 256.0, "batch_size": 64.0}).forecaster, 400).schedule
    assert placed.plan().peak == pytest.approx(wanted.peak, rel=0.05)
    assert "At width 256" in placed.decisions[0].note or "at width 256" in placed.decisions[0].note
    assert any("does not state its own" in text for text in unplaced.warnings)
    stated = Scheduler(sized_forecaster(), 400, job={"width": 256.0, "batch_size": 64}, initial_plan="whole")
    assert stated.settings.initial_plan == "whole"
