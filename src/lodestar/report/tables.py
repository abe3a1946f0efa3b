"""The tables of an evaluation's page, as HTML. Every text from outside is escaped here.

Comes in: an `Evaluation`. Goes out: HTML of a table each: accuracy (the paper's table A1), ranking, selection,
coverage, runs set aside.
"""

import math
from collections.abc import Iterable, Sequence
from html import escape

from lodestar.evaluate.evaluation import Evaluation, Scope, Spread, Truth


def table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table whose first column is text and whose others are numbers; cells are HTML already."""
    head = "".join(f"<th>{heading}</th>" for heading in headings)
    body = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
    return f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def accuracy_table(evaluation: Evaluation, scope: Scope = "whole run", truth: Truth = "smoothed") -> str:
    """A row for each quantity and fraction, a column for each forecaster; the best in bold."""
    rows = []
    titles = {"loss": "training loss", "lr": "learning rate", "metric": shortened(evaluation.metric_name)}
    for channel, title in titles.items():
        for seen in fractions(evaluation):
            cells = [getattr(evaluation.error(name, seen, scope, truth), channel) for name in evaluation.forecasters]
            best = min((cell.mean for cell in cells if math.isfinite(cell.mean)), default=math.nan)
            rows.append([f"{escape(title)} ({percent(seen)})", *(_cell(cell, cell.mean == best) for cell in cells)])
    return table(["relative MSE", *map(escape, evaluation.forecasters)], rows)


def ranking_table(evaluation: Evaluation) -> str:
    """Spearman and error of final metrics at the main fractions."""
    rows = []
    for seen in fractions(evaluation):
        found = [row for row in evaluation.ranking if row.seen == seen]
        rows.append([f"Spearman ({percent(seen)})", *(number(row.spearman) for row in found)])
        rows.append([f"root mean square error ({percent(seen)})", *(number(row.rmse) for row in found)])
    return table(["final metric", *map(escape, evaluation.forecasters)], rows)


def selection_table(evaluation: Evaluation) -> str:
    """Whom each forecaster picked."""
    rows = [
        [
            escape(row.forecaster),
            f"{row.rank} of {row.runs}",
            f"{row.recipe_rank} of {row.recipes}",
            number(row.final),
            number(row.best_final),
            f"<code>{escape(shortened(row.picked))}</code>",
        ]
        for row in evaluation.selection
    ]
    return table(["picked by", "rank", "rank of its schedule and rate", "its final", "best final", "run"], rows)


def coverage_table(evaluation: Evaluation) -> str:
    """What bands held."""
    rows = [
        [
            f"{percent(row.level)} band ({percent(row.seen)} seen)",
            *(_share(value) for value in (row.loss, row.lr, row.metric, row.final_metric)),
        ]
        for row in evaluation.coverage
    ]
    return table(["share inside", "loss", "learning rate", "metric", "final metric"], rows)


def aside_table(evaluation: Evaluation, most: int = 100) -> str:
    """Runs that could not be tested, and why."""
    rows = [[f"<code>{escape(shortened(name))}</code>", escape(why)] for name, why in evaluation.aside[:most]]
    more = f"<p>and {len(evaluation.aside) - most} more</p>" if len(evaluation.aside) > most else ""
    return table(["run", "set aside because"], rows) + more


def fractions(evaluation: Evaluation) -> list[float]:
    """The main fractions, in order."""
    return list(dict.fromkeys(row.seen for row in evaluation.accuracy))


def percent(value: float) -> str:
    """0.05 as '5 %'."""
    return f"{100 * value:.3g} %"


def number(value: float, digits: int = 3) -> str:
    """A number, or a dash where there is none."""
    return f"{value:.{digits}g}" if math.isfinite(value) else "–"


def shortened(name: str, most: int = 60) -> str:
    """A long name cut in the middle."""
    return name if len(name) <= most else f"{name[: most // 2]}…{name[-most // 2 + 1 :]}"


def _cell(found: Spread, best: bool) -> str:
    if not math.isfinite(found.mean):
        return "–"
    mean = f"<b>{found.mean:.2g}</b>" if best else f"{found.mean:.2g}"
    return f'{mean} <small title="over {found.runs} runs">±{found.std:.1g}</small>'


def _share(value: float) -> str:
    return f"{100 * value:.0f} %" if math.isfinite(value) else "–"
