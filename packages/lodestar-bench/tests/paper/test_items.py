"""Each item: its data survive the disk, figures and page are drawn from them, words say what the data say."""

import dataclasses
import json
import math
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest

from bench_testing.here import Here
from bench_testing.paper_home import PLAN, TASK, curve, played_home
from lodestar.report.html import Section, Text, page
from lodestar.scheduler import Scheduler
from lodestar.testing import random_forecaster
from lodestar_bench import paper
from lodestar_bench.methods.steered import Steered
from lodestar_bench.paper import theirs
from lodestar_bench.paper.canvas import picture_bytes
from lodestar_bench.paper.context import ItemContext
from lodestar_bench.paper.cost_trial import replay
from lodestar_bench.paper.item import AbstractItem, Made
from lodestar_bench.paper.keep import keep, kept
from lodestar_bench.paper.latent_map import flattened
from lodestar_bench.paper.schedules import distance
from lodestar_bench.paper.wording import in_order, number, p_value, percent, plain

ITEMS = ("table1", "schedules", "forecasts", "cost", "selection", "map")


class HereContext(ItemContext):
    """Runs are made in this process."""

    @contextmanager
    def place(self, jobs: int | None = None) -> Iterator[Here]:
        yield Here()


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> dict[str, Made]:
    """Every item, made, written and read again."""
    folder, found = tmp_path_factory.mktemp("bench"), {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(__import__("sys").modules, "umap", None)  # as if it were not installed: it compiles for long
        home = played_home(folder)
        for name in ITEMS:
            context = HereContext(home, TASK, folder / "scratch")
            keep(folder / name, context.facts, paper.item(name).make(context), {"command": "c"})
            found[name] = kept(folder / name)
    return found


@pytest.fixture(params=ITEMS)
def one(request, made) -> tuple[AbstractItem, Made]:
    return paper.item(request.param), made[request.param]


def test_every_sheet_has_rows(one):
    _, data = one
    assert data.sheets and all(len(sheet) for sheet in data.sheets.values())


def test_figures_are_drawn_for_several_tasks(one):
    item, data = one
    for picture in item.draw([data, dataclasses.replace(data, task="fmnist-cnn")]):
        assert picture_bytes(picture).startswith(b"\x89PNG"), picture.name


def test_figures_are_drawn_for_one_task(one):
    item, data = one
    for picture in item.draw([data]):
        assert picture_bytes(picture).startswith(b"\x89PNG"), picture.name


def test_words_name_the_task_and_every_number_is_one(one):
    item, data = one
    told = item.words([data, dataclasses.replace(data, task="fmnist-cnn")])
    assert TASK in told and "fmnist-cnn" in told
    assert "nan" not in told.lower().split() and "inf" not in told.lower().split()


def test_the_page_holds_its_charts(one):
    item, data = one
    blocks = item.charts([data])
    text = page("t", [Section(item.title, [*map(Text, plain(item.words([data]))), *blocks])])
    assert blocks and TASK in text
    json.dumps([block.as_data() for block in blocks if hasattr(block, "as_data")], allow_nan=False)  # pyright: ignore


def test_table1_has_the_means_of_the_results(made):
    data = made["table1"]
    for row in data["table"].rows():
        values = data["results"].where(method=row["method"])["test"]
        assert row["mean"] == pytest.approx(values.mean()) and row["count"] == len(values) == 6
    assert data["table"]["method"][0] == "lodestar"


def test_table1_says_whether_ours_is_above(made):
    item, data = paper.item("table1"), made["table1"]
    assert "above the best other method, RL controller" in item.words([data])
    worse = dataclasses.replace(data, direction=type(data.direction).MIN)
    assert "below the best other method" in item.words([worse])


def test_a_schedule_at_another_rate_has_its_shape(made):
    rates = np.linspace(1, 0, 50)
    assert distance(rates, 2 * rates) == pytest.approx(1.0)
    assert distance(rates, 2 * rates, free_rate=True) == pytest.approx(0.0)
    assert distance(rates, np.zeros(50)) == pytest.approx(1.0)


def test_a_generated_schedule_is_nearest_to_the_one_it_is(made):
    """Lodestar's made-up runs follow OneCycle's shape at a rate of their own."""
    near = made["schedules"]["nearest"]
    assert set(near["shape"]) == {"onecycle"} and near["shape_distance"].max() < 1e-6
    assert near["distance"].min() > 0.01


def test_forecasts_are_tested_on_runs_never_learned_from(made):
    assert "it never saw" in made["forecasts"].record["notes"][0]
    assert set(made["forecasts"]["tolerance"].where(solver="tsit5")["tolerance"]) == {1e-4, 1e-5, 1e-6}
    assert set(made["forecasts"]["table_a1"]["seen"]) == {0.05, 0.5}


def test_the_pick_has_the_rank_its_final_metric_gives_it(made):
    picks, finals = made["selection"]["picks"], made["selection"]["finals"]
    for row in picks.where(forecaster="latent ODE", seen="first epoch").rows():
        true = finals.where(runs=row["runs"])["true"]
        assert row["rank"] == 1 + int((true > row["final"]).sum())
        assert row["best_final"] == pytest.approx(true.max()) and row["part"] == 0.25


def test_neighbours_of_each_family_add_up_to_all(made):
    shares = made["map"]["neighbours"]
    for family in set(shares["family"]):
        assert shares.where(family=family)["share"].sum() == pytest.approx(1.0)


def test_pieces_are_ten_an_epoch(made):
    points = made["map"]["points"]
    assert set(np.unique(points["run"].astype(str), return_counts=True)[1]) <= {37, 38, 39, 40}
    assert "PCA" in made["map"].record["notes"][0]


def test_pca_keeps_the_two_strongest_directions(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "umap", None)
    space = np.random.default_rng(0).normal(size=(200, 5)) * [9, 5, 0.01, 0.01, 0.01]
    plane, how = flattened(space - space.mean(axis=0), seed=0)
    assert np.sort(plane.std(axis=0)) == pytest.approx([space[:, 1].std(), space[:, 0].std()], rel=0.05)
    assert how.startswith("PCA")


def test_cost_has_every_way_to_steer_and_adds_its_work_to_the_updates(made):
    epoch = made["cost"]["epoch"]
    ours = epoch.where(kind="lodestar")
    assert sorted(zip(ours["window"], ours["samples"], strict=True)) == sorted(
        (w, n) for w in (10.0, 5.0, 2.5) for n in (20, 40)
    )
    np.testing.assert_allclose(epoch["seconds"], epoch["update_seconds"] + epoch["own_seconds"])
    assert (ours["own_seconds"] > 0).all()
    assert set(epoch["kind"]) == {"lodestar", "parametric", "hypergradient", "schedule-free", "rl-xu"}


def test_a_replayed_scheduler_decides_at_every_window():
    run = curve(PLAN.tuning(PLAN.entrants[0])[0])
    scheduler = Scheduler(random_forecaster(seed=0, points=40), run.total_steps, seed=0, window=0.1)
    replay(Steered(scheduler), run, evaluate_every=4)
    assert len(scheduler.decisions) == 10  # the initial plan, and one at the end of each window but the last


def test_the_papers_figures_are_of_tasks_of_the_bench():
    from lodestar_bench import tasks

    for known in (theirs.TABLE1, theirs.RELATIVE_MSE, theirs.SELECTION, theirs.P_VALUES):
        assert set(known) <= set(tasks.names())


@pytest.mark.parametrize(
    ("made", "told"),
    [
        (number(0.0213), "0.0213"),
        (number(1234.5), "1234"),
        (number(2.4e-7, 2), "2.4e-07"),
        (number(math.nan), "–"),
        (percent(0.05), "5 %"),
        (percent(5.4), "540 %"),
        (p_value(2e-6), "< 0.0001"),
        (in_order(2), "2nd"),
        (in_order(11), "11th"),
    ],
)
def test_numbers_are_told_as_one_writes_them(made, told):
    assert made == told


def test_plain_text_has_no_marks_tables_or_links():
    assert plain("**A** [b](c.md) `d`.\n\n| t |\n\n# h\n\n*e*") == ["A b d.", "e"]
