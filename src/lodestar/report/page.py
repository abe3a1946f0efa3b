"""One HTML page with everything an evaluation found: no other file, no network, light and dark, wide and narrow.

Comes in: an `Evaluation`. Goes out: HTML. The same figures as JSON are inside, behind a link.
"""

import base64
from html import escape
from pathlib import Path

from lodestar import __version__, _disk
from lodestar._errors import StoreError
from lodestar.evaluate.evaluation import OURS, Evaluation
from lodestar.report.gallery import gallery
from lodestar.report.ink import Panel, svg_for_page
from lodestar.report.tables import (
    accuracy_table,
    aside_table,
    coverage_table,
    fractions,
    number,
    percent,
    ranking_table,
    selection_table,
    shortened,
)

_STYLE = """
:root{color-scheme:light dark;--ink:#1b1b1f;--faint:#8a8a93;--band:#dcdce2;--paper:#fff;--soft:#f5f5f7;--accent:#c2410c}
@media(prefers-color-scheme:dark){:root{--ink:#ececf0;--faint:#83838d;--band:#3b3b44;--paper:#17171b;--soft:#212127;
--accent:#fb923c}}
body{margin:0 auto;padding:1.2rem;max-width:76rem;background:var(--paper);color:var(--ink);
font:16px/1.5 system-ui,sans-serif}
h1{font-size:1.6rem;margin:.2rem 0}h2{font-size:1.2rem;margin:2.2rem 0 .4rem}p{max-width:46rem}
small,.faint{color:var(--faint)}a{color:var(--accent)}code{overflow-wrap:anywhere}
.lead{font-size:1.1rem}.notes{background:var(--soft);border-radius:.5rem;padding:.6rem 1rem .6rem 2rem;max-width:60rem}
.panels{display:grid;gap:1rem;grid-template-columns:repeat(auto-fit,minmax(min(19rem,100%),1fr))}
.pairs{grid-template-columns:repeat(auto-fit,minmax(min(26rem,100%),1fr))}
figcaption{color:var(--faint);font-size:.85rem;text-align:center;overflow-wrap:anywhere}
.panels figure{margin:0;max-width:34rem}.panels svg{width:100%;height:auto}
.wide{overflow-x:auto}table{border-collapse:collapse;margin:.6rem 0;font-variant-numeric:tabular-nums}
th,td{padding:.25rem .7rem;text-align:right;border-bottom:1px solid var(--band);white-space:nowrap}
th:first-child,td:first-child{text-align:left}th{font-weight:600}
.aside td{white-space:normal;text-align:left;vertical-align:top}.aside th{text-align:left}
b{color:var(--accent)}summary{cursor:pointer;margin:.5rem 0}
"""


def page(evaluation: Evaluation) -> str:
    """The whole page."""
    panels = gallery(evaluation)
    parts = [
        *_head(evaluation),
        "<h2>Forecast against truth</h2>",
        "<p>The run whose forecast was the median, the best and the worst. Shaded: what was seen.</p>",
        _panels(panels["curves"], "pairs"),
        *_errors(evaluation, panels["errors"]),
        *_ranks(evaluation, panels["ranks"]),
        *_bands(evaluation, panels["bands"]),
        *_solver(evaluation, panels["tolerance"], panels["solver"]),
        *_foot(evaluation),
    ]
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>Forecaster on {len(evaluation.runs)} runs</title><style>{_STYLE}</style></head><body>\n"
        + "\n".join(parts)
        + "\n</body></html>\n"
    )


def save_page(evaluation: Evaluation, path: str | Path) -> None:
    """Write the page, whole or not at all."""
    target = Path(path)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(_disk.cannot_write(target.parent, error)) from error
    _disk.write_whole(target, page(evaluation).encode())


def _head(evaluation: Evaluation) -> list[str]:
    model = evaluation.model
    told = ", ".join(
        f"{label} {escape(str(model[key]))}"
        for key, label in {"preset": "preset", "seed": "seed", "members": "members", "runs": "fitted on runs:"}.items()
        if key in model
    )
    notes = "".join(f"<li>{escape(note)}</li>" for note in evaluation.notes)
    return [
        "<h1>How good is this forecaster?</h1>",
        f'<p class="faint">Tested on {len(evaluation.runs)} runs. The forecaster: {told}.</p>',
        f'<p class="lead">{headline(evaluation)}</p>',
        f'<ul class="notes">{notes}</ul>' if notes else "",
        "<h2>Relative error of forecasts</h2>",
        "<p>Squared error over squared truth, mean ± standard deviation over runs, over the whole run (the paper's "
        "table A1), against smoothed curves. The best of each row is bold. The simple forecasters repeat what "
        "they saw, so that part is right for nothing; the second table counts only what was still to come.</p>",
        accuracy_table(evaluation),
        accuracy_table(evaluation, "still to come").replace("relative MSE", "still to come"),
        "<details><summary>Against curves as logged, unsmoothed</summary>",
        accuracy_table(evaluation, "whole run", "raw").replace("relative MSE", "whole run"),
        accuracy_table(evaluation, "still to come", "raw").replace("relative MSE", "still to come"),
        "</details>",
    ]


def headline(evaluation: Evaluation) -> str:
    """The gist in a sentence or two; HTML."""
    seen = fractions(evaluation)[0]
    error = evaluation.error(OURS, seen)
    found = next((row.spearman for row in evaluation.ranking if (row.forecaster, row.seen) == (OURS, seen)), None)
    picked = next((row for row in evaluation.selection if row.forecaster == OURS), None)
    text = (
        f"From the first {percent(seen)} of a run it redraws the rest with a relative error of "
        f"{number(error.loss.mean, 2)} (loss), {number(error.metric.mean, 2)} (metric) and "
        f"{number(error.lr.mean, 2)} (learning rate)"
    )
    if found is not None and found == found:
        text += f", and ranks runs by their final metric with a Spearman correlation of {number(found, 2)}"
    if picked is not None:
        text += f". Shown {percent(picked.seen)} of each, it picks the run that ended {picked.rank} of {picked.runs}"
    return text + "."


def _errors(evaluation: Evaluation, panels: list[Panel]) -> list[str]:
    return [
        "<h2>Error against how much was seen</h2>",
        "<p>Over the whole run, mean over runs; shading: one standard deviation. What a simple forecaster has seen it "
        "has right, so near the end its error falls to nothing.</p>",
        _panels(panels),
    ]


def _ranks(evaluation: Evaluation, panels: list[Panel]) -> list[str]:
    return [
        "<h2>Which run will end best?</h2>",
        "<p>Forecast and true final metric of each run, and their rank correlation.</p>",
        _panels(panels),
        ranking_table(evaluation),
        "<p>The selection test: shown the first epoch of every run, which one is said to end best, and how did it "
        "really end? By the last metric as logged.</p>",
        selection_table(evaluation),
    ]


def _bands(evaluation: Evaluation, panels: list[Panel]) -> list[str]:
    return [
        "<h2>Do the bands hold?</h2>",
        "<p>The share of what was still to come that lay inside. On the line is right; above, the bands are wider than "
        "they need be; below, they promise too much.</p>",
        _panels(panels),
        f"<details><summary>As a table</summary>{coverage_table(evaluation)}</details>",
    ]


def _solver(evaluation: Evaluation, tolerance: list[Panel], steps: list[Panel]) -> list[str]:
    found = evaluation.stiffness
    return [
        "<h2>Does the solver matter?</h2>",
        "<p>The same forecasts with the latent ODE solved at other tolerances. Lines on top of one another: it does "
        "not.</p>",
        _panels(tolerance),
        f"<p>Step sizes and evaluations along {len(found.trajectories)} runs (tsit5 at {found.tolerance:g}): "
        f"{number(found.evaluations.mean)} evaluations a run, {percent(found.rejected)} of the steps thrown away. "
        "Steps that shrink suddenly would betray a stiff equation (the last only fills what is left).</p>",
        _panels(steps),
    ]


def _foot(evaluation: Evaluation) -> list[str]:
    data = base64.b64encode(evaluation.to_json().encode()).decode()
    aside = ""
    if evaluation.aside:
        aside = (
            f'<details class="aside"><summary>{len(evaluation.aside)} runs set aside</summary>'
            f"{aside_table(evaluation)}</details>"
        )
    return [
        aside,
        f'<p><a download="evaluation.json" href="data:application/json;base64,{data}">All figures as JSON</a></p>',
        f'<p class="faint">Lodestar {escape(__version__)}</p>',
    ]


def _panels(panels: list[Panel], kind: str = "") -> str:
    figures = (
        f"<figure>{svg_for_page(panel)}<figcaption>{escape(shortened(panel.caption))}</figcaption></figure>"
        for panel in panels
    )
    return f'<div class="panels {kind}">{"".join(figures)}</div>'
