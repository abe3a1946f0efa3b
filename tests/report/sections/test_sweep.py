"""The sweep and its comparison as data: all runs are there, groups have the right figures, sets are kept apart."""

import math

import numpy as np
import pytest
from tests.curves import diverged_run, toy_run, toy_runs

from lodestar.report.html import Chart, Details, Line, Scatter, Table, Text
from lodestar.report.sections.compare import Group, compare_blocks, groups
from lodestar.report.sections.families import REST, colours, families
from lodestar.report.sections.glimpse import POINTS, glimpse, glimpses
from lodestar.report.sections.sweep import sweep_blocks
from lodestar.report.sections.wording import percent
from lodestar.runs import Direction, Facts, Series


def charts(blocks) -> dict[str, Chart]:
    return {block.title: block for block in blocks if isinstance(block, Chart)}


def test_a_glimpse_keeps_the_highest_and_lowest_value():
    run = toy_run("a", total=6000, every=2, metric_every=2)
    found = glimpse(run)
    assert len(found.loss[0]) <= POINTS + 2
    assert found.metric[1].max() == run.metric.values.max()
    assert np.ptp(np.diff(found.loss[1])) < np.ptp(np.diff(run.loss.values))
    assert found.metric[1][-1] == run.metric.values[-1] == found.final


def test_a_diverged_run_has_curves_but_no_final():
    found = glimpse(diverged_run())
    assert math.isnan(found.final)
    assert np.isnan(found.loss[1]).any()


def test_seeds_of_one_recipe_have_one_peak():
    run = toy_run("a", "cosine", 0.01)
    assert run.peak_lr != 0.01
    assert glimpse(run).peak_lr == 0.01
    assert glimpse(run.replace(facts=Facts(peak_lr=0.5))).peak_lr == run.peak_lr


def test_every_run_is_a_line_in_every_chart_and_a_dot():
    runs = toy_runs(seeds=2)
    found = charts(sweep_blocks(*glimpses(runs)))
    names = {run.name for run in runs}
    for title in ("accuracy", "training loss", "schedules"):
        assert {line.name for line in found[title].series} == names
    dots = [s for s in found["final accuracy against peak learning rate"].series if isinstance(s, Scatter)]
    assert {name for one in dots for name in one.labels} == names
    assert {one.name for one in dots} == {"constant", "cosine", "onecycle", "step"}


def test_a_family_has_one_colour_everywhere():
    found = charts(sweep_blocks(*glimpses(toy_runs())))
    seen = {}
    for chart in found.values():
        for series in chart.series:
            if isinstance(series, Line | Scatter) and (series.group or series.name) != "runs":
                assert seen.setdefault(series.group or series.name, series.colour) == series.colour
    assert len(set(seen.values())) == len(seen)


def test_too_many_runs_are_drawn_in_part_and_that_is_said():
    runs = [toy_run(f"r{i}", seed=i, total=60) for i in range(50)]
    seen, thinned = glimpses(runs, drawn=7)
    blocks = sweep_blocks(seen, thinned)
    assert len(seen) == 50
    assert len(charts(blocks)["accuracy"].series) == 7
    assert "Curves of 7 of 50 runs are drawn" in next(b.text for b in blocks if isinstance(b, Text))


def test_thinning_is_said():
    seen, thinned = glimpses([toy_run("a", total=5000, every=2), toy_run("b")])
    assert thinned == 1
    assert "no spike is lost" in next(b.text for b in sweep_blocks(seen, thinned) if isinstance(b, Text))


def test_other_metrics_are_drawn_apart():
    runs = [*toy_runs(seeds=1), toy_run("other", direction=Direction.MIN)]
    blocks = sweep_blocks(*glimpses(runs))
    (fold,) = [block for block in blocks if isinstance(block, Details)]
    assert "error (1 run)" in fold.title
    assert [line.name for line in charts(fold.blocks)["error"].series] == ["other"]
    assert len(charts(blocks)["accuracy"].series) == 8


def test_runs_of_other_lengths_share_a_clock():
    found = charts(sweep_blocks(*glimpses([toy_run("a", total=600), toy_run("b", total=1800)])))["accuracy"]
    assert found.x.label == "part of the run"
    assert [round(float(np.max(line.x)), 6) for line in found.series if isinstance(line, Line)] == [1.0, 1.0]


def test_a_diverged_run_does_not_set_the_scale():
    calm = toy_runs(seeds=1)
    wild = toy_run("wild")
    wild = diverged_run("wild").replace(loss=Series(wild.loss.steps, 1e9 * wild.loss.values))
    axis = charts(sweep_blocks(*glimpses([*calm, wild])))["training loss"].y
    assert axis.high is not None
    assert axis.high < 10


def test_a_run_without_metric_or_rate_is_still_reported():
    run = toy_run("a").replace(metric=Series.empty(), lr=Series.empty())
    found = charts(sweep_blocks(*glimpses([run])))
    assert list(found) == ["training loss"]


def test_a_group_by_hand():
    runs = [glimpse(toy_run(str(i), seed=i)) for i in range(3)]
    finals = [run.final for run in runs]
    found = Group.of("g", [*runs, glimpse(diverged_run())])
    assert (found.runs, found.counted, found.excluded) == (4, 3, 1)
    assert found.mean == pytest.approx(sum(finals) / 3)
    assert found.std == pytest.approx(np.std(finals, ddof=1))
    assert (found.best, found.worst) == (max(finals), min(finals))


def test_best_is_lowest_where_the_metric_is_to_be_minimised():
    runs = [
        glimpse(toy_run(f"{peak}-{i}", peak=peak, seed=i, direction=Direction.MIN))
        for peak in (1e-3, 3e-3)
        for i in (0, 1)
    ]
    found = groups(runs, lambda run: str(run.peak_lr))
    assert found[0].mean < found[1].mean
    assert found[0].best < found[0].worst


def test_the_comparison_lists_schedules_and_recipes():
    blocks = compare_blocks(glimpses(toy_runs(seeds=2))[0])
    (table,) = [block for block in blocks if isinstance(block, Table)]
    (fold,) = [block for block in blocks if isinstance(block, Details)]
    assert {row[0] for row in table.rows} == {"constant", "cosine", "onecycle", "step"}
    assert isinstance(fold.blocks[0], Table)
    assert len(fold.blocks[0].rows) == 8


def test_one_kind_of_run_is_no_comparison():
    assert compare_blocks([glimpse(toy_run("a"))]) == []


def test_numbered_schedules_are_one_family():
    runs = [glimpse(toy_run(f"r{i}").replace(facts=Facts(schedule=f"random-{i}"))) for i in range(20)]
    assert set(families(runs).values()) == {"random"}


def test_rare_schedules_are_gathered():
    names = "abcdefghijkl"
    runs = [glimpse(toy_run(name).replace(facts=Facts(schedule=name * 3))) for name in names for _ in range(2)]
    found = families(runs)
    assert REST in found.values()
    assert len(colours(found)) == 8


@pytest.mark.parametrize(("share", "text"), [(1.0, "100 %"), (0.05, "5 %"), (0.999, "100 %"), (0.0526, "5.3 %")])
def test_percents_are_plain(share, text):
    assert percent(share, 2) == text
