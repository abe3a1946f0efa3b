"""The paper's item on ablations, from made-up results of the arena."""

import dataclasses

import numpy as np
import pytest

from bench_testing.curves import toy_run
from bench_testing.paper_home import TASK, played_home
from lodestar.report.html import Section, Text, page
from lodestar_bench import paper
from lodestar_bench._errors import BenchError
from lodestar_bench.arena.contestant import Variant
from lodestar_bench.arena.home import FOLDER, ArenaHome
from lodestar_bench.arena.result import Result
from lodestar_bench.arena.study import STUDIES, study
from lodestar_bench.paper.ablations import judged
from lodestar_bench.paper.canvas import picture_bytes
from lodestar_bench.paper.context import ItemContext
from lodestar_bench.paper.item import Made
from lodestar_bench.paper.keep import fingerprint, keep, kept

SEEDS = tuple(range(1000, 1006))


def result(variant: Variant, mean: float, seeds=SEEDS, code="a") -> Result:
    tests = tuple(mean + 0.001 * (seed % 3) for seed in seeds)
    return Result(variant.name, True, variant.identity(), code, seeds, tests, tests, 0.1, 1.0, "2026-01-01T00:00:00")


@pytest.fixture(scope="module")
def context(tmp_path_factory) -> ItemContext:
    """Every study of the default preset; a short horizon is much worse; its runs are kept."""
    folder = tmp_path_factory.mktemp("bench")
    bench = played_home(folder)
    home = ArenaHome(bench.path / FOLDER)
    home.folder()
    for name in STUDIES:
        for variant in study(name, Variant()):
            greedy = variant.settings().horizon is not None
            one = result(variant, 0.6 if greedy else 0.9)
            home.add(one)
            if name == "horizon":
                runs = [toy_run(f"final/{one.mark}/{s}", "cosine", 1e-2, s, total=200, every=2) for s in SEEDS[:2]]
                home.runs.add_many([run for run in runs if not home.runs.exists() or run.name not in home.runs])
    return ItemContext(bench, TASK, folder / "scratch")


@pytest.fixture(scope="module")
def made(context) -> Made:
    """Made, written and read again."""
    folder = context.scratch.parent / "item"
    keep(folder, context.facts, paper.item("ablations").make(context), {"command": "c"})
    found = kept(folder)
    assert found is not None
    return found


def test_each_study_has_one_reference(made):
    for name in STUDIES:
        held = made["variants"].where(study=name, reference=1)
        assert len(held) == 1 and np.isnan(held["difference"][0])
    assert np.isnan(made["variants"].where(study="horizon", reference=1)["horizon"][0])
    assert made["variants"].where(study="volume", reference=1)["runs"][0] == 100


def test_differences_are_to_the_reference_on_the_same_seeds(made):
    short = made["variants"].where(study="horizon", reference=0)
    np.testing.assert_allclose(short["difference"], -0.3, atol=1e-9)
    assert (short["p"] < 1e-6).all() and (short["count"] == len(SEEDS)).all()


def test_the_horizons_curves_are_means_of_the_kept_runs(made):
    curves = made["curves"]
    assert set(curves["variant"]) == {one.name for one in study("horizon", Variant())}
    assert len(curves) == 50 * 5
    run = toy_run("x", "cosine", 1e-2, SEEDS[0], total=200, every=2)  # the rate is the same for every seed
    first = curves["lr"][:50]
    np.testing.assert_allclose(first, np.interp(200 * curves["at"][:50], run.lr.steps, run.lr.values))


def test_it_is_drawn_and_told(made):
    item = paper.item("ablations")
    pictures = item.draw([made, made])
    assert {picture.name for picture in pictures} == {*STUDIES, "horizon_curves"}
    for picture in (pictures[0], pictures[-1]):
        assert picture_bytes(picture).startswith(b"\x89PNG")
    told = item.words([made])
    assert "clearly worse: default: 5 % ahead" in told and "none of 5 differs clearly" in told
    assert "greedy horizons are inferior" in told
    assert page("t", [Section("s", [Text("x"), *item.charts([made])])])


def test_a_newer_result_and_more_seeds_are_taken(context):
    variants = study("volume", Variant())
    results = [result(variant, 0.5) for variant in variants]
    newer = [result(variant, 0.7, code="b") for variant in variants]
    more = [result(variant, 0.8, seeds=(*SEEDS, 1006)) for variant in variants[:2]]
    assert {one.result.code for one in judged("volume", "default", [*results, *newer])} == {"b"}
    assert [len(one.result.seeds) for one in judged("volume", "default", [*results, *more])] == [7, 7]
    assert judged("volume", "default", results[:1]) == []


def test_without_a_study_it_says_what_to_run(tmp_path):
    bench = played_home(tmp_path)
    with pytest.raises(BenchError, match=r"no study was judged.*Fix: lodestar bench arena.*--ablate parts"):
        paper.item("ablations").make(ItemContext(bench, TASK, tmp_path / "scratch"))


def test_a_setting_that_has_changed_since_is_not_shown(context):
    old = dataclasses.replace(Variant(), changes=(("tolerance", 3.0),))
    assert judged("parts", "default", [result(one, 0.5) for one in study("horizon", old)]) == []


def test_it_is_made_anew_when_the_arena_has_judged_more(context):
    before = fingerprint(paper.item("ablations"), context)
    assert fingerprint(paper.item("ablations"), context) == before
    home = ArenaHome(context.home.path / FOLDER)
    home.add(result(Variant(changes=(("tolerance", 3.0),)), 0.5))
    assert fingerprint(paper.item("ablations"), context) != before
