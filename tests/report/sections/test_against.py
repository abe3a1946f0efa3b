"""Runs are compared by the rule of the fit; steered runs are set against the best past group, with n and a test."""

import math
from typing import Any

import numpy as np
import pytest
from scipy import stats
from tests.curves import diverged_run, toy_run, toy_runs
from tests.scheduler.live import train

from lodestar.evaluate.difference import difference
from lodestar.fitting import prepare
from lodestar.report.html import Cell, Chart, Scatter, Table, Text
from lodestar.report.sections import build_report, read_steered
from lodestar.report.sections.against import against_blocks
from lodestar.report.sections.compare import compare_blocks
from lodestar.report.sections.glimpse import glimpses, without_stuck
from lodestar.report.sections.sweep import sweep_blocks
from lodestar.runs import Direction, Facts, Run, Series
from lodestar.scheduler import Scheduler
from lodestar.testing import random_forecaster


def collapsed_run(name: str, peak: float = 0.3) -> Run:
    """Its loss blows up to a plateau, and its metric ends at chance; its tracker calls it finished."""
    run = toy_run(name, "constant", peak)
    half = len(run.loss) // 2
    loss, metric = run.loss.values.copy(), run.metric.values.copy()
    loss[half:], metric[half:] = 1e4, 0.01
    lr = np.full(len(run.lr), peak)
    return run.replace(
        loss=Series(run.loss.steps, loss), metric=Series(run.metric.steps, metric), lr=Series(run.lr.steps, lr)
    )


def steered_run(name: str, final: float, task: str = "toy") -> Run:
    run = toy_run(name, seed=5)
    metric = np.minimum(run.metric.values, final)
    metric[-1] = final
    facts = Facts(task=task, extra={"lodestar_mode": "steer"})
    return run.replace(metric=Series(run.metric.steps, metric), facts=facts)


def seen(*runs: Run):
    return without_stuck(glimpses(runs)[0])


def test_a_collapsed_run_is_excluded_from_the_comparison_as_from_a_fit():
    runs = [*toy_runs(seeds=2), collapsed_run("c1"), collapsed_run("c2"), diverged_run()]
    excluded = {run.name for run in seen(*runs) if run.excluded}
    assert excluded == {name for name, _ in prepare(runs).excluded} == {"c1", "c2", "boom"}
    (table,) = [block for block in compare_blocks(seen(*runs)) if isinstance(block, Table)]
    row = next(row for row in table.rows if row[0] == "constant")
    texts = dict(zip(table.headings, [getattr(cell, "text", cell) for cell in row], strict=True))
    assert (texts[">runs"], texts[">n"], texts[">excluded"]) == ("7", "4", "3")
    finals = [run.final_metric for run in toy_runs(seeds=2) if run.facts.schedule == "constant"]
    assert texts[">mean"] == f"{np.mean(finals):.4g}"
    assert texts[">median"] == f"{np.median(finals):.4g}"
    assert texts[">best"] == f"{max(finals):.4g}"


@pytest.mark.parametrize("direction", list(Direction))
def test_the_best_mean_median_and_run_are_marked(direction):
    (table,) = [b for b in compare_blocks(seen(*toy_runs(seeds=1, direction=direction))) if isinstance(b, Table)]
    for heading in (">mean", ">median", ">best"):
        cells = [row[table.headings.index(heading)] for row in table.rows]
        cells = [cell for cell in cells if isinstance(cell, Cell)]
        assert len(cells) == len(table.rows)
        values = [float(cell.text) for cell in cells]
        top = max(values) if direction is Direction.MAX else min(values)
        assert [float(cell.text) for cell in cells if cell.tone == "good"] == [top]


def test_collapsed_runs_squash_no_axis_and_that_is_said():
    calm = toy_runs(seeds=1)
    charts, plain = (
        {block.title: block for block in sweep_blocks(seen(*runs), 0) if isinstance(block, Chart)}
        for runs in ([*calm, collapsed_run("c1"), collapsed_run("c2", 50.0)], calm)
    )
    for title in ("accuracy", "training loss", "schedules"):
        assert (charts[title].y.low, charts[title].y.high) == (plain[title].y.low, plain[title].y.high)
        assert "2 excluded runs may go beyond them" in charts[title].caption
    dots = charts["final accuracy against peak learning rate"]
    assert max(np.max(s.x) for s in dots.series if isinstance(s, Scatter)) < 1
    assert dots.caption.startswith("Without 2 excluded runs")


def test_steered_runs_are_set_against_the_best_past_group():
    past, ours = list(toy_runs(seeds=3)), [0.61, 0.63, 0.62]
    runs = [*past, *(steered_run(f"s{i}", final) for i, final in enumerate(ours))]
    means = {}
    for run in past:
        means.setdefault((run.facts.schedule, run.facts.peak_lr), []).append(run.final_metric)
    best = max(means.values(), key=np.mean)
    (text,) = [block.text for block in against_blocks(seen(*runs)) if isinstance(block, Text)]
    test: Any = stats.ttest_ind(ours, best, equal_var=False)
    assert "mean 0.62, median 0.62, best 0.63 (n = 3)" in text
    assert f"mean {np.mean(best):.4g}" in text and "the best of 8 groups, chosen afterwards" in text
    assert f"Welch's t-test, p = {test.pvalue:.2g}" in text and "95 % interval" in text
    assert "n is below 10: run more seeds to be sure." in text


def test_one_run_is_no_test():
    found = difference([0.9], [0.8, 0.7])
    assert found.by == pytest.approx(0.15) and math.isnan(found.p)
    runs = [*toy_runs(seeds=2), steered_run("s", 0.6)]
    (text,) = [block.text for block in against_blocks(seen(*runs)) if isinstance(block, Text)]
    assert "a test needs two runs that differ on both sides" in text


@pytest.mark.parametrize("stated", [{"task": "toy"}, {}])
def test_steered_runs_logged_to_another_experiment_are_compared_with_the_past_of_their_task(tmp_path, stated):
    forecaster = random_forecaster(seed=5, points=40)
    job = Scheduler(forecaster, 600, log=tmp_path / "mine.jsonl", facts=stated)
    train(job, 1, 600)
    mine = toy_run("mine", seed=9).replace(facts=Facts(task="another experiment"))
    made = build_report([*toy_runs(seeds=2), mine], steered=read_steered([tmp_path / "mine.jsonl"]))
    assert not any("never compared" in note for note in made.notes)
    assert any("'another experiment': compared with the runs of 'toy'" in note for note in made.notes)
    (part,) = [section for section in made.sections if section.title == "Comparison"]
    assert isinstance(part.blocks[0], Text) and "steered by Lodestar" in part.blocks[0].text


def test_a_steered_run_that_states_another_known_task_stays_with_it(tmp_path):
    forecaster = random_forecaster(seed=5, points=40)
    train(Scheduler(forecaster, 600, log=tmp_path / "mine.jsonl", facts={"task": "b"}), 1, 600)
    others = [run.replace(name=f"b {run.name}", facts=Facts(task="b", schedule="cosine")) for run in toy_runs(seeds=1)]
    mine = toy_run("mine", seed=9).replace(facts=Facts(task="elsewhere"))
    made = build_report([*toy_runs(seeds=2), *others, mine], steered=read_steered([tmp_path / "mine.jsonl"]))
    assert any("compared with the runs of 'b'" in note for note in made.notes)
