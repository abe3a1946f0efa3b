"""A run as it goes: metric, loss and learning rate so far, the fan of forecasts from now on, the plan and alternatives.

Comes in: a `Live`, whatever of it is known. Goes out: charts, the same for a page that watches a job and for a report.
"""

import dataclasses
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from lodestar.report.html import Axis, Chart, Line, Mark, Scatter, Shading, XSpan, thin
from lodestar.report.sections.examples import limits
from lodestar.report.sections.why import why, word
from lodestar.report.sections.wording import percent, short
from lodestar.scheduler import Decision
from lodestar.scheduler.records.points import RECORD

Curve = tuple[NDArray[np.float64], NDArray[np.float64]]  # steps, values
NOTHING: Curve = (np.zeros(0), np.zeros(0))
POINTS = 400  # of a curve that is drawn
_EARLY = 0.03  # of a run, which does not set the scale


@dataclasses.dataclass(frozen=True)
class Fan:
    """A forecast from now on: its steps, its centre, and the ends of its intervals by their level."""

    steps: NDArray[np.float64]
    centre: NDArray[np.float64]
    ends: Mapping[float, tuple[NDArray[np.float64], NDArray[np.float64]]] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class Live:
    """A run so far and what is foreseen. Curves are as logged; a channel without a forecast has none in `fans`."""

    metric_name: str
    total_steps: int
    loss: Curve = NOTHING
    metric: Curve = NOTHING
    lr: Curve = NOTHING
    fans: Mapping[str, Fan] = dataclasses.field(default_factory=dict)  # by channel: "loss", "metric"
    plan: Curve = NOTHING
    alternatives: Sequence[tuple[str, Curve]] = ()
    decisions: Sequence[Decision] = ()  # that are marked

    @property
    def now(self) -> int:
        """The last step with anything known."""
        return int(max((steps[-1] for steps, _ in (self.loss, self.metric, self.lr) if len(steps)), default=0))


def curves_of(points: NDArray[np.void]) -> dict[str, Curve]:
    """Loss, metric and learning rate of a job's points, each where it was measured; of a step the last value."""
    assert points.dtype == RECORD
    found = {}
    for name in ("loss", "metric", "lr"):
        kept = points[~np.isnan(points[name])]
        last = np.ones(len(kept), bool)
        last[:-1] = kept["step"][1:] != kept["step"][:-1]
        found[name] = (kept["step"][last].astype(np.float64), kept[name][last].astype(np.float64))
    return found


def live_charts(live: Live) -> list[Chart]:
    """Metric, loss and learning rate."""
    titles = {"metric": live.metric_name, "loss": "training loss"}
    return [*(_curve(live, channel, title) for channel, title in titles.items()), _rate(live)]


def _curve(live: Live, channel: str, title: str) -> Chart:
    fan = live.fans.get(channel)
    measured: Curve = getattr(live, channel)
    so_far = thin(*measured, POINTS)
    series: list[Mark] = []
    if fan is not None:
        for level in sorted(fan.ends, reverse=True):
            low, high = fan.ends[level]
            series.append(Shading(f"{percent(level)} interval", fan.steps, low, high, "forecast", 0, 0.16))
        series.append(Line("forecast", fan.steps, fan.centre, "forecast", 0, dashed=True))
    if len(so_far[0]):
        series.append(Line(f"{short(title, 30)} so far", *so_far, colour="ink"))
    later = so_far[1][so_far[0] > _EARLY * live.total_steps]
    low, high = limits(later if len(later) else so_far[1], *([] if fan is None else [fan.centre]))
    return Chart(title, series, _steps(live), Axis(title, low=low, high=high), spans=_seen(live))


def _rate(live: Live) -> Chart:
    series: list[Mark] = [
        Line(short(name, 40), *curve, colour=place, faint=True)
        for place, (name, curve) in enumerate(live.alternatives, 2)
    ]
    if len(live.plan[0]):
        series.append(Line("plan", *live.plan, colour=0, dashed=True))
    if len(live.lr[0]):
        series.append(Line("used so far", *thin(*live.lr, POINTS), colour="ink"))
    marked = [d for d in live.decisions if d.lr]
    if marked:
        texts = [f"step {d.step}: {word(d.outcome)}. {why(d)}" for d in marked]
        series.append(Scatter("decisions", [d.lr[0][0] for d in marked], [d.lr[0][1] for d in marked], texts, colour=1))
    return Chart("learning rate", series, _steps(live), Axis("learning rate", low=0.0), spans=_seen(live))


def _steps(live: Live) -> Axis:
    return Axis("step", low=0, high=max(live.total_steps, live.now, 1))


def _seen(live: Live) -> list[XSpan]:
    return [XSpan(0, live.now, "so far")] if 0 < live.now < live.total_steps else []
