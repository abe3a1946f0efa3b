"""The arena's plain parts: who takes part, studies, results, standings, its folder."""

import dataclasses
import json
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lodestar.runs import Direction
from lodestar.scheduler.settings import DEFAULT, PAPER, Settings
from lodestar_bench._errors import BenchError
from lodestar_bench.arena import code_mark
from lodestar_bench.arena.contestant import (
    Baseline,
    Sweep,
    Variant,
    read_baseline,
    read_changes,
    shown,
    with_changes,
)
from lodestar_bench.arena.home import ArenaHome
from lodestar_bench.arena.result import Result
from lodestar_bench.arena.standings import standings
from lodestar_bench.arena.study import STUDIES, study
from lodestar_bench.tasks import problem


def result(name="x", tests=(0.5, 0.6), *, ours=True, seeds=(1000, 1001), floor=0.1, **more) -> Result:
    identity = {"kind": "steered" if ours else "baseline", "name": name}
    return Result(
        name, ours, identity, "code", seeds, tuple(tests), tuple(tests), floor, 1.0, "2026-01-01T00:00:00", **more
    )


# contestants


@pytest.mark.parametrize("name", [field.name for field in dataclasses.fields(Settings)])
@pytest.mark.parametrize("preset", [DEFAULT, PAPER])
def test_every_setting_of_the_scheduler_can_be_given_in_words(name, preset):
    """Also one that is new."""
    value = getattr(preset, name)
    made = with_changes(Variant(), read_changes([f"{name}={shown(value)}"]))
    assert getattr(made.settings(), name) == value


def test_words_become_values():
    words = ["noise=0.2", "samples=10", "hysteresis=off", "candidates=local,library", "fit.members=4"]
    made = with_changes(Variant(), read_changes(words))
    settings = made.settings()
    assert (settings.noise, settings.samples, settings.hysteresis) == (0.2, 10, None)
    assert settings.candidates == ("local", "references") and dict(made.fit) == {"members": 4}
    assert made.name == "default noise=0.2 samples=10 hysteresis=none candidates=local,library fit.members=4"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["noise"], "name=value"),
        (["nois=1"], "did you mean 'noise'"),
        (["noise=-1"], "noise must not be negative"),
        (["fit.membres=1"], "no fit setting 'membres'"),
    ],
)
def test_a_wrong_setting_is_told_before_anything_runs(words, told):
    with pytest.raises(ValueError, match=told):
        with_changes(Variant(), read_changes(words))


def test_a_baseline_is_tuned_unless_it_has_a_value():
    assert math.isnan(read_baseline("linear").value)
    assert read_baseline("linear=0.01") == Baseline("linear", 0.01)
    with pytest.raises(ValueError, match="METHOD=VALUE"):
        read_baseline("linear=much")


def test_a_label_is_no_part_of_what_a_variant_is():
    assert Variant(label="mine").identity() == Variant().identity() != Variant(open_loop=True).identity()


def test_a_small_sweep_is_the_beginning_of_a_large_one():
    digits = problem("digits-mlp", "smoke")

    def made(sweep):
        return [(trial.name, trial.seed, trial.schedule.rates.tolist()) for trial in sweep.trials(digits)]

    assert made(Sweep(runs=10)) == made(Sweep(runs=30))[:10]
    once, often = made(Sweep("grid", seeds=1)), made(Sweep("grid", seeds=5))
    assert once == often[:20] and len(often) == 100


def test_no_run_of_a_sweep_has_the_seed_of_a_final_run():
    digits = problem("digits-mlp", "smoke")
    for sweep in (Sweep(runs=60), Sweep(runs=60, seed=1), Sweep("grid", seeds=10)):
        assert not {trial.seed for trial in sweep.trials(digits)} & set(range(1000, 2000))


def test_the_forms_of_the_optimizer_are_told_apart():
    digits = problem("digits-mlp", "smoke")
    plain, averaged = Sweep(runs=20, form="recipe"), Sweep(runs=20)
    assert not {trial.name for trial in plain.trials(digits)} & {trial.name for trial in averaged.trials(digits)}
    assert "form" not in plain.identity() and averaged.identity()["form"] == "averaged"
    assert averaged.optimizer(digits).averaged and not plain.optimizer(digits).averaged
    assert Variant(sweep=plain).name == "default recipe's optimizer"
    for one in study("diversity", Variant(sweep=plain)):
        assert one.sweep.form == "recipe"
    with pytest.raises(ValueError, match="form must be one of recipe, averaged, got 'sgd'"):
        Sweep(form="sgd")


# studies


def test_each_part_that_differs_from_the_paper_is_switched_off_once():
    found = study("parts", Variant())
    different = [name for name in DEFAULT.to_dict() if getattr(DEFAULT, name) != getattr(PAPER, name)]
    changed = [one for one in found if one.changes]
    assert [dict(one.changes).keys() for one in changed] == [{name} for name in different]
    for one, name in zip(changed, different, strict=True):
        assert one.settings() == dataclasses.replace(DEFAULT, **{name: getattr(PAPER, name)})
    assert [one.name for one in found[:3]] == ["default", "default open loop", "one member"]


def test_the_papers_table_has_its_six_fields():
    made = [one.settings() for one in study("samples-noise", Variant("paper"))]
    assert [(one.samples, one.noise) for one in made] == [(n, s) for n in (10, 30, 60) for s in (0.15, 0.3)]
    assert all(one.matching == "highest-lr" for one in made)


def test_horizons_go_from_a_window_to_the_rest():
    made = [one.settings().horizon for one in study("horizon", Variant())]
    assert made[0] == DEFAULT.window and made[-1] is None


def test_sweeps_of_volume_and_diversity():
    assert [one.sweep.seeds for one in study("volume", Variant())] == [1, 5, 10]
    shapes = [one.sweep.shapes for one in study("diversity", Variant())[:3]]
    assert "onecycle" in shapes[0] and "onecycle" not in shapes[1] and shapes[2] == ("onecycle",)


@pytest.mark.parametrize("name", STUDIES)
def test_no_study_holds_a_variant_twice(name):
    found = [json.dumps(one.identity(), sort_keys=True) for one in study(name, Variant())]
    assert len(set(found)) == len(found)


def test_an_unknown_study_lists_what_there_is():
    with pytest.raises(ValueError, match="parts, samples-noise"):
        study("all", Variant())


# results, standings, folder


@settings(max_examples=30, deadline=None)
@given(st.lists(st.floats(0, 1) | st.just(math.nan), min_size=1, max_size=5))
def test_a_result_is_read_back_from_its_line(tests):
    one = result(tests=tests, seeds=tuple(range(len(tests))))
    again = Result.from_line(one.to_line())
    assert again.to_line() == one.to_line() and again.mark == one.mark


def test_a_result_of_a_later_version_is_refused():
    line = result().to_line().replace('"version": 1', '"version": 2')
    with pytest.raises(ValueError, match="upgrade"):
        Result.from_line(line)


def test_ours_is_held_against_the_best_baseline():
    found = standings(
        [result("ours", (0.7, 0.8)), result("weak", (0.1, 0.2), ours=False), result("good", (0.6, 0.6), ours=False)],
        Direction.MAX,
    )
    assert [row.result.name for row in found.rows] == ["ours", "good", "weak"]
    assert found.best is not None and found.best.name == "good"
    best, good, _ = found.rows
    assert best.paired.mean == pytest.approx(0.15) and best.worst == 0.7 and best.finals.mean == pytest.approx(0.75)
    assert 0 < best.welch.p < 1 and math.isnan(good.paired.mean)


def test_smaller_may_be_better_and_a_lost_run_counts_as_the_floor():
    found = standings(
        [result("a", (2.0, math.nan), floor=5.0), result("b", (3.0, 3.0), floor=6.0, ours=False)], Direction.MIN
    )
    assert [row.result.name for row in found.rows] == ["b", "a"]
    row = found.rows[1]
    assert row.tests == (2.0, 6.0) and row.worst == 6.0 and row.diverged == 1
    assert row.paired.mean == pytest.approx(-1.0)  # better is above zero


def test_results_on_other_seeds_are_not_mixed():
    found = standings([result("a"), result("b", (0.9, 0.9), seeds=(1, 2))], Direction.MAX)
    assert [row.result.name for row in found.rows] == ["a"]


ABOUT = {
    "task": "t",
    "scale": "cpu",
    "metric_name": "accuracy",
    "direction": "max",
    "fixed": {"total_steps": 100},
}


def test_a_folder_keeps_results_and_replaces_one_of_the_same_mark(tmp_path):
    home = ArenaHome.of(tmp_path, "t", "cpu")
    home.remember(ABOUT)
    home.remember(ABOUT)
    home.add(result("a"))
    home.add(result("b"))
    home.add(dataclasses.replace(result("a"), seconds=9.0))
    assert [(one.name, one.seconds) for one in ArenaHome(home.path).results()] == [("b", 1.0), ("a", 9.0)]
    assert home.about()["direction"] is Direction.MAX


def test_a_folder_of_another_task_is_refused(tmp_path):
    home = ArenaHome.of(tmp_path, "t", "cpu")
    home.remember(ABOUT)
    with pytest.raises(BenchError, match="total_steps was 100, now it is 200"):
        home.remember({**ABOUT, "fixed": {"total_steps": 200}})


def test_a_damaged_folder_is_named(tmp_path):
    home = ArenaHome.of(tmp_path, "t", "cpu")
    with pytest.raises(BenchError, match="there is no arena"):
        home.about()
    home.remember(ABOUT)
    (home.path / "results.jsonl").write_text(result().to_line() + "\nhalf a li")
    with pytest.raises(BenchError, match="line 2 is no result"):
        home.results()
    (home.path / "arena.json").write_text("[]")
    with pytest.raises(BenchError, match="cannot be read"):
        home.about()


def test_a_mark_changes_with_the_code_and_not_with_its_words(tmp_path):
    texts = ['"""One."""\nx = 1  # one\n', '"""Two."""\nx = 1\n', '"""Two."""\nx = 2\n']
    found = []
    for text in texts:
        path = tmp_path / "a.py"
        path.write_text(text)
        found.append(code_mark._bare(path))
    assert found[0] == found[1] != found[2]
    assert code_mark.code_mark(code_mark.STEERING) != code_mark.code_mark(code_mark.FITTING)
