"""What release one wrote is read, resumed and counted: a bench's home, an arena, published results, own methods.

home.tar.gz: `lodestar bench table1 --task digits-mlp --scale smoke --methods constant,rl-xu --tune 2x1 --seeds 2` of
release one, and an arena in it with `linear` at 0.01 judged on two seeds.
"""

import tarfile
from pathlib import Path

import pytest
from typer.testing import CliRunner

from bench_testing.here import Here
from lodestar.cli import app
from lodestar_bench import methods, paper, published, tasks
from lodestar_bench.arena.contestant import Baseline
from lodestar_bench.arena.home import ArenaHome
from lodestar_bench.arena.judge import Judge
from lodestar_bench.entry import open_bench
from lodestar_bench.paper.publish import all_kept
from lodestar_bench.protocol import carry_out
from lodestar_bench.table import table

PACKAGE = Path(__file__).parents[2]
METHOD = """
from lodestar_bench.method import AbstractMethod
from lodestar_bench.methods import method
from lodestar_bench.methods.schedule import Scheduled

class Mine(AbstractMethod):
    name, title, group = "mine", "as release one spelt it", "modern"

    def grid(self, problem):
        return ()

    def optimiser(self, problem, value):
        return method("cosine").optimiser(problem, value)

    def controller(self, problem, value, *, seed, knowledge):
        return Scheduled(None)
"""


@pytest.fixture
def out(tmp_path):
    with tarfile.open(Path(__file__).with_name("home.tar.gz")) as file:
        file.extractall(tmp_path, filter="data")
    return tmp_path


def opened(out, seeds):
    return open_bench("digits-mlp", "smoke", out, wanted=("constant", "rl-xu"), tune=(2, 1), seeds=seeds)


def test_a_finished_table_stays_finished(out):
    here, bench = Here(), opened(out, seeds=2)
    carry_out(bench, here)
    assert here.names == []
    rows = {row.entrant.name: row for row in table(bench.plan, bench.results()).rows}
    assert rows["constant"].finals.mean == pytest.approx(0.83) and rows["rl-xu"].finals.mean == pytest.approx(0.249)


def test_another_seed_is_run_with_what_was_learned_then(out):
    here, bench = Here(), opened(out, seeds=3)
    carry_out(bench, here)
    assert here.names == ["final/constant/0.03/1002", "final/rl-xu/2-runs/1002"]
    assert not bench.results().failures


def test_an_arena_keeps_its_results(out):
    judge = Judge(tasks.problem("digits-mlp", "smoke"), ArenaHome.of(out, "digits-mlp", "smoke"))
    result = judge.judge(Baseline("linear", 0.01), 2)
    assert result.tests == (0.546, 0.57) and judge.spent == {}
    assert len(judge.home.results()) == 1


def test_published_results_are_those_of_todays_task(tmp_path):
    bench = open_bench("digits-mlp", "cpu", tmp_path, wanted=("constant",))
    bench.home.take_over(PACKAGE / "results" / "own-25", bench.facts)
    assert len(published.read_records(bench.home.published)) > 500


@pytest.mark.parametrize("name", paper.names())
def test_published_items_are_read_and_told(name):
    """Cure: `lodestar bench paper all --draw-only --to packages/lodestar-bench/paper`."""
    item, made = paper.item(name), all_kept(PACKAGE / "paper", name)
    assert made and item.words(made) in (PACKAGE / "paper" / name / "README.md").read_text()
    assert item.charts(made) and item.draw(made)


def test_a_method_with_the_old_spelling_is_taken(tmp_path):
    (tmp_path / "mine.py").write_text(METHOD)
    problem, mine = tasks.problem("digits-mlp", "smoke"), methods.method(f"{tmp_path / 'mine.py'}:Mine")
    assert mine.optimizer(problem, 0.01) == methods.method("cosine").optimizer(problem, 0.01)


def test_the_old_spelling_of_an_option_is_taken(tmp_path):
    words = ("bench", "arena", "--task", "digits-mlp", "--out", str(tmp_path), "--optimiser", "magic")
    refused = CliRunner().invoke(app, words)
    assert refused.exit_code == 2 and "got 'magic'" in " ".join(refused.output.split())
