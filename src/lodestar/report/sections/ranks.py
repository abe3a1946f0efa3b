"""Are good runs told from bad ones early? Forecast against true finals, rank correlation, the selection test.

Comes in: an `Evaluation`. Goes out: charts and tables.
"""

import numpy as np

from lodestar.evaluate.evaluation import KNOWN, OURS, Evaluation, Finals
from lodestar.report.html import Axis, Chart, Line, ReferenceLine, Scatter, Table
from lodestar.report.sections.wording import number, percent, sentence, short, span


def finals_chart(evaluation: Evaluation, finals: Finals) -> Chart:
    """Each run's final metric, forecast from a fraction, against the truth."""
    forecast = np.array(finals.forecast)
    ends = np.concatenate([np.array(finals.true), forecast[np.isfinite(forecast)]])
    room = 0.06 * (float(ends.max() - ends.min()) or abs(float(ends.max())) or 1.0)
    low, high = float(ends.min()) - room, float(ends.max()) + room
    marks = Scatter("runs", finals.true, finals.forecast, list(finals.runs), finals.lower, finals.upper, colour=0)
    return Chart(
        f"final {short(evaluation.metric_name, 30)}, forecast from the first {percent(finals.seen)}",
        [marks],
        Axis("true", low=low, high=high),
        Axis(f"forecast, {percent(finals.level)} interval", low=low, high=high),
        rules=[ReferenceLine(axis="diagonal", label="right")],
    )


def rank_chart(evaluation: Evaluation) -> Chart:
    """Spearman of forecast and true finals against the fraction seen, a line for each forecaster."""
    lines = []
    for place, name in enumerate(evaluation.forecasters):
        rows = [row for row in evaluation.ranking if row.forecaster == name]
        x, y = [row.seen for row in rows], [row.spearman for row in rows]
        lines.append(Line(name, x, y, colour=place, width=2.4 if place == 0 else 1.5))
    axis = Axis("part of the run seen", log=True, style="percent")
    runs = span(row.runs for row in evaluation.ranking if row.forecaster == OURS)
    title, y = "does it know early which run ends best?", Axis("rank correlation", high=1.02)
    return Chart(title, lines, axis, y, f"Over {runs} runs. {sentence(evaluation.caution)}".strip())


def ranking_table(evaluation: Evaluation) -> Table:
    """Spearman and error of final metrics at the main fractions."""
    rows = []
    for seen in evaluation.fractions:
        found, n = evaluation.ranks(seen), span(row.runs for row in evaluation.ranks(seen))
        rows.append([f"Spearman, {percent(seen)} seen", *(number(row.spearman, 3) for row in found), n])
        rows.append([f"root mean square error, {percent(seen)} seen", *(number(row.rmse, 3) for row in found), n])
    heads = ("final metric", *(f">{name}" for name in evaluation.forecasters), ">n")
    return Table(heads, rows, sentence(evaluation.caution))


def selection_table(evaluation: Evaluation) -> Table:
    """Whom each forecaster picked from the beginning of every run, and how that one really ended."""
    rows = [
        [
            row.forecaster,
            f"{row.rank} of {row.runs}",
            f"{row.recipe_rank} of {row.recipes}",
            number(row.final, 3),
            number(row.best_final, 3),
            short(row.picked, 50),
        ]
        for row in evaluation.selection
    ]
    heads = ("picked by", ">rank", ">rank of its schedule and rate", ">its final", ">best final", "run")
    return Table(heads, rows)


def final_score_charts(evaluation: Evaluation) -> dict[str, Chart]:
    """Error and rank correlation of forecast finals against the share seen, by forecaster; none where not measured."""
    return {
        field: Chart(
            f"{title} of the final {short(evaluation.metric_name, 24)}",
            [_by_share(evaluation, name, field, place) for place, name in enumerate(evaluation.scored)],
            Axis("part of the run seen", style="percent"),
            axis,
        )
        for field, title, axis in (
            ("rmse", "error", Axis("root mean square error", log=True)),
            ("spearman", "rank correlation", Axis("rank correlation", high=1.02)),
        )
        if evaluation.final_scores
    }


def final_score_table(evaluation: Evaluation) -> Table:
    """Every score, with how many runs it rests on."""
    rows = [
        [
            row.forecaster,
            row.schedule,
            percent(row.seen),
            number(row.rmse, 3),
            number(row.spearman, 3),
            percent(row.inside),
            str(row.runs),
        ]
        for row in sorted(evaluation.final_scores, key=lambda row: row.seen)
    ]
    level = percent(evaluation.final_scores[0].level) if evaluation.final_scores else ""
    heads = ("forecaster", "schedule", ">seen", ">root mean square error", ">Spearman", f">{level} interval held", ">n")
    return Table(heads, rows, sentence(evaluation.caution))


def _by_share(evaluation: Evaluation, name: str, field: str, place: int) -> Line:
    rows = [row for row in evaluation.final_scores if row.forecaster == name]
    return Line(
        name,
        [row.seen for row in rows],
        [getattr(row, field) for row in rows],
        colour=place,
        width=2.4 if name in (KNOWN, OURS) else 1.5,
    )
