"""The protocol carried out on a real task, in this process: what is stored, resumed, refused, counted and told."""

import contextlib
import json
import math
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from bench_testing.here import Here
from lodestar._errors import SweepError
from lodestar.cli import app
from lodestar.runs import Status
from lodestar.sweep import Failed
from lodestar_bench._errors import BenchError
from lodestar_bench.entry import open_bench
from lodestar_bench.home import Home
from lodestar_bench.protocol import carry_out
from lodestar_bench.report.story import story
from lodestar_bench.table import table

OWN = Path(__file__).with_name("bench_testing") / "own_methods.py"
SOME = ("constant", *(f"{OWN}:{name}" for name in ("Mine", "Raises", "Diverges", "FromRuns", "ByTraining")))


def bench(out, wanted=SOME, *, tune=(2, 1), seeds=2, **more):
    return open_bench("digits-mlp", "smoke", out, wanted=wanted, tune=tune, seeds=seeds, **more)


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    """A bench of six methods, carried out."""
    found = bench(tmp_path_factory.mktemp("bench"))
    events = []
    carry_out(found, Here(), on_event=events.append)
    return found, events


def test_every_run_lands_in_the_store_under_its_name(done):
    found, _ = done
    names = {summary.name for summary in found.home.runs.list()}
    for name in ("tune/constant/0.003/0", "final/mine/0.03/1001", "final/by-training/2-runs/1000"):
        assert name in names
    assert not any(name.startswith("learn/") for name in names)


def test_a_stored_run_carries_curves_facts_and_test_metrics(done):
    found, _ = done
    run = found.home.runs.read(["tune/constant/0.003/0"])[0]
    assert run.status is Status.FINISHED
    assert run.total_steps == found.problem.total_steps == run.last_step
    assert len(run.loss) > 20 and len(run.metric) >= 10
    assert np.allclose(run.lr.values, 0.003)
    assert (run.facts.task, run.facts.schedule, run.facts.seed) == ("digits-mlp", "constant", 0)
    assert 0 < run.facts.extra["test_metric"] <= 1
    assert run.facts.extra["best_metric"] == max(run.metric.values)
    assert run.notes == ()


def test_compiling_is_told_apart_from_a_runs_own_time(tmp_path):
    """A task that this process has never seen: its first run compiles, the next one need not."""
    (tmp_path / "fresh_task.py").write_text(OWN.with_name("own_task.py").read_text())
    spec = f"{tmp_path / 'fresh_task.py'}:my_digits"
    found = open_bench(spec, "smoke", tmp_path, wanted=("constant",), tune=(2, 1), seeds=1)
    carry_out(found, Here())
    records = found.results().records
    first, second = records["tune/constant/0.003/0"], records["tune/constant/0.03/0"]
    assert first.compile_seconds > 0 and first.own_seconds < first.seconds
    assert (second.compile_seconds, second.own_seconds) == (0, second.seconds)


def test_the_choice_is_what_the_store_says(done):
    found, _ = done
    results = found.results()
    best = {
        value: max(found.home.runs.read([f"tune/constant/{value:g}/0"])[0].metric.values) for value in (0.003, 0.03)
    }
    choice = found.plan.choice(found.plan.entrants[0], results)
    assert choice is not None
    assert choice.value == max(best, key=lambda value: best[value])


def test_a_method_that_learns_from_runs_sees_the_shapes_runs_only(done):
    found, _ = done
    [row] = [summary for summary in found.home.learnings.list() if "from-runs" in summary.name]
    assert row.facts.extra["runs_learned_from"] == 8  # four shapes, two values, one seed
    rate = json.loads(found.home.knowledge(row.name).read_text())["rate"]
    assert {s.facts.extra["learned_rate"] for s in found.home.runs.list() if "final/from-runs" in s.name} == {rate}


def test_a_method_that_raises_is_told_and_the_rest_goes_on(done):
    found, events = done
    failed = {event.trial.name: event.reason for event in events if isinstance(event, Failed)}
    assert set(failed) == {"tune/raises/0.01/0", "tune/raises/0.03/0"}
    row = table(found.plan, found.results()).rows[-1]
    assert (row.entrant.name, row.trouble) == ("raises", "it raised RuntimeError: no such layer")


def test_divergence_is_kept_counted_and_chosen_against(done):
    found, _ = done
    row = table(found.plan, found.results()).row("diverges")
    assert (row.setting, row.diverged_tuning, row.diverged, row.finals.count) == ("0.01", 1, 1, 2)
    run = found.home.runs.read(["final/diverges/0.01/1001"])[0]
    assert run.status is Status.DIVERGED
    assert row.worst == found.results().floor


def test_nothing_is_left_and_a_second_call_runs_nothing(done):
    found, _ = done
    again = Here()
    carry_out(bench(found.home.path.parent), again)
    assert again.names == []


def test_more_seeds_run_only_the_new_ones(done, tmp_path):
    found, _ = done
    again = Here()
    carry_out(bench(found.home.path.parent, ("constant",), seeds=3), again)
    setting = table(found.plan, found.results()).row("constant").setting
    assert again.names == [f"final/constant/{setting}/1002"]
    bench(found.home.path.parent)  # as it was


def test_a_stop_at_any_moment_loses_and_doubles_nothing(tmp_path):
    wanted = ("constant", f"{OWN}:ByTraining")
    made = []
    for until in (1, 3, 4, None):
        place = Here(until)
        with contextlib.suppress(KeyboardInterrupt):
            carry_out(bench(tmp_path, wanted), place)
        made += place.names
    assert len(made) == len(set(made)) == 2 + 1 + 4
    assert bench(tmp_path, wanted).plan.left(Home(tmp_path / "digits-mlp-smoke").results(bench(tmp_path).facts)) == (
        0,
        0,
    )


def test_failed_trials_run_again_only_when_asked(tmp_path):
    found = bench(tmp_path, (f"{OWN}:Raises",))
    carry_out(found, Here())
    carry_out(found, again := Here())
    assert again.names == []
    found.home.forget_failures()
    carry_out(found, once_more := Here())
    assert len(once_more.names) == 2


def test_a_learning_whose_file_is_gone_is_made_again(tmp_path):
    found = bench(tmp_path, (f"{OWN}:ByTraining",), seeds=1)
    carry_out(found, Here())
    found.home.knowledge("learn/by-training/2-runs/500").unlink()
    carry_out(found, again := Here())
    assert again.names == ["learn/by-training/2-runs/500"]


def test_quasi_random_runs_have_schedules_of_their_own(tmp_path):
    found = bench(tmp_path, (f"{OWN}:FromRuns",), tune=(1, 1), seeds=1, source="sobol")
    carry_out(found, Here())
    runs = [run for run in found.home.runs if run.name.startswith("sweep/sobol/")]
    assert len(runs) == 4
    assert len({run.peak_lr for run in runs}) == 4
    assert {run.facts.schedule for run in runs} == {"trapezoid"}


@pytest.mark.parametrize(
    ("source", "prefix", "kinds"), [("sobol", "sweep/averaged/", 1), ("shapes", "sweep/averaged-", 4)]
)
def test_runs_of_another_form_are_made_with_its_optimizer(tmp_path, source, prefix, kinds):
    found = bench(tmp_path, (f"{OWN}:FromAveragedRuns",), tune=(1, 1), seeds=1, source=source)
    carry_out(found, Here())
    runs = [run for run in found.home.runs if run.name.startswith("sweep/")]
    assert len(runs) == 4 and all(run.name.startswith(prefix) for run in runs)
    assert len({run.facts.schedule for run in runs}) == kinds


def test_a_shape_made_anew_with_averaged_weights_ends_elsewhere(tmp_path):
    ends = []
    for name in ("FromRuns", "FromAveragedRuns"):
        found = bench(tmp_path / name, (f"{OWN}:{name}",), tune=(1, 1), seeds=1, source="shapes")
        carry_out(found, Here())
        runs = [run for run in found.home.runs if run.name.startswith(("sweep/", "tune/"))]
        ends.append({run.facts.schedule: (run.peak_lr, run.loss.values[-1]) for run in runs})
    plain, averaged = ends
    assert plain.keys() == averaged.keys() and len(plain) == 4
    for shape, (peak, loss) in plain.items():
        assert averaged[shape][0] == peak and averaged[shape][1] != loss


def test_the_same_command_gives_the_same_numbers(done, tmp_path):
    found, _ = done
    carry_out(bench(tmp_path, ("constant",)), Here())
    for run in bench(tmp_path, ("constant",)).home.runs:
        assert run.loss == found.home.runs.read([run.name])[0].loss


def test_methods_of_earlier_commands_stay_in_the_table(done):
    found, _ = done
    bench(found.home.path.parent, ("constant",))
    assert [row.entrant.name for row in story(found.home).table.rows if row.finals.count] != ["constant"]


def test_a_block_has_a_folder_and_an_optimizer_of_its_own_and_a_budget_is_kept(tmp_path):
    """The same schedule and seed under SGD ends elsewhere; of many comparisons one figure is made."""
    ends = {}
    for block in ("own", "sgd"):
        found = bench(tmp_path, ("constant", "cosine", "schedule-free"), seeds=2, budget=2, block=block)
        results = carry_out(found, Here())
        assert sum(record.stage == "tune" for record in results.records.values()) == 3 * 2
        ends[block] = [record.test for record in results.records.values() if record.stage == "final"]
    assert sorted(path.name for path in tmp_path.glob("digits-*")) == ["digits-mlp-smoke", "digits-mlp-smoke-sgd"]
    assert ends["own"] != ends["sgd"]

    given = CliRunner().invoke(app, ["bench", "merit", str(tmp_path), "--method", "cosine", "--block", "sgd", "--json"])
    assert given.exit_code == 0, given.output
    told = json.loads(given.stdout)
    assert told["contests"] == ["digits-mlp-smoke-sgd"] and told["seeds"] == 2
    assert {row["method"] for row in told["rows"]} == {"constant", "cosine"}  # schedule-free is another optimizer
    refused = CliRunner().invoke(app, ["bench", "merit", str(tmp_path), "--method", "linear"])
    assert refused.exit_code == 2 and "'linear' has no results in every comparison" in " ".join(refused.output.split())


def test_a_changed_task_is_not_mixed_with_the_old(done):
    found, _ = done
    path = found.home.path / "bench.json"
    before = path.read_text()
    path.write_text(before.replace('"total_steps": ', '"total_steps": 9'))
    with pytest.raises(BenchError, match=r"total_steps was 9.* Fix: give a new --out"):
        bench(found.home.path.parent)
    path.write_text(before)


def test_two_commands_in_one_folder_are_refused(done):
    found, _ = done
    with found.home.at_work("one", 1), pytest.raises(SweepError, match="another sweep"), found.home.at_work("two", 1):
        pass


def test_a_line_cut_by_a_kill_is_no_failure(tmp_path):
    found = bench(tmp_path, (f"{OWN}:Raises",))
    found.home.note_failure("tune/raises/0.01/0", "broken", "")
    with (found.home.path / "failures.jsonl").open("a") as file:
        file.write('{"trial": "tune/raises/0.03/0", "rea')
    assert set(found.results().failures) == {"tune/raises/0.01/0"}


def test_the_diary_knows_command_machine_and_time(tmp_path):
    found = bench(tmp_path, ("constant",))
    with found.home.at_work("lodestar bench table1", 2) as diary:
        diary.sign(trials=3)
    [entry] = story(found.home).diary
    assert (entry.command, entry.trials, entry.slots) == ("lodestar bench table1", 3, 2)
    assert entry.machine["cores"] and math.isfinite(entry.seconds)


@pytest.mark.parametrize(
    ("task", "wanted", "said"),
    [
        ("nope", ("constant",), r"no task 'nope'\. The tasks are: .*digits-mlp.* Fix: name one of them, or your own"),
        ("fminst-cnn", ("constant",), r"no task 'fminst-cnn'.* Fix: did you mean 'fmnist-cnn'\?"),
        ("digits-mlp", ("cosin",), "no method 'cosin'.* did you mean 'cosine'"),
        ("digits-mlp", (f"{OWN}:Nobody",), "no such name in that file"),
        ("missing.py:Task", ("constant",), "there is no file"),
    ],
)
def test_unknown_names_list_what_exists(tmp_path, task, wanted, said):
    with pytest.raises(BenchError, match=said):
        open_bench(task, "smoke", tmp_path, wanted=wanted)


def test_a_task_of_the_users_own_is_one_file(tmp_path):
    own = OWN.with_name("own_task.py")
    found = open_bench(f"{own}:my_digits", "smoke", tmp_path, wanted=("constant",), tune=(1, 1), seeds=1)
    carry_out(found, Here())
    assert found.home.path.name == "my-digits-smoke"
    assert [run.facts.task for run in found.home.runs] == ["my-digits"]


def test_two_methods_of_one_name_are_refused(tmp_path):
    (tmp_path / "mine.py").write_text(OWN.read_text())
    with pytest.raises(BenchError, match="two methods are called 'mine'"):
        bench(tmp_path, (f"{OWN}:Mine", f"{tmp_path / 'mine.py'}:Mine"))
