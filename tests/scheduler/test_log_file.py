"""What may become of a log's file under a job: renamed, emptied, deleted, full, or another job's as well."""

import json
import shutil

import pytest
from tests.full_disk import full_disk
from tests.scheduler.live import train

from lodestar._errors import LodestarError
from lodestar.scheduler import Outcome, Scheduler, read_log
from lodestar.testing import random_forecaster

TOTAL = 400
FORECASTER = random_forecaster(seed=5, points=40)


def a_job(path, seed=0) -> Scheduler:
    return Scheduler(FORECASTER, TOTAL, seed=seed, log=path, samples=6, tolerance=1000.0, hysteresis=None)


def kinds(path) -> list[str]:
    return [json.loads(line)["kind"] for line in path.read_text().splitlines()]


def rotated(path):
    path.rename(path.with_suffix(".1"))


def emptied(path):
    path.write_bytes(b"")


def deleted(path):
    path.unlink()


def folder_removed(path):
    shutil.rmtree(path.parent)


@pytest.mark.parametrize("happens", [rotated, emptied, deleted, folder_removed])
def test_a_log_that_is_gone_begins_again_with_its_header_and_every_decision(tmp_path, happens):
    path = tmp_path / "logs" / "run.jsonl"
    job = a_job(path)
    train(job, 1, 200)
    happens(path)
    train(job, 201, TOTAL)
    log = read_log(path)
    assert log.decisions == job.decisions and log.header["total_steps"] == TOTAL
    assert (kinds(path)[0], log.skipped, log.jobs, job.warnings) == ("start", 0, 1, [])


@pytest.mark.parametrize("room", [0, 50, 1500, 3000])  # full at the start, within the header, within a decision
def test_a_full_disk_that_is_freed_later_leaves_a_whole_log(tmp_path, room):
    path = tmp_path / "run.jsonl"
    path.write_bytes(b"\n" * 8192)  # blank lines count for nothing
    job = a_job(path)
    with full_disk(8192 + room):
        train(job, 1, 200)
    assert 8192 <= path.stat().st_size <= 8192 + room
    assert path.read_bytes().endswith(b"\n")  # no half line
    train(job, 201, TOTAL)
    log = read_log(path)
    assert log.decisions == job.decisions and (log.skipped, log.jobs) == (0, 1)
    assert len([text for text in job.warnings if "could not be written, training goes on" in text]) == 1
    assert log.warnings == job.warnings


def test_a_disk_that_is_full_for_good_is_one_warning(tmp_path):
    path = tmp_path / "run.jsonl"
    path.symlink_to("/dev/full")
    job = a_job(path)
    rates = train(job, 1, TOTAL)
    assert rates == train(Scheduler(FORECASTER, TOTAL, samples=6, tolerance=1000.0, hysteresis=None), 1, TOTAL)
    assert [text for text in job.warnings if "No space left" in text] == job.warnings and len(job.warnings) == 1


def test_two_jobs_on_one_path_take_a_file_each_and_say_so(tmp_path):
    path, other = tmp_path / "run.jsonl", tmp_path / "run-2.jsonl"
    first, second = a_job(path, seed=1), a_job(path, seed=2)
    for start in range(1, TOTAL, 20):
        train(first, start, start + 19)
        train(second, start, start + 19)
    assert read_log(path).decisions == second.decisions
    assert read_log(other).decisions == first.decisions
    assert (read_log(path).header["seed"], read_log(other).header["seed"]) == (2, 1)
    (said,) = first.warnings
    assert str(path) in said and str(other) in said and "Fix: give each job a log of its own" in said
    assert second.warnings == [] and read_log(other).warnings == first.warnings


def test_three_jobs_on_one_path_lose_nothing(tmp_path):
    path = tmp_path / "run.jsonl"
    jobs = [a_job(path, seed=seed) for seed in range(3)]
    for start in range(1, TOTAL, 20):
        for job in jobs:
            train(job, start, start + 19)
    files = sorted(tmp_path.glob("*.jsonl"))
    assert len(files) == 3
    assert sorted(read_log(file).header["seed"] for file in files) == [0, 1, 2]
    for file in files:
        assert read_log(file).decisions == jobs[read_log(file).header["seed"]].decisions


def test_a_job_that_is_run_again_does_not_hide_the_first(tmp_path):
    path = tmp_path / "run.jsonl"
    first, again = a_job(path, seed=1), a_job(path, seed=2)
    train(first, 1, TOTAL)
    train(again, 1, 200)
    assert read_log(path).decisions == read_log(path, 2).decisions == again.decisions
    assert read_log(path, 1).decisions == first.decisions
    assert read_log(path).jobs == 2
    with pytest.raises(LodestarError, match="holds 2 job"):
        read_log(path, 3)


@pytest.mark.parametrize("looked_ahead", [False, True])  # torch asks for the first rate before a checkpoint is loaded
def test_a_resumed_job_goes_on_in_its_own_log_though_others_use_it(tmp_path, looked_ahead):
    path = tmp_path / "run.jsonl"
    first = a_job(path, seed=1)
    train(first, 1, 200)
    saved = first.state_dict()
    train(a_job(path, seed=2), 1, 100)
    again = a_job(path, seed=1)
    if looked_ahead:
        again.lr_at(1)
    again.load_state_dict(saved)
    train(again, 201, TOTAL)
    log = read_log(path)
    assert (log.decisions, log.header["seed"], log.jobs) == (again.decisions, 1, 2)
    assert len(kinds(path)) < 1.6 * len(again.decisions) + 8  # what is there is not written twice


def test_a_job_resumed_where_its_log_is_not_has_a_whole_one(tmp_path):
    first = a_job(tmp_path / "here.jsonl")
    train(first, 1, 200)
    again = a_job(tmp_path / "there.jsonl")
    again.load_state_dict(first.state_dict())
    train(again, 201, TOTAL)
    assert read_log(tmp_path / "there.jsonl").decisions == again.decisions


def test_a_log_of_release_one_goes_on_with_its_own_lines(tmp_path):
    path = tmp_path / "run.jsonl"
    first = a_job(path)
    train(first, 1, 200)
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    del lines[0]["job"]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    again = a_job(path)
    again.lr_at(1)
    again.load_state_dict(first.state_dict())
    train(again, 201, TOTAL)
    assert read_log(path).decisions == again.decisions and read_log(path).jobs == 1


def test_a_log_without_its_header_is_read_all_the_same(tmp_path):
    path = tmp_path / "run.jsonl"
    job = a_job(path)
    train(job, 1, TOTAL)
    path.write_bytes(path.read_bytes().partition(b"\n")[2])
    log = read_log(path)
    assert (log.header, log.run_name, log.facts, log.decisions) == ({}, None, {}, job.decisions)


def test_lines_that_are_no_decisions_are_counted_not_fatal(tmp_path):
    path = tmp_path / "run.jsonl"
    job = a_job(path)
    train(job, 1, TOTAL)
    lines = path.read_text().splitlines()
    bad = [
        {"outcome_kind": "from a later version"},
        {"outcome_kind": 3},
        {"lr": [[1]]},
        {"winners": [{}]},
        {"step": "x"},
    ]
    changed = [json.dumps(json.loads(line) | change) for line, change in zip(lines[2:], bad, strict=False)]
    path.write_text("\n".join([*lines[:2], *changed, *lines[7:], "[" * 100_000, '{"kind": "warning", "text": 3}', ""]))
    log = read_log(path)
    assert log.skipped == len(bad) + 2
    assert log.decisions == [job.decisions[0], *job.decisions[6:]]


def test_an_outcome_is_read_by_its_kind_whatever_the_sentence(tmp_path):
    path = tmp_path / "run.jsonl"
    job = a_job(path)
    train(job, 1, 100)
    text = path.read_text()
    for outcome in Outcome:
        text = text.replace(str(outcome), "in other words")
    path.write_text(text)
    assert [d.outcome for d in read_log(path).decisions] == [d.outcome for d in job.decisions]
