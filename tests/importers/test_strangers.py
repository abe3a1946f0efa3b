"""Tables as strangers have them: no column that names the runs, several metrics, settings beside the curves."""

import csv
import itertools

import numpy as np
import pytest
from typer.testing import CliRunner

from lodestar.cli import app
from lodestar.cli.evaluate import _wanted
from lodestar.importers.tables import read_tables
from lodestar.runs import NoteKind, RunStore

HEAD = [
    "workload",
    "params",
    "peak",
    "trial",
    "step",
    "train_loss",
    "val_accuracy",
    "val_error",
    "learning_rate",
    "time",
]
SETTINGS = list(itertools.product(["cifar", "wmt"], [1000, 20_000], [1e-3, 3e-3, 1e-2], range(1, 6)))


def rows(settings=SETTINGS):
    """60 runs: 5 trials of each setting. Ten have an accuracy, 45 an error, the others neither."""
    random = np.random.default_rng(0)
    for number, (workload, params, peak, trial) in enumerate(settings, 1):
        for step in range(0, 101, 10):
            loss = 3 * np.exp(-step / 80)
            accuracy = 0.9 - loss / 10 if number % 6 == 0 else ""
            error = 0.1 + loss / 10 if number % 6 and number % 11 else ""
            lr = peak * (1 - step / 110)
            yield [workload, params, peak, trial, step, loss, accuracy, error, lr, random.uniform()]


@pytest.fixture
def table(tmp_path):
    def write(lines, head=HEAD, name="history.csv"):
        with (tmp_path / name).open("w", newline="") as file:
            csv.writer(file).writerows([head, *lines])
        return tmp_path / name

    return write


def merged(report):
    return [note for _, note in report.notes if note.kind is NoteKind.RUNS]


def test_a_trial_that_counts_repeats_is_not_taken_for_the_run(table):
    runs, report = read_tables([table(rows())])
    assert len(runs) == 60
    assert report.guess["run"] == "workload,params,peak,trial"
    assert {len(run.loss) for run in runs} == {11}
    assert runs[0].name == "workload=cifar params=1000 peak=0.001 trial=1"
    [note] = merged(report)
    assert "60 runs (not 'trial': 5 runs, with 92% of the rows at a step their run has already)" in note


def test_rows_in_the_order_of_steps_make_the_same_runs(table):
    lines = list(rows())
    named = read_tables([table(lines)])[0]
    mixed = read_tables([table(sorted(lines, key=lambda row: row[4]), name="mixed.csv")])[0]
    assert {run.name: run.loss for run in mixed} == {run.name: run.loss for run in named}


def test_the_metric_that_most_runs_have_is_taken_and_counted(table):
    runs, report = read_tables([table(rows())])
    assert report.guess["metric"] == "val_error"
    assert report.guess.reasons["metric"] == "a validation figure; 45 of 60 runs have it"
    assert sum(len(run.metric) > 0 for run in runs) == 45


def test_a_better_column_comes_before_one_with_a_likelier_name(table):
    lines = [[f"job-{n // 11}", 1, *row[4:6], row[7] or 0.5] for n, row in enumerate(rows())]
    _, report = read_tables([table(lines, ["job", "run", "step", "loss", "val_error"])])
    assert (report.guess["run"], len(report.imported)) == ("job", 60)
    assert "('run' does not)" in report.guess.reasons["run"]


def test_without_any_name_the_settings_tell_the_runs_apart(table):
    lines = [[row[2], row[4], row[5], row[7] or 0.5] for row in rows(SETTINGS[:15]) if row[3] == 1]
    runs, _ = read_tables([table(lines, ["peak", "step", "loss", "val_error"])])
    assert [run.name for run in runs] == ["peak=0.001", "peak=0.003", "peak=0.01"]


def test_files_of_several_runs_each_are_part_of_the_name(table, tmp_path):
    lines = [[row[2], row[4], row[5], row[7] or 0.5] for row in rows(SETTINGS[:15]) if row[3] == 1]
    for name in ("a.csv", "b.csv"):
        table(lines, ["peak", "step", "loss", "val_error"], name)
    names = [run.name for run in read_tables([tmp_path / "a.csv", tmp_path / "b.csv"])[0]]
    assert names == [f"{file} peak={peak}" for file in "ab" for peak in (0.001, 0.003, 0.01)]


def test_what_stays_merged_is_said_loudly_on_the_command_line(table, tmp_path):
    path = table(rows())
    done = CliRunner().invoke(app, ["import", "table", str(path), "--run", "trial", "-o", str(tmp_path / "s")])
    assert done.exit_code == 0, done.output
    assert "Warning: history.csv: runs were told by 'trial': 5 runs, with 92% of the rows" in done.stderr
    assert "Fix: --run COLUMN, or --run COLUMN,COLUMN" in done.stderr


def test_several_columns_may_be_named(table, tmp_path):
    runs, report = read_tables([table(rows())], run="workload,params,peak,trial")
    assert len(runs) == 60 and merged(report) == []


def test_a_resumed_run_is_one_run_and_a_session_is_no_name(table):
    steps = [*range(0, 60, 10), *range(30, 101, 10)]
    lines = [["a", n // 6, step, 3 - step / 50, 0.5] for n, step in enumerate(steps)]
    runs, report = read_tables([table(lines, ["run", "session", "step", "loss", "val_acc"])])
    assert [run.name for run in runs] == ["a"]
    assert merged(report) == []


def test_every_constant_column_is_a_fact_and_can_be_asked_for(table, tmp_path):
    store = RunStore(tmp_path / "s")
    runs, _ = read_tables([table(rows())])
    store.add_many(runs)
    facts = store.read()[0].facts
    assert facts.extra == {"params": 1000, "peak": 0.001, "trial": 1}
    assert facts.task == "cifar"
    wanted = [run for run in store.read() if _wanted(run, {"params": ["2e4"], "peak": ["0.003"]})]
    assert len(wanted) == 10


def test_what_varies_or_is_a_single_figure_is_no_fact(table):
    lines = [[n, n / 7, 3 - n / 5, 0.5, "x", 0.9 if n == 4 else ""] for n in range(5)]
    head = ["step", "seconds", "loss", "val_acc", "note", "test_acc"]
    [run] = read_tables([table(lines, head)])[0]
    assert run.facts.extra == {"note": "x"}
