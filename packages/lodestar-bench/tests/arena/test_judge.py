"""The arena end to end at smoke scale: the real command once; then parts that are there are not made again."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest
from typer.testing import CliRunner

from lodestar._errors import FitError
from lodestar.cli import app
from lodestar.scheduler import read_log
from lodestar.schedules import constant
from lodestar.testing.forecasters import random_forecaster
from lodestar_bench._errors import BenchError
from lodestar_bench.arena import judge as judging
from lodestar_bench.arena.contestant import Baseline, Sweep, Variant
from lodestar_bench.arena.home import ArenaHome
from lodestar_bench.arena.judge import Judge
from lodestar_bench.methods import method
from lodestar_bench.methods.schedule import ScheduleMethod
from lodestar_bench.optimizers.forms import optimizer
from lodestar_bench.tasks import problem
from lodestar_bench.train import train

WORDS = ("bench", "arena", "--task", "digits-mlp", "--scale", "smoke", "--out", "out")
SWEEP = Sweep(runs=6)


@pytest.fixture(scope="module")
def digits():
    return problem("digits-mlp", "smoke")


@pytest.fixture(scope="module")
def played(tmp_path_factory, digits):
    """The folder and the table of one command, in a process of its own: it keeps compiled programs.

    A forecaster is there already: a fit is most of what an arena costs, and is tested elsewhere.
    """
    folder = tmp_path_factory.mktemp("arena")
    judge = Judge(digits, ArenaHome.of(folder / "out", "digits-mlp", "smoke"))
    random_forecaster(seed=1, points=40).save(judge.place_of(Variant(sweep=SWEEP)))
    size = ("--runs", "6", "--seeds", "6", "--jobs", "1", "--baseline", "cosine=0.03", "--json")  # one program for all
    words = [sys.executable, "-m", "lodestar.cli", *WORDS, *size]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, env={**os.environ, "JAX_PLATFORMS": "cpu"})
    assert done.returncode == 0, done.stderr
    return folder, json.loads(done.stdout)


@pytest.fixture
def home(played) -> ArenaHome:
    return ArenaHome.of(played[0] / "out", "digits-mlp", "smoke")


def test_a_run_of_the_arena_has_the_form_of_its_sweep(digits, tmp_path):
    """Bit for bit the run that the bench makes with the same optimizer."""
    judge, made = Judge(digits, ArenaHome(tmp_path / "arena"), lanes=1), {}
    for form in ("recipe", "averaged"):
        sweep = Sweep("grid", shapes=("constant",), seeds=1, form=form)
        run = judge.sweep(sweep)[2]
        name = {"recipe": "constant", "averaged": "averaged-constant"}[form]
        assert run.name.startswith(f"sweep/{name}")
        shape = ScheduleMethod("one", "one", "ours", constant, lambda recipe, form=form: optimizer(form, recipe))
        alone = train(digits, shape, run.peak_lr, seed=run.facts.seed or 0).run
        np.testing.assert_array_equal(run.metric.values, alone.metric.values)
        made[form] = run.metric.values
    assert not np.array_equal(made["recipe"], made["averaged"])


def test_the_command_judges_the_preset_its_open_loop_and_a_baseline(played):
    rows = {row["result"]["name"]: row for row in played[1]["rows"]}
    winner = "winner of the sweep, replayed"
    assert set(rows) == {"default", "default open loop", "cosine 0.03", winner}
    assert rows["cosine 0.03"]["best_baseline"] != rows[winner]["best_baseline"]
    assert not rows["default"]["best_baseline"]
    assert rows["default"]["paired"]["count"] == 6 and 0.2 < rows["default"]["finals"]["mean"] <= 1
    assert set(played[1]["spent"]) == {"sweep", "final runs"}


def test_the_sweeps_winner_is_made_again_with_other_seeds(played, home):
    sweep = home.runs.read([one.name for one in home.runs.list() if one.name.startswith("sweep/")])
    best = max(sweep, key=lambda run: float(run.facts.extra["best_metric"]))
    one = next(one for one in home.results() if one.name == "winner of the sweep, replayed")
    [again] = home.runs.read([f"final/{one.mark}/1000"])
    assert again.facts.seed != best.facts.seed and list(again.lr.values) == list(best.lr.values)
    assert one.facts["peak_lr"] == pytest.approx(best.peak_lr) and not one.ours and one.code == ""


def test_a_baselines_figures_are_the_benchs_own(played, digits, home):
    found = next(one for one in home.results() if one.name == "cosine 0.03")
    assert found.tests[2] == train(digits, method("cosine"), 0.03, seed=found.seeds[2]).test.metric


def test_decisions_and_final_runs_are_kept(played, home):
    one = next(one for one in home.results() if one.name == "default")
    assert len(read_log(home.path / "decisions" / one.mark / "1000.jsonl").decisions) == one.facts["decisions"] == 20
    assert {f"final/{one.mark}/{seed}" for seed in one.seeds} <= {run.name for run in home.runs.list()}


def test_what_is_there_is_not_made_again(played, home, digits, monkeypatch):
    def never(*args, **options):
        raise AssertionError("a run was made")

    monkeypatch.setattr(judging.lockstep, "play", never)
    judge = Judge(digits, home)
    before = home.results()
    assert judge.judge(Variant(sweep=SWEEP, label="again"), 6).name == "again"
    assert home.results() == before and not judge.spent


def test_another_variant_shares_sweep_and_fit_and_other_seeds_are_judged_anew(played, home, digits):
    judge, fits = Judge(digits, home, lanes=1), sorted((home.path / "fits").iterdir())
    judge.judge(Variant(preset="paper", sweep=SWEEP), 2)
    assert set(judge.spent) == {"final runs"} and sorted((home.path / "fits").iterdir()) == fits
    assert judge.judge(Baseline("cosine", 0.03), 2).seeds == (1000, 1001)


def test_a_fit_gets_the_runs_of_its_sweep(digits, tmp_path):
    """Two are too few to fit, which is all that fitting says here."""
    judge = Judge(digits, ArenaHome(tmp_path / "arena"), lanes=1)
    with pytest.raises(FitError, match="at least 4 usable runs, got 2"):
        judge.fit(Variant(sweep=Sweep(runs=2), fit=(("members", 1),)))
    assert len(judge.home.runs.list()) == 2


def test_a_fit_is_known_by_what_goes_into_it(digits, tmp_path):
    judge = Judge(digits, ArenaHome(tmp_path / "arena"))
    others = [
        Variant(sweep=Sweep(runs=7)),
        Variant(sweep=Sweep(runs=6, seed=1)),
        Variant(sweep=SWEEP, fit_seed=1),
        Variant(sweep=SWEEP, fit=(("members", 3),)),
    ]
    places = {judge.place_of(one) for one in (Variant(sweep=SWEEP), *others)}
    assert len(places) == 5 and judge.place_of(Variant("paper", sweep=SWEEP, open_loop=True)) in places


def test_show_lists_everything_that_was_judged(played, monkeypatch):
    monkeypatch.chdir(played[0])
    monkeypatch.setenv("XLA_FLAGS", os.environ.get("XLA_FLAGS", ""))
    monkeypatch.setenv("COLUMNS", "160")
    shown = CliRunner().invoke(app, [*WORDS, "--show"])
    assert shown.exit_code == 0 and "default open loop" in shown.stdout and "the best" in shown.stdout
    listed = json.loads(CliRunner().invoke(app, [*WORDS, "--show", "--json"]).stdout)
    assert listed["tables"][0]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--set", "nois=1"], "did you mean 'noise'"),
        (["--ablate", "everything"], "parts, samples-noise"),
        (["--variant", "papers"], "did you mean 'paper'"),
        (["--sweep", "random"], "sobol or grid"),
        (["--baseline", "linear=much"], "METHOD=VALUE"),
    ],
)
def test_wrong_words_are_told_before_anything_runs(words, told, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XLA_FLAGS", os.environ.get("XLA_FLAGS", ""))
    found = CliRunner().invoke(app, [*WORDS, *words])
    assert found.exit_code == 2 and told in " ".join(found.output.replace("│", "").split())
    assert not (tmp_path / "out").exists()


def test_a_sweep_that_was_stopped_goes_on_where_it_was(digits, tmp_path, monkeypatch):
    monkeypatch.setattr(judging, "AT_ONCE", 2)
    home, sweep = ArenaHome(tmp_path / "arena"), Sweep(runs=6)

    def stop(what, done, of):
        if done > 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Judge(digits, home, tell=stop, lanes=1).sweep(sweep)
    assert len(home.runs.list()) == 4
    told = []
    runs = Judge(digits, home, tell=lambda what, done, of: told.append((done, of)), lanes=1).sweep(sweep)
    assert len(runs) == 6 and min(told)[0] >= 4 and max(told) == (6, 6)


def test_a_method_is_tuned_by_mean_validation(digits, tmp_path, monkeypatch):
    monkeypatch.setattr(judging, "AT_ONCE", 2)
    monkeypatch.setattr(judging, "TUNE_SEEDS", 2)
    home = ArenaHome(tmp_path / "arena")
    value = Judge(digits, home, lanes=1).tuned("constant")
    records = {run.name: run.facts.extra["best_metric"] for run in home.runs.list()}
    means = {
        rate: sum(float(records[f"tune/constant/{rate:g}/{seed}"]) for seed in range(2)) for rate in digits.recipe.rates
    }
    assert value == max(means, key=lambda rate: means[rate])


def test_a_method_that_learns_is_no_baseline(digits, tmp_path):
    with pytest.raises(BenchError, match=r"rl-xu.*learns before.*bench table1"):
        Judge(digits, ArenaHome(tmp_path / "arena")).judge(Baseline("rl-xu"), 2)
