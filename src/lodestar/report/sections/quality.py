"""Forecaster quality: how good it is on runs it never saw, beside three simple forecasters.

Comes in: an `Evaluation`. Goes out: blocks for a report's section, or the sections of a page of its own. Computes
nothing: every figure is the evaluation's.
"""

from lodestar.evaluate.evaluation import KNOWN, OURS, Evaluation
from lodestar.report.html import Block, Details, Download, KeyFigures, Notes, Section, Table, Text
from lodestar.report.sections.errors import accuracy_table, error_charts
from lodestar.report.sections.examples import example_blocks
from lodestar.report.sections.intervals import interval_blocks
from lodestar.report.sections.ranks import (
    final_score_charts,
    final_score_table,
    finals_chart,
    rank_chart,
    ranking_table,
    selection_table,
)
from lodestar.report.sections.solver import solver_blocks
from lodestar.report.sections.wording import count, number, percent, short

MEANING = "A relative error is the squared error over the squared truth: 0.01 is off by about 10 %."
NAMED = 100  # excluded runs that are listed


def quality_blocks(evaluation: Evaluation, steered: int = 0) -> list[Block]:
    """A report's section; `steered` runs were left out of the test because it steered them itself."""
    about = (
        f"Tested on {count(len(evaluation.runs), 'run')} the forecaster did not learn from, as far as there are any. "
        + (f"The {count(steered, 'run')} steered by Lodestar are no part of it. " if steered else "")
        + MEANING
    )
    return [
        Text(about),
        _facts(evaluation),
        *_notes(evaluation),
        *(finals_chart(evaluation, finals) for finals in evaluation.finals),
        rank_chart(evaluation),
        *_both_kinds(evaluation),
        *error_charts(evaluation).values(),
        Text("Relative error of what was still to come, beside simple forecasters; the best of each row is green."),
        accuracy_table(evaluation, "still to come"),
        Details("Over the whole run (the paper's table A1)", [accuracy_table(evaluation, "whole run")]),
        Details("Do its prediction intervals hold?", interval_blocks(evaluation)),
        *example_blocks(evaluation),
    ]


def quality_sections(evaluation: Evaluation) -> list[Section]:
    """A page of its own, with everything that was measured."""
    parts: dict[str, list[Block]] = {
        "In short": [Text(headline(evaluation)), _facts(evaluation), *_notes(evaluation)],
        "Relative error": _errors(evaluation),
        "Forecast against truth": example_blocks(evaluation),
        "Error against how much was seen": [
            Text("Over the whole run, mean over runs; shading: one standard deviation."),
            *error_charts(evaluation).values(),
        ],
        "Schedule known, and unknown": _both_kinds(evaluation),
        "Which run will end best?": _ranks(evaluation),
        "Do the intervals hold?": interval_blocks(evaluation),
        "Does the solver matter?": solver_blocks(evaluation),
        "Data": [
            *_excluded(evaluation),
            Download("All figures as JSON", "evaluation.json", evaluation.to_json(), "application/json"),
        ],
    }
    return [Section(title, blocks) for title, blocks in parts.items() if blocks]


def headline(evaluation: Evaluation) -> str:
    """The gist in a sentence or two."""
    seen = evaluation.fractions[0]
    error = evaluation.error(OURS, seen)
    text = (
        f"From the first {percent(seen)} of a run it forecasts the rest with a relative error of "
        f"{number(error.loss.mean, 2)} (loss), {number(error.metric.mean, 2)} (metric) and "
        f"{number(error.lr.mean, 2)} (learning rate)"
    )
    rank = next((row for row in evaluation.ranks(seen) if row.forecaster == OURS), None)
    if rank is not None and rank.spearman == rank.spearman:
        text += (
            f", and ranks {count(rank.runs, 'run')} by their final metric with a Spearman correlation of "
            f"{number(rank.spearman, 2)}" + (f" ({evaluation.caution})" if evaluation.caution else "")
        )
    picked = next((row for row in evaluation.selection if row.forecaster == OURS), None)
    if picked is not None:
        text += f". Shown {percent(picked.seen)} of each, it picks the run that ended {picked.rank} of {picked.runs}"
    return text + "."


def _facts(evaluation: Evaluation) -> KeyFigures:
    figures = []
    for seen in evaluation.fractions:
        row = next((row for row in evaluation.ranks(seen) if row.forecaster == OURS), None)
        if row is not None:
            what = f"rank correlation of final results, {percent(seen)} seen, over {count(row.runs, 'run')}"
            figures.append((number(row.spearman, 2), what))
    name = short(evaluation.metric_name, 24)
    for seen in evaluation.fractions:
        error = evaluation.error(OURS, seen, "still to come").metric
        if error.runs:
            what = f"relative error of the {name}, {percent(seen)} seen, over {count(error.runs, 'run')}"
            figures.append((number(error.mean, 2), what))
    picked = next((row for row in evaluation.selection if row.forecaster == OURS), None)
    if picked is not None:
        what = f"rank of the run it picks from the first {percent(picked.seen, 2)}"
        figures.append((f"{picked.rank} of {picked.runs}", what))
    return KeyFigures(figures)


def _notes(evaluation: Evaluation) -> list[Block]:
    lines = [("note", note, "") for note in evaluation.notes]
    return [Notes(lines, {"note": "advice"})] if lines else []


def _errors(evaluation: Evaluation) -> list[Block]:
    raw = [accuracy_table(evaluation, "whole run", "raw"), accuracy_table(evaluation, "still to come", "raw")]
    return [
        Text(
            "Squared error over squared truth, mean ± standard deviation over runs, over the whole run (the paper's "
            "table A1), against smoothed curves. The best of each row is green. The simple forecasters repeat what "
            "they saw, so that part is right for nothing; the second table counts only what was still to come."
        ),
        accuracy_table(evaluation, "whole run"),
        accuracy_table(evaluation, "still to come"),
        Details("Against curves as logged, unsmoothed", raw),
    ]


def _both_kinds(evaluation: Evaluation) -> list[Block]:
    if not evaluation.final_scores:
        return []
    about = (
        "The final metric of runs that went to their end, by both kinds of forecast: told the schedule to its end "
        f"({KNOWN}, from before the first step on), and told nothing of it ({OURS}), beside simple forecasters."
    )
    if KNOWN not in evaluation.scored:
        about += " Known schedules were not tested: the notes say why."
    return [
        Text(about),
        *final_score_charts(evaluation).values(),
        Details("As a table, with n", [final_score_table(evaluation)]),
    ]


def _ranks(evaluation: Evaluation) -> list[Block]:
    return [
        Text("Forecast and true final metric of each run, and their rank correlation."),
        *(finals_chart(evaluation, finals) for finals in evaluation.finals),
        rank_chart(evaluation),
        ranking_table(evaluation),
        Text(
            "The selection test: shown the first epoch of every run, which one is said to end best, and how did it "
            "really end? By the last metric as logged."
        ),
        selection_table(evaluation),
    ]


def _excluded(evaluation: Evaluation) -> list[Block]:
    if not evaluation.excluded:
        return []
    rows = [[short(name), why] for name, why in evaluation.excluded[:NAMED]]
    more = len(evaluation.excluded) - NAMED
    table = Table(("run", "excluded because"), rows, f"and {more} more" if more > 0 else "")
    return [Details(f"{count(len(evaluation.excluded), 'run')} excluded", [table])]
