"""What a notebook shows: a forecaster, a plan, a schedule, a decision or a set of runs as a picture with a caption.

Comes in: the object. Goes out: HTML with one image inside, drawn from the report's own charts. Names are text.
"""

import base64
from html import escape

import numpy as np

from lodestar.forecaster import Forecaster
from lodestar.forecaster.preprocessing.normaliser import CHANNELS
from lodestar.planning.plan import SchedulePlan
from lodestar.report.draw import chart_panel
from lodestar.report.html import Axis, Chart, Line, Shading
from lodestar.report.html.thin import corners, thin
from lodestar.report.ink import file_bytes
from lodestar.report.sections.live import Fan, Live, live_charts
from lodestar.report.sections.why import why
from lodestar.report.sections.wording import count, number
from lodestar.runs.runset import RunSet
from lodestar.scheduler import Decision
from lodestar.schedules.schedule import Schedule

DRAWN = 60  # runs of a set


def html_of(thing: object) -> str | None:
    """A picture of the object, or None if there is none."""
    made = next((draw(thing) for kind, draw in _WAYS.items() if isinstance(thing, kind)), None)
    if made is None:
        return None
    charts, words = made
    picture = ""
    if charts:
        data = base64.b64encode(file_bytes(chart_panel("picture", charts), "svg")).decode()
        picture = f'<img alt="{escape(words)}" src="data:image/svg+xml;base64,{data}">'
    return f"<div>{picture}<p>{escape(words)}</p></div>"


def _schedule(schedule: Schedule) -> tuple[list[Chart], str]:
    steps = np.unique(np.linspace(schedule.first_step, max(schedule.last_step, schedule.first_step), 600).round())
    curve = corners(steps, [schedule.lr_at(int(step)) for step in steps])
    chart = Chart(
        str(schedule), [Line("learning rate", *curve, colour=0)], Axis("step"), Axis("learning rate", low=0.0)
    )
    return [chart], repr(schedule)


def _plan(plan: SchedulePlan) -> tuple[list[Chart], str]:
    forecast, metric = plan.forecast, plan.forecast.metric
    steps = forecast.steps(plan.schedule.last_step)
    interval = Shading(f"{forecast.level:.0%} interval", steps, metric.lower, metric.upper, "forecast", 0)
    chart = Chart("forecast metric", [interval, Line("forecast", steps, metric.centre, "forecast", 0)], Axis("step"))
    return [chart, *_schedule(plan.schedule)[0]], f"{plan.words}; forecast to end at {number(metric.centre[-1])}"


def _decision(decision: Decision) -> tuple[list[Chart], str]:
    rows = np.array([[np.nan if value is None else value for value in row] for row in decision.ahead], float)
    words = f"After step {decision.step}: {why(decision)}"
    if not len(rows):
        return [], words
    steps, lr, loss, metric = rows.T
    fans = {"loss": Fan(steps, loss), "metric": Fan(steps, metric)}
    live = Live("metric", int(steps[-1]), fans=fans, plan=(steps, lr))
    return live_charts(live)[::2], words


def _runs(runs: RunSet) -> tuple[list[Chart], str]:
    picked = (
        [runs[i] for i in np.unique(np.linspace(0, len(runs) - 1, min(DRAWN, len(runs))).astype(int))]
        if len(runs)
        else []
    )
    charts = []
    for name, title in (("metric", "metric"), ("loss", "training loss"), ("lr", "learning rate")):
        curves = [(run, getattr(run, name)) for run in picked]
        lines = [Line(run.name, *thin(s.steps, s.values), "runs", 1, faint=True) for run, s in curves if len(s)]
        charts += [Chart(title, lines, Axis("step"), Axis(title))] if lines else []
    shown = "" if len(picked) == len(runs) else f", {len(picked)} of them drawn"
    return charts, f"{count(len(runs), 'run')}{shown}"


def _forecaster(forecaster: Forecaster) -> tuple[list[Chart], str]:
    """Its reference runs, as it remembers them."""
    values, mask = forecaster.references.values, forecaster.references.mask
    real = np.where(mask, forecaster.recipe.normaliser.inverse(values), np.nan)
    metric = str(forecaster.facts.get("metric_name", "metric"))
    charts = []
    for place, channel in sorted(enumerate(CHANNELS), key=lambda pair: pair[1] != "metric"):
        title = {"metric": metric, "lr": "learning rate", "loss": "training loss"}.get(channel, channel)
        lines = [
            Line(name, forecaster.times, run[:, place], "its best past runs", 1, faint=True)
            for name, run in zip(forecaster.references.names, real, strict=True)
        ]
        charts.append(Chart(title, lines, Axis("part of the run", style="percent"), Axis(title)))
    runs = forecaster.facts.get("runs", "?")
    return charts, f"a forecaster of {metric} ({forecaster.direction}), fitted to {runs} runs"


_WAYS = {Schedule: _schedule, SchedulePlan: _plan, Decision: _decision, RunSet: _runs, Forecaster: _forecaster}
