"""The report: what it says, what it writes, and that a half-done bench is told as such. On made-up figures."""

import csv
import dataclasses
import io

import numpy as np
import pytest

from bench_testing.played import GRID, LEARNER, OURS, SHAPES, good, play
from lodestar.report.ink import file_bytes
from lodestar.runs import Direction
from lodestar_bench.entrant import Entrant
from lodestar_bench.home import BenchFacts, Home
from lodestar_bench.plan import TablePlan
from lodestar_bench.report import write_report
from lodestar_bench.report.draw import panels
from lodestar_bench.report.sheets import sheets
from lodestar_bench.report.story import Rates, Story, story
from lodestar_bench.report.words import headline, main_table, markdown, p_value
from lodestar_bench.statistics import spread
from lodestar_bench.table import table

PLAN = TablePlan((*SHAPES, LEARNER, OURS), SHAPES)


def told(plan=PLAN, judge=good, *, metric="accuracy", **how) -> Story:
    """A story on made-up results."""
    results, _ = play(plan, judge, **how)
    facts = BenchFacts("toy", "a made-up task", "smoke", metric, results.direction, {}, plan)
    finals = {e.name: results.of(p.name for p in plan.finals(e, results) or []) for e in plan.entrants}
    steps = np.arange(1, 11)
    curves = [Rates(name, seed, steps, 0.1 / steps) for name in ("lodestar", "onecycle") for seed in range(3)]
    rates = tuple(curves) if finals["lodestar"] else ()
    return Story(facts, plan, dataclasses.replace(results, metric_name=metric), table(plan, results), finals, rates, ())


def test_the_gist_names_the_best_and_ours_against_the_best_other():
    text = headline(told())
    assert "Best: **Lodestar**, 81.29" in text
    assert "+1.00 (+1.00 to +1.00) against the best other method (Onecycle), Welch p < 0.001" in text


def test_ours_is_held_against_the_papers_own_list_too():
    modern = Entrant("linear", "linear", "Linear", "modern", "nothing", GRID)
    plan = TablePlan((*SHAPES, modern, LEARNER, OURS), SHAPES)
    judge = lambda piece: good(piece) + 0.03 * (piece.entrant is modern)  # noqa: E731
    text = headline(told(plan, judge))
    assert "-1.00 (-1.00 to -1.00) against the best other method (Linear), Welch p < 0.001" in text
    assert "; +1.00 (+1.00 to +1.00) against the best of the paper's own baselines (Onecycle), Welch p" in text
    assert "the paper's own" not in headline(told())  # the best other is one of them


def test_accuracies_are_per_cent_and_other_metrics_plain():
    assert "| **Lodestar** | 100 runs | 81.29 ± 0.20 | 81.00 | 80.29 ± 0.20 | onecycle | +1.00" in main_table(told())
    assert "0.8129 ± 0.002 " in main_table(told(metric="F1"))


def test_diverged_and_failed_are_in_the_table():
    def judge(piece):
        if piece.stage == "final" and piece.entrant.name == "cosine" and piece.seed == 1001:
            return None
        if piece.stage == "learn" and piece.entrant is LEARNER:
            return ValueError("no torch")
        return good(piece)

    text = markdown(told(judge=judge))
    assert "0 + 1 |" in text
    assert "| RL controller | – | failed |" in text
    assert "`learn/rl-xu/25-runs/500`: no torch" in text
    assert "counts as 10.00" in text


def test_how_many_forecasts_held_is_told():
    found = told()
    ours = [dataclasses.replace(record, held=float(place > 2)) for place, record in enumerate(found.finals["lodestar"])]
    text = markdown(dataclasses.replace(found, finals={**found.finals, "lodestar": ours}))
    assert "of the first forecast made after a quarter of them: lodestar 17 of 20." in text
    assert "forecast made" not in markdown(found)


def test_a_report_half_way_says_so():
    text = markdown(told(rounds=1))
    assert "**Partial:** 120 runs and 1 learnings are still to be made" in text
    assert "No final run has been made yet." in text


def test_a_finished_one_does_not():
    assert "Partial" not in markdown(told())


def test_final_results_can_be_computed_anew_from_the_sheet():
    found = told()
    rows = list(csv.DictReader(io.StringIO(sheets(found)["finals.csv"].decode())))
    assert len(rows) == 6 * 20
    ours = spread([float(row["counted_as"]) for row in rows if row["method"] == "lodestar"])
    assert ours.mean == pytest.approx(found.table.row("lodestar").finals.mean)
    assert ours.std == pytest.approx(found.table.row("lodestar").finals.std)


def test_every_tuning_run_is_in_its_sheet_once():
    rows = list(csv.DictReader(io.StringIO(sheets(told())["tuning.csv"].decode())))
    assert len(rows) == len({(r["method"], r["setting"], r["seed"]) for r in rows}) == 100


@pytest.mark.parametrize("direction", list(Direction))
def test_every_figure_is_drawn(direction):
    judge = good if direction is Direction.MAX else lambda p: 1 - good(p)
    drawn = panels(told(judge=judge, direction=direction))
    assert [panel.name for panel in drawn] == ["means", "distribution", "rates", "cost"]
    for panel in drawn:
        assert file_bytes(panel, "png").startswith(b"\x89PNG")


def test_one_seed_without_spread_is_drawn_too():
    plan = dataclasses.replace(PLAN, seeds=1)
    for panel in panels(told(plan)):
        assert file_bytes(panel, "png")


def test_nothing_is_drawn_before_the_first_final_run():
    assert panels(told(rounds=1)) == []


@pytest.mark.parametrize(("p", "said"), [(0.0, "< 0.001"), (0.0123, "0.012"), (1.0, "1"), (float("nan"), "–")])
def test_p_values_have_two_digits(p, said):
    assert p_value(p) == said


def test_no_difference_has_no_sign():
    assert "| 0.00 (0.00 to 0.00) |" in main_table(told(judge=lambda piece: 0.9))


def test_a_home_without_runs_is_reported_as_partial(tmp_path):
    home = Home(tmp_path / "toy-smoke")
    home.remember(BenchFacts("toy", "a made-up task", "smoke", "accuracy", Direction.MAX, {}, PLAN))
    found, files = write_report(home, tmp_path / "report")
    assert not found.complete
    data = {"finals.csv", "tuning.csv", "table.csv", "rates.csv", "records.csv", "about.json"}
    assert {path.name for path in files} == {"README.md", *data}
    assert story(home).plan == PLAN


def test_a_small_report_has_every_run_and_no_pictures(tmp_path):
    home = Home(tmp_path / "toy-smoke")
    home.remember(BenchFacts("toy", "a made-up task", "smoke", "accuracy", Direction.MAX, {}, PLAN))
    _, files = write_report(home, tmp_path / "report", small=True)
    assert {path.name for path in files} == {"README.md", "table.csv", "records.csv", "about.json"}
