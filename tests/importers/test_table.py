"""Import of tables, on files as people have them."""

import csv
import gzip
import json
import math
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lodestar._errors import TableError
from lodestar.importers.readers._table_file import BLANKS
from lodestar.importers.readers.table import TableReader
from lodestar.importers.tables import import_tables, open_tables, read_tables
from lodestar.runs import Direction, NoteKind, RunStore, Series, Status
from lodestar.testing import ReaderContract


class TestLongTable(ReaderContract):
    remembers = False  # a table is read each time

    def make(self, place, runs):
        for run in runs:
            steps = sorted({step for curve in run.curves.values() for step in curve})
            with (place / f"{run.name}.csv").open("w", newline="") as file:
                writer = csv.writer(file)
                writer.writerow(["run", "step", *run.curves, *run.config])
                for step in steps:
                    values = [curve.get(step) for curve in run.curves.values()]
                    writer.writerow([run.name, step, *values, *run.config.values()])

    def open(self, place):
        return TableReader(place.glob("*.csv"))

    def nowhere(self, place):
        return TableReader(place)


HEAD = "run,step,loss,val_acc,lr\n"


@pytest.fixture
def read(tmp_path):
    """Write a text to a file and import it."""

    def write_and_read(name, text, **options):
        (tmp_path / name).write_text(text)
        return read_tables([tmp_path / name], **options)

    return write_and_read


def test_a_long_table(read):
    runs, report = read("t.csv", HEAD + "a,1,3,.1,.01\nb,1,4,.2,.02\na,2,2,.3,.01\nb,2,3,.4,.02\n")
    assert runs[0].name == "a"
    assert runs[0].loss == Series([1, 2], [3, 2])
    assert runs[1].metric == Series([1, 2], [0.2, 0.4])
    assert report.imported == ["a", "b"]
    assert report.left_out == [] and report.notes == []


def test_facts_come_along(read):
    text = "run,step,loss,val_acc,lr,shape,peak_lr,seed,dataset\na,1,3,.1,.01,cosine,0.01,7,cifar\n"
    [run] = read("t.csv", text)[0]
    assert (run.facts.schedule, run.facts.peak_lr, run.facts.seed, run.facts.task) == ("cosine", 0.01, 7, "cifar")
    assert run.facts.source == "t.csv"
    assert (run.direction, run.metric_name) == (Direction.MAX, "val_acc")


def test_blank_cells_were_not_logged(read):
    [run] = read("t.csv", "step,loss,val_acc,lr\n1,3,,.1\n2,2,.5,\n3,1,,NA\n")[0]
    assert run.metric == Series([2], [0.5])
    assert run.lr == Series([1], [0.1])
    assert len(run.loss) == 3


def test_a_nan_loss_at_the_end_is_divergence(read):
    [run] = read("t.csv", "step,loss,val_acc,lr\n1,3,.1,.1\n2,inf,.1,.1\n3,nan,.1,.1\n")[0]
    assert run.status is Status.DIVERGED
    assert run.loss == Series([1, 2, 3], [3, math.inf, math.nan])


def test_nan_that_only_fill_a_sparse_column_are_taken_out_and_noted(read):
    rows = "".join(f"{i},{3 - i / 10},{0.5 if i % 5 == 0 else 'nan'},.1\n" for i in range(23))
    [run], report = read("t.csv", "step,loss,val_acc,lr\n" + rows)
    assert list(run.metric.steps) == [0, 5, 10, 15, 20]
    assert run.status is Status.FINISHED
    assert "18 NaN were taken as 'not logged there'" in report.notes[0][1]


def test_one_nan_loss_in_the_middle_is_kept(read):
    rows = "".join(f"{i},{'nan' if i == 5 else 1},.5,.1\n" for i in range(20))
    [run] = read("t.csv", "step,loss,val_acc,lr\n" + rows)[0]
    assert math.isnan(run.loss.values[5])


def test_a_resumed_run_is_merged_the_last_wins_and_says_so(read):
    text = "step,loss,val_acc,lr\n1,9,.1,.1\n2,8,.1,.1\n3,7,.1,.1\n2,5,.2,.1\n3,4,.3,.1\n4,3,.4,.1\n"
    [run], report = read("t.csv", text)
    assert run.loss == Series([1, 2, 3, 4], [9, 5, 4, 3])
    [(_, note)] = report.notes
    assert note.startswith("loss, metric, lr: steps 2-3 logged more than once (the run was resumed)")
    assert run.notes == (note,)
    assert run.notes[0].kind is NoteKind.REPEATED_STEPS


def test_unsorted_rows_are_sorted_and_noted(read):
    [run], report = read("t.csv", "step,loss,val_acc,lr\n3,1,.3,.1\n1,3,.1,.1\n2,2,.2,.1\n")
    assert list(run.loss.values) == [3, 2, 1]
    assert "not in the order of steps" in report.notes[0][1]


def test_a_run_that_breaks_a_rule_is_left_out_with_the_reason(read):
    runs, report = read("t.csv", HEAD + "bad,1,2,.1,-.1\ngood,1,2,.1,.1\n")
    assert [run.name for run in runs] == ["good"]
    [(name, reason)] = report.left_out
    assert name == "bad" and "got -0.1 at step 1" in reason


def test_rows_without_a_run_or_a_step_are_reported(read):
    runs, report = read("t.csv", HEAD + ",1,2,.1,.1\na,,2,.1,.1\na,1,2,.1,.1\n")
    assert len(runs[0].loss) == 1
    assert report.left_out == [("(no name)", "1 rows name no run")]
    assert report.notes == [("a", "1 rows have no step and were left out")]


def test_a_missing_lr_is_kept_and_noted(read):
    [run], report = read("t.csv", "step,loss,val_acc\n1,2,.1\n2,1,.2\n")
    assert len(run.lr) == 0
    assert report.notes == [("t", "no learning rate was logged")]


@pytest.mark.parametrize("sign", [";", "\t"])
def test_other_separators_are_noticed(read, sign):
    [run] = read("t.csv", "step,loss,val_acc,lr\n1,2,.1,.1\n".replace(",", sign))[0]
    assert run.final_metric == 0.1


def test_a_compressed_table(tmp_path):
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(b"step,loss,val_acc,lr\n1,2,.1,.1\n"))
    [run] = read_tables([tmp_path / "t.csv.gz"])[0]
    assert (run.name, run.final_metric) == ("t", 0.1)


def test_pieces_of_a_run_in_two_files_come_together_and_say_so(tmp_path):
    (tmp_path / "1.csv").write_text(HEAD + "a,1,2,.1,.1\n")
    (tmp_path / "2.csv").write_text(HEAD + "a,2,1,.2,.1\n")
    [run], report = read_tables([tmp_path])
    assert len(run.loss) == 2
    assert report.notes == [("a", "rows come from 2 files (1.csv, 2.csv)")]


def test_a_planned_length_tells_a_run_cut_short(read):
    rows = "".join(f"a,{i},1,.5,.1,100\n" for i in range(0, 100, 10)) + "".join(
        f"b,{i},1,.5,.1,100\n" for i in range(50)
    )
    a, b = read("t.csv", "run,step,loss,val_acc,lr,total_steps\n" + rows)[0]
    assert (a.status, a.total_steps) == (Status.FINISHED, 100)
    assert (b.status, b.total_steps) == (Status.CUT_SHORT, 100)


@pytest.mark.parametrize(("word", "status"), [("diverged", "diverged"), ("killed", "cut short"), ("done", "finished")])
def test_a_status_column_is_believed(read, word, status):
    [run] = read("t.csv", f"step,loss,val_acc,lr,status\n1,2,.1,.1,\n2,1,.1,.1,{word}\n")[0]
    assert run.status == status


def test_epochs_stand_in_for_steps(read):
    [run], report = read("t.csv", "epoch,loss,val_acc,lr,epochs\n0,2,.1,.1,2\n1,1,.2,.1,2\n")
    assert list(run.loss.steps) == [1, 2]
    assert (run.total_steps, run.status) == (2, Status.FINISHED)
    assert "steps are epochs, counted from 1" in report.notes[0][1]


def test_a_wide_table(read):
    text = "step,r1/loss,r1/lr,r1/val_acc,r2/loss,r2/lr,r2/val_acc\n1,3,.1,,4,.2,\n2,2,.1,.5,3,.2,.6\n"
    runs, report = read("t.csv", text)
    assert report.guess.layout == "wide"
    assert [(run.name, run.final_metric, run.peak_lr) for run in runs] == [("r1", 0.5, 0.1), ("r2", 0.6, 0.2)]


def test_wide_files_with_a_quantity_each_come_together(tmp_path):
    (tmp_path / "loss.csv").write_text("Step,a - train/loss,b - train/loss\n1,2,3\n2,1,2\n")
    (tmp_path / "acc.csv").write_text("Step,a - val/acc,b - val/acc\n2,.5,.6\n")
    runs, _ = read_tables([tmp_path])
    assert [(run.name, len(run.loss), run.final_metric) for run in runs] == [("a", 2, 0.5), ("b", 2, 0.6)]


def test_one_file_for_each_run(tmp_path):
    for name in ("x", "y"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "metrics.csv").write_text("step,loss,val_acc,lr\n1,2,.1,.1\n")
    assert [run.name for run in read_tables([tmp_path])[0]] == ["x/metrics", "y/metrics"]


def test_json_lines_with_keys_that_differ(read):
    text = (
        '{"step": 1, "loss": 2, "lr": 0.1}\n\n{"step": 1, "val": {"acc": 0.5}}\n{"step": 2, "loss": NaN, "lr": null}\n'
    )
    [run] = read("t.jsonl", text)[0]
    assert run.metric == Series([1], [0.5])
    assert len(run.lr) == 1
    assert run.status is Status.DIVERGED


def test_half_a_line_at_the_end_of_a_killed_log(read):
    text = '{"step": 1, "loss": 2, "val_acc": 0.5}\n{"step": 2, "lo'
    [run], report = read("t.jsonl", text)
    assert len(run.loss) == 1
    assert ("t.jsonl", "the last line (2) is cut off and was left out") in report.notes


def test_a_broken_line_in_the_middle_is_an_error_with_its_number(read):
    with pytest.raises(TableError, match=r"t\.jsonl, line 2: not JSON"):
        read("t.jsonl", '{"step": 1, "loss": 2}\n{oops\n{"step": 2, "loss": 1}\n')


def test_a_trainer_state(read):
    log = [
        {"step": 10, "epoch": 0.1, "loss": 2.0, "learning_rate": 1e-3},
        {"step": 10, "epoch": 0.1, "eval_loss": 2.1, "eval_runtime": 3.0},
        {"step": 20, "epoch": 0.2, "loss": 1.0, "learning_rate": 5e-4},
        {"step": 20, "train_loss": 1.5, "train_runtime": 9.0},
    ]
    [run] = read("trainer_state.json", json.dumps({"max_steps": 100, "log_history": log}))[0]
    assert run.loss == Series([10, 20], [2.0, 1.0])
    assert (run.metric_name, run.direction, run.status) == ("eval_loss", Direction.MIN, Status.CUT_SHORT)


def test_a_list_of_runs_with_config_and_history(read):
    history = [{"epoch": i, "train_loss": 2.0 - i, "val_score": 0.1 * i, "learning_rate": 0.1} for i in range(2)]
    config = {"opt": {"lr": 0.1, "lr_schedule": "constant"}, "max_epoch": 2, "batch_size": 8}
    runs, _ = read("h.json", json.dumps([{"config": config, "history": history}] * 2))
    assert [run.name for run in runs] == ["h-000", "h-001"]
    assert runs[0].facts.schedule == "constant"
    assert runs[0].facts.extra == {"config.batch_size": 8, "lodestar_epochs": True}


def test_a_dict_of_lists(read):
    [run], report = read(
        "h.json", json.dumps({"loss": [3, 2, 1], "val_accuracy": [0.1, None, 0.3], "lr": [0.1, 0.1, 0.1]})
    )
    assert run.metric == Series([1, 3], [0.1, 0.3])
    assert "steps are row numbers" in report.notes[0][1]


def test_runs_by_name_in_json(read):
    runs, _ = read("h.json", json.dumps({"a": {"loss": [1], "val_acc": [1]}, "b": [{"loss": 2, "val_acc": 0}]}))
    assert [run.name for run in runs] == ["a", "b"]


@pytest.mark.parametrize("text", ["{", "[]", "3", '{"a": 1}', "[1, 2]"])
def test_json_without_runs_is_an_error_that_names_the_file(read, text):
    with pytest.raises(TableError, match=r"h\.json"):
        read("h.json", text)


def test_parquet_in_many_row_groups(tmp_path):
    steps = np.tile(np.arange(1, 101), 50)
    table = pa.table({"run": np.repeat([f"r{i}" for i in range(50)], 100), "step": steps, "loss": 1.0 / steps})
    table = table.append_column("val_acc", pa.array([None if s % 10 else 0.5 for s in steps]))
    pq.write_table(table, tmp_path / "t.parquet", row_group_size=333)
    runs, _ = read_tables([tmp_path / "t.parquet"])
    assert len(runs) == 50
    assert all(len(run.loss) == 100 and len(run.metric) == 10 for run in runs)


def test_a_truncated_parquet_file_is_named(tmp_path):
    pq.write_table(pa.table({"step": [1], "loss": [1.0], "val_acc": [1.0]}), tmp_path / "t.parquet")
    data = (tmp_path / "t.parquet").read_bytes()
    (tmp_path / "t.parquet").write_bytes(data[:-20])
    with pytest.raises(TableError, match=r"cannot read .*t\.parquet.*Fix"):
        read_tables([tmp_path / "t.parquet"])


def test_a_column_first_logged_late_in_a_large_csv(read):
    rows = "".join(f"{i},{1 + i % 7},,0.1\n" for i in range(200_000)) + "200000,1,0.5,0.1\n"
    [run] = read("t.csv", "step,loss,val_acc,lr\n" + rows)[0]
    assert run.metric == Series([200_000], [0.5])


def test_text_in_a_number_column_names_the_value(read):
    with pytest.raises(TableError, match=r"t\.csv.*'oops'.*Fix"):
        read("t.csv", "step,loss,val_acc\n1,oops,.1\n")


def test_a_row_with_too_few_cells_is_left_out_and_noted(read):
    [run], report = read("t.csv", "step,loss,val_acc\n1,2,.1\n2,1\n")
    assert len(run.loss) == 1
    assert any("2 cells instead of 3" in note for _, note in report.notes)


@pytest.mark.parametrize("name", ["t.csv", "t.jsonl", "t.parquet"])
def test_an_empty_file_is_an_error_or_no_runs(read, name):
    with pytest.raises(TableError):
        read(name, "")


def test_a_table_of_headings_has_no_runs(read):
    runs, report = read("t.csv", "step,loss,val_acc\n")
    assert len(runs) == 0 and report.imported == []


def test_unknown_endings_and_missing_files_are_named(tmp_path):
    (tmp_path / "t.xlsx").write_text("")
    with pytest.raises(TableError, match=r"format \.xlsx is not known.*\.csv"):
        read_tables([tmp_path / "t.xlsx"])
    with pytest.raises(TableError, match="there is no file"):
        read_tables([tmp_path / "none.csv"])


def test_two_columns_of_one_name_are_refused(read):
    with pytest.raises(TableError, match="two columns are called 'loss'"):
        read("t.csv", "step,loss,loss,val_acc\n1,2,3,.1\n")


def test_names_may_be_long_foreign_or_numbers(read):
    long = "n" * 10_000
    runs, _ = read("t.csv", HEAD + f"{long},1,2,.1,.1\n実験/β,1,2,.1,.1\n007,1,2,.1,.1\n")
    assert [run.name for run in runs] == [long, "実験/β", "007"]


def test_import_into_a_store_says_what_it_replaced(tmp_path):
    (tmp_path / "t.csv").write_text(HEAD + "a,1,2,.1,.1\n")
    store = RunStore(tmp_path / "s")
    assert import_tables([tmp_path / "t.csv"], store).replaced == []
    (tmp_path / "t.csv").write_text(HEAD + "a,1,9,.1,.1\nb,1,2,.1,.1\n")
    report = import_tables([tmp_path / "t.csv"], store)
    assert report.replaced == ["a"]
    assert store.read()[0].loss.values[0] == 9
    json.dumps(report.as_dict())


def test_the_guess_is_there_before_a_row_is_read(tmp_path):
    (tmp_path / "t.csv").write_text("step,loss,val_acc\n1,oops,.1\n")
    assert open_tables([tmp_path / "t.csv"]).mapped.guess["metric"] == "val_acc"


def test_a_task_is_a_name_or_a_column(read):
    text = "step,loss,val_acc,what\n1,2,.1,digits\n"
    assert read("t.csv", text, task="mnist")[0][0].facts.task == "mnist"
    assert read("t.csv", text, task="what")[0][0].facts.task == "digits"


@pytest.mark.parametrize("step", ["0.5", "inf", "1e300"])
def test_a_step_that_is_no_whole_number_leaves_the_run_out(read, step):
    runs, report = read("t.csv", f"run,epoch,loss,val_acc\na,{step},2,.1\nb,1,2,.1\n")
    assert [run.name for run in runs] == ["b"]
    assert "--step COLUMN" in report.left_out[0][1]


def test_progress_counts_files_and_rows(tmp_path):
    for name in "ab":
        (tmp_path / f"{name}.csv").write_text("step,loss,val_acc\n1,2,.1\n2,1,.2\n")
    seen = []
    list(open_tables([tmp_path], on_rows=lambda *counts: seen.append(counts)).read())
    assert seen == [(0, 2, 2), (1, 2, 4)]


numbers = st.none() | st.floats(allow_nan=False, allow_infinity=False)
names = st.text(st.characters(codec="utf-8", exclude_categories=["Cc"]), min_size=1, max_size=8).filter(
    lambda name: name.strip() == name and name not in BLANKS
)


@given(
    st.dictionaries(names, st.dictionaries(st.integers(0, 999), st.tuples(numbers, numbers), min_size=1), min_size=1)
)
@settings(max_examples=60, deadline=None)
def test_what_was_written_to_a_csv_is_what_comes_in(tables):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "t.csv"
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(["run", "step", "loss", "val_acc"])
            for name, rows in tables.items():
                writer.writerows([name, step, *values] for step, values in rows.items())
        runs, report = read_tables([path])
    wanted = {name: rows for name, rows in tables.items() if any(loss is not None for loss, _ in rows.values())}
    assert {run.name for run in runs} == set(wanted)
    assert len(report.left_out) == len(tables) - len(wanted)
    for run in runs:
        for curve, place in ((run.loss, 0), (run.metric, 1)):
            logged = {step: row[place] for step, row in sorted(wanted[run.name].items()) if row[place] is not None}
            assert curve == Series(list(logged), list(logged.values()))


def test_files_with_other_words_for_the_loss_are_read_with_a_note(tmp_path):
    (tmp_path / "a.csv").write_text("step,train_loss,val_acc\n1,2,.1\n2,1,.2\n")
    (tmp_path / "b.csv").write_text("step,objective,val_acc\n1,2,.1\n2,1,.2\n")
    runs, report = read_tables([tmp_path])
    assert [len(run.loss) for run in runs] == [2, 2]
    assert ("b", "its loss is 'objective' (other runs have 'train_loss')") in report.notes


def test_equal_steps_in_a_table_are_repeated_rows(read):
    [run], _ = read("t.csv", "step,loss,val_acc,lr\n5,3,.1,.1\n5,2,.2,.1\n")
    assert run.loss == Series([5], [2])


def test_json_lines_too_many_to_hold_are_read_again(tmp_path, monkeypatch):
    monkeypatch.setattr("lodestar.importers.readers._table_file._HELD_CELLS", 3)
    rows = [{"run": name, "step": step, "loss": 1 / step, "val_acc": 0.5} for name in "ab" for step in (1, 2, 3)]
    (tmp_path / "t.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    runs, _ = read_tables([tmp_path / "t.jsonl"])
    assert [(run.name, len(run.loss)) for run in runs] == [("a", 3), ("b", 3)]


GOOD = "step,loss,val_acc,lr\n" + "".join(f"{step},{3 / step},{0.1 * step},0.01\n" for step in range(1, 6))


def _broken_parquet() -> bytes:
    buffer = pa.BufferOutputStream()
    pq.write_table(pa.table({"step": [1, 2, 3], "loss": [3.0, 2.0, 1.0]}), buffer)
    return buffer.getvalue().to_pybytes()[:-60]


BROKEN = {
    "no.parquet": _broken_parquet(),
    "no.jsonl": b'{"step": 1, "loss": 3}\n{"step": 2, "loss\n{"step": 3, "loss": 1}\n',
    "words.jsonl": b'{"step": 1, "loss": "three"}\n{"step": 2, "loss": 1}\n',
    "steps.jsonl": b'{"step": "first", "loss": 3}\n{"step": 2, "loss": 1}\n',
    "no.json": b"[" * 100_000,
    "settings.json": b'{"lr": 0.1}',
    "twice.csv": b"step,loss,loss\n1,2,3\n",
    "words.csv": b"step,loss,lr\n1,three,0.01\n2,2.5,0.01\n",
    "odd.csv": b"step,loss,val_acc,lr\n1,\xff\xfe3,0.1,0.01\n",
    "cut.csv.gz": gzip.compress(GOOD.encode() * 400)[:40],
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_file_of_a_folder_costs_no_other(tmp_path, name):
    for other in ("a.csv", "z.csv"):
        (tmp_path / other).write_text(GOOD)
    (tmp_path / name).write_bytes(BROKEN[name])
    store = RunStore(tmp_path / "runs")
    report = import_tables([tmp_path], store)
    assert [run.name for run in store] == ["a", "z"]
    [(_, reason)] = report.left_out
    assert name in reason


def test_a_broken_file_costs_the_runs_that_lie_in_it_in_part(tmp_path):
    (tmp_path / "1.csv").write_text(HEAD + "a,1,3,.1,.01\nb,1,3,.1,.01\na,2,2,.2,.01\nb,2,2,.2,.01\n")
    (tmp_path / "2.csv").write_text(HEAD + "b,3,one,.3,.01\nc,1,2,.3,.01\n")
    runs, report = read_tables([tmp_path])
    assert [run.name for run in runs] == ["a"]
    assert sorted(name for name, _ in report.left_out) == ["b", "c"]
    assert all("2.csv" in reason for _, reason in report.left_out)


def test_where_no_file_can_be_read_that_is_an_error(tmp_path):
    for name in ("1.json", "2.json"):
        (tmp_path / name).write_text("{")
    with pytest.raises(TableError, match=r"2\.json"):
        read_tables([tmp_path])
