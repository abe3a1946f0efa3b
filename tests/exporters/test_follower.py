"""A live scheduler followed by a writer: everything arrives, and a tracker that fails or hangs never hurts the job."""

import logging
import threading
import time

import pytest
from tests.full_disk import full_disk
from tests.scheduler.live import metric_at, train

from lodestar.exporters import AbstractWriter, follow, open_writer
from lodestar.importers import import_runs
from lodestar.importers.readers.tensorboard import TensorboardReader
from lodestar.runs import RunStore, Status
from lodestar.runs.scale import Scale, scale_of
from lodestar.scheduler import Scheduler
from lodestar.testing import random_forecaster

TOTAL = 400
IN_TIME = "it did not take the last values in time"


class Recorder(AbstractWriter):
    """A writer that keeps what it is given; `fails` at a step, or waits for `gate`."""

    kind = "recorder"

    def __init__(self, fails=None, gate=None):
        self.fails, self.gate = fails, gate
        self.begun, self.rows, self.told, self.ended = [], [], [], []

    def begin(self, name, config, *, first_step=0):
        self.begun.append((name, dict(config), first_step))

    def log(self, step, values):
        if self.gate is not None:
            assert self.gate.wait(300), "the job waits for its tracker"
        if self.fails is not None and step >= self.fails:
            raise OSError("the server is gone")
        self.rows.append((step, dict(values)))

    def decision(self, step, text, numbers):
        self.told.append((step, text, dict(numbers)))

    def end(self, status):
        self.ended.append(status)


@pytest.fixture(scope="module")
def forecaster():
    return random_forecaster(seed=0)


def test_every_value_and_decision_arrives(forecaster):
    scheduler, writer = Scheduler(forecaster, TOTAL), Recorder()
    with follow(scheduler, writer, name="steered", config={"batch_size": 32}):
        rates = train(scheduler, 1, TOTAL)
    losses = [(step, values["lr"]) for step, values in writer.rows if "loss" in values]
    assert losses == list(enumerate(rates, 1))
    assert [step for step, values in writer.rows if "accuracy" in values] == list(range(10, TOTAL + 1, 10))
    assert [step for step, _, _ in writer.told] == [decision.step for decision in scheduler.decisions]
    assert "began with the initial plan" in writer.told[0][1] and "predicted_final_metric" in writer.told[0][2]
    name, config, first = writer.begun[0]
    assert (name, first, config["batch_size"], config["total_steps"]) == ("steered", 0, 32, TOTAL)
    assert writer.ended == [Status.FINISHED] and all("candidate near this run" in text for text in scheduler.warnings)


def test_the_runs_seed_is_the_jobs_and_its_schedule_is_ours(forecaster):
    writer = Recorder()
    scheduler = Scheduler(forecaster, TOTAL, seed=5, facts={"task": "digits", "seed": 3, "sizes": [1, 2]})
    with follow(scheduler, writer, config={"batch_size": 32}):
        train(scheduler, 1, 20)
    config = writer.begun[0][1]
    assert (config["seed"], config["lodestar_seed"], config["schedule"]) == (3, 5, "lodestar")
    assert (config["task"], config["lodestar_task"], config["batch_size"]) == ("digits", "digits", 32)
    assert "sizes" not in config


def test_a_seed_nobody_stated_is_not_made_up_nor_the_schedule_of_a_job_that_is_only_watched(forecaster):
    writer = Recorder()
    scheduler = Scheduler(forecaster, TOTAL, seed=5, mode="shadow", base=lambda step: 1e-3)
    with follow(scheduler, writer):
        train(scheduler, 1, 20)
    assert not {"seed", "schedule", "task"} & set(writer.begun[0][1])


def test_long_runs_are_thinned_but_for_metrics(forecaster):
    scheduler, writer = Scheduler(forecaster, TOTAL), Recorder()
    with follow(scheduler, writer, every=50):
        train(scheduler, 1, TOTAL)
    assert [step for step, values in writer.rows if "loss" in values] == list(range(1, TOTAL, 50))
    assert sum("accuracy" in values for _, values in writer.rows) == TOTAL // 10


def test_a_tracker_that_fails_is_warned_of_once_and_changes_no_rate(forecaster):
    plain = Scheduler(forecaster, TOTAL)
    expected = train(plain, 1, TOTAL)
    scheduler, writer = Scheduler(forecaster, TOTAL), Recorder(fails=30)
    follower = follow(scheduler, writer)
    rates = train(scheduler, 1, 60)
    time.sleep(0.2)
    rates += train(scheduler, 61, TOTAL)
    follower.close()
    assert rates == expected
    assert [w for w in scheduler.warnings if "recorder" in w] == [
        "the run is no longer written to recorder: the server is gone"
    ]
    assert writer.rows[-1][0] < 30 and writer.ended == []


def test_a_tracker_that_hangs_does_not_slow_the_job(forecaster):
    gate = threading.Event()
    scheduler, writer = Scheduler(forecaster, TOTAL), Recorder(gate=gate)
    follower = follow(scheduler, writer)
    train(scheduler, 1, 100)  # comes back though not one row was taken
    assert writer.rows == []
    gate.set()
    follower.close()
    assert len([1 for _, values in writer.rows if "loss" in values]) == 100
    assert writer.ended == [Status.CUT_SHORT]  # step 100 of 400


@pytest.mark.parametrize("hangs_in", ["connect", "begin", "log", "decision", "end"])
def test_a_tracker_that_never_answers_is_not_waited_for_at_the_end(forecaster, monkeypatch, caplog, hangs_in):
    monkeypatch.setattr("lodestar.exporters.follower._FIRST_ANSWER_SECONDS", 0.1)
    monkeypatch.setattr("lodestar.exporters.follower._ANSWER_SECONDS", 0.1)
    monkeypatch.setattr(Recorder, "end_seconds", 0.1)
    scheduler, writer, never = Scheduler(forecaster, TOTAL), Recorder(), threading.Event()
    monkeypatch.setattr(writer, hangs_in, lambda *_, **__: never.wait(300))
    with caplog.at_level(logging.WARNING, "lodestar.exporters"), follow(scheduler, writer):
        train(scheduler, 1, 60)
    assert [record.getMessage() for record in caplog.records if "written" in record.getMessage()] == [
        "the run is no longer written to recorder: "
        + ("it did not answer. Fix: check the address and that it runs" if hangs_in == "connect" else IN_TIME)
    ]
    never.set()


def test_a_full_queue_leaves_values_out_and_says_so(forecaster, monkeypatch):
    monkeypatch.setattr("lodestar.exporters.follower._WAITING", 5)
    gate = threading.Event()
    scheduler, writer = Scheduler(forecaster, TOTAL), Recorder(gate=gate)
    follower = follow(scheduler, writer)
    train(scheduler, 1, 100)
    gate.set()
    follower.close()
    assert len(writer.rows) < 20 and any("too slow" in warning for warning in scheduler.warnings)


def test_an_exception_in_the_job_ends_the_run_as_cut_short(forecaster):
    scheduler, writer = Scheduler(forecaster, TOTAL), Recorder()
    with pytest.raises(KeyError), follow(scheduler, writer):
        train(scheduler, 1, 20)
        raise KeyError("the job's own")
    assert writer.ended == [Status.CUT_SHORT]


def test_a_job_that_resumes_begins_at_its_step(forecaster):
    first = Scheduler(forecaster, TOTAL)
    train(first, 1, 100)
    scheduler, writer = Scheduler(forecaster, TOTAL), Recorder()
    scheduler.load_state_dict(first.state_dict())
    with follow(scheduler, writer):
        train(scheduler, 101, TOTAL)
    assert writer.begun[0][2] >= 100
    assert all(step >= 100 for step, _, _ in writer.told)


def test_an_adapter_may_be_followed(forecaster):
    import torch

    from lodestar.adapters.torch import LodestarLR

    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=0.1)
    adapter, writer = LodestarLR(optimizer, forecaster, total_steps=TOTAL), Recorder()
    with follow(adapter, writer):
        for _ in range(20):
            optimizer.step()
            adapter.step(loss=torch.tensor(1.5))
    assert len(writer.rows) == 20
    with pytest.raises(ValueError, match="follow needs a Scheduler"):
        follow(object(), writer)
    with pytest.raises(ValueError, match="every must be at least 1"):
        follow(adapter, writer, every=0)


def test_a_full_disk_under_tensorboard_is_one_warning(forecaster, tmp_path, caplog):
    scheduler = Scheduler(forecaster, TOTAL)
    writer = open_writer(f"tensorboard:{tmp_path / 'logs'}")
    with caplog.at_level(logging.WARNING, "lodestar"), full_disk(), follow(scheduler, writer):
        rates = train(scheduler, 1, TOTAL)
    assert rates == train(Scheduler(forecaster, TOTAL), 1, TOTAL)
    (said,) = [record.getMessage() for record in caplog.records if "written" in record.getMessage()]
    assert "no longer written to tensorboard" in said and "raise the limit (ulimit -f)" in said


def test_a_steered_run_in_tensorboard_is_imported_again(forecaster, tmp_path):
    scheduler = Scheduler(forecaster, TOTAL)
    with follow(scheduler, open_writer(f"tensorboard:{tmp_path / 'logs'}"), name="steered"):
        rates = train(scheduler, 1, TOTAL)
    import_runs(TensorboardReader(tmp_path / "logs"), RunStore(tmp_path / "store"))
    (run,) = RunStore(tmp_path / "store").read()
    assert run.lr.values.tolist() == pytest.approx(rates, rel=1e-6) and run.status is Status.FINISHED
    assert run.metric_name == "accuracy" and run.final_metric == pytest.approx(metric_at(TOTAL, TOTAL))
    assert run.total_steps == TOTAL


def test_the_scale_of_the_job_is_written_back_and_known_to_an_import(forecaster, tmp_path):
    job = {"width": 64, "parameters": 5e4, "batch_size": 32, "optimizer": "AdamW", "weight_decay": 0.1}
    scheduler = Scheduler(forecaster, TOTAL, job=job)
    with follow(scheduler, open_writer(f"tensorboard:{tmp_path / 'logs'}"), name="steered"):
        train(scheduler, 1, TOTAL)
    import_runs(TensorboardReader(tmp_path / "logs"), RunStore(tmp_path / "runs"))
    found = scale_of(RunStore(tmp_path / "runs").read()[0])
    assert found == Scale(5e4, 64.0, 32.0, TOTAL, 32.0 * TOTAL, "AdamW", 0.1)
