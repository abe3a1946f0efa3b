"""The points beside a log: written together, read back whole, through kills, resumes and a second job."""

import json
import math

import numpy as np
import pytest
from tests.scheduler.live import loss_at, train

from lodestar.scheduler import Scheduler, read_log
from lodestar.scheduler.records.points import RECORD, PointsWriter, points_path, read_points
from lodestar.testing import random_forecaster

TOTAL = 200


@pytest.fixture
def log(tmp_path):
    return tmp_path / "run.jsonl"


def a_job(path, **options):
    return Scheduler(random_forecaster(seed=2, points=100), TOTAL, log=path, gate=None, **options)


def points(path):
    return read_points(path, read_log(path).header["job"])


def test_what_was_measured_is_in_the_file_at_its_step(log):
    job = a_job(log)
    rates = train(job, 1, TOTAL)
    found = points(log)
    losses = found[np.isfinite(found["loss"])]
    assert losses["step"].tolist() == list(range(1, TOTAL + 1))
    assert losses["loss"][99] == pytest.approx(loss_at(100, TOTAL), rel=1e-6)
    assert losses["lr"].tolist() == pytest.approx(rates, rel=1e-6)
    assert found["step"][np.isfinite(found["metric"])].tolist() == list(range(10, TOTAL + 1, 10))


def test_a_job_without_a_log_writes_none(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    train(Scheduler(random_forecaster(seed=2, points=100), TOTAL, gate=None), 1, 60)
    assert list(tmp_path.iterdir()) == []


def test_a_resumed_job_measures_again_what_came_after_its_checkpoint(log):
    job = a_job(log)
    train(job, 1, 60)
    state = json.loads(json.dumps(job.state_dict()))
    train(job, 61, 100)
    resumed = a_job(log)
    resumed.load_state_dict(state)
    train(resumed, 61, 91)
    found = points(log)
    steps = found["step"][np.isfinite(found["loss"])]
    assert steps.tolist() == list(range(1, steps[-1] + 1))
    assert 80 <= steps[-1] <= 91


def test_half_a_record_that_a_kill_left_is_dropped_and_written_over(log):
    writer = PointsWriter()
    writer.add(1, 2.0, None, 0.1)
    assert writer.flush(log, "ab") is None
    with points_path(log).open("ab") as stream:
        stream.write(b"\x01" * 7)
    assert read_points(log, "ab")["step"].tolist() == [1]
    writer.add(2, None, 0.5, 0.1)
    writer.flush(log, "ab")
    assert read_points(log, "ab")["step"].tolist() == [1, 2]
    assert (points_path(log).stat().st_size) % RECORD.itemsize == 0


def test_two_jobs_on_one_log_stay_apart(log):
    for job, step in (("1", 5), ("2", 7)):
        writer = PointsWriter()
        writer.add(step, 1.0, None, 0.1)
        writer.flush(log, job)
    assert read_points(log, "1")["step"].tolist() == [5]
    assert read_points(log, "2")["step"].tolist() == [7]


def test_what_is_not_finite_or_too_large_is_kept_as_such(log):
    writer = PointsWriter()
    writer.add(1, math.inf, 1e300, 0.1)
    writer.flush(log, "1")
    found = read_points(log, "1")[0]
    assert found["loss"] > 1e38
    assert found["metric"] > 1e38


def test_a_foreign_file_holds_no_points_and_a_missing_one_none(log):
    assert len(read_points(log, "1")) == 0
    points_path(log).write_bytes(b"something else" * 10)
    assert len(read_points(log, "1")) == 0


def test_a_disk_that_refuses_is_one_warning(log):
    job = a_job(log)
    points_path(log).mkdir()
    train(job, 1, 100)
    assert len([w for w in job.warnings if "points of the run could not be written" in w]) == 1


def test_the_last_records_alone_can_be_read(log):
    train(a_job(log), 1, TOTAL)
    assert read_points(log, read_log(log).header["job"], last=5)["step"][-1] == TOTAL
