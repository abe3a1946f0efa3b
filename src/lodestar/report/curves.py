"""Draws true runs beside their forecasts: the paper's figure of trajectories, black the truth, orange the forecast.

Comes in: an `Evaluation`, or one forecast. Goes out: a panel for each example run and fraction. Grey shading is what
was seen.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from lodestar.evaluate.evaluation import ByChannel, Drawn, Evaluation, Example
from lodestar.forecaster import Forecast
from lodestar.forecaster.preprocessing import CHANNELS, Points
from lodestar.report.errors import channel_titles, titles_with
from lodestar.report.ink import BAND, COLOURS, FAINT, INK, Panel

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def curve_panels(evaluation: Evaluation) -> list[Panel]:
    """Each example run, forecast from each fraction."""
    titles = channel_titles(evaluation)
    return [
        Panel(
            f"curves-{example.why}-{round(100 * drawn.seen)}",
            f"{example.why} run, {100 * drawn.seen:.3g} % seen",
            _drawing(example, drawn, titles),
            rows=3,
            caption=example.run,
        )
        for example in evaluation.examples
        for drawn in example.forecasts
    ]


def forecast_panel(forecast: Forecast, raw: Points, smoothed: Points, total_steps: int, metric_name: str) -> Panel:
    """One forecast of one run, beside what was logged so far."""
    centre, lower, upper = (
        {name: getattr(getattr(forecast, name), part).tolist() for name in CHANNELS}
        for part in ("centre", "lower", "upper")
    )
    seen = forecast.seen[1] / len(forecast.times)
    logged, smooth = (
        {name: np.where(p.mask[:, i], p.values[:, i], np.nan).tolist() for i, name in enumerate(CHANNELS)}
        for p in (raw, smoothed)
    )
    blank = ByChannel.of(np.full((1, len(CHANNELS)), np.nan))
    drawn = Drawn(seen, forecast.level, centre, lower, upper)
    example = Example("", "", blank, forecast.steps(total_steps).tolist(), logged, smooth, (drawn,))
    return Panel("forecast", f"{100 * seen:.3g} % seen", _drawing(example, drawn, titles_with(metric_name)), rows=3)


def _drawing(example: Example, drawn: Drawn, titles: dict[str, str]):
    def draw(axes: "Sequence[Axes]") -> None:
        for one, (channel, title) in zip(axes, titles.items(), strict=True):
            _channel(one, example, drawn, channel)
            one.set_ylabel(title if len(title) < 18 else f"{title[:16]}…")
        axes[-1].set_xlabel("step")

    return draw


def _channel(axes: "Axes", example: Example, drawn: Drawn, channel: str) -> None:
    steps = np.array(example.steps)
    truth, smoothed = np.array(example.raw[channel]), np.array(example.smoothed[channel])
    axes.axvspan(0, drawn.seen * steps[-1], color=BAND, alpha=0.5, linewidth=0)
    if channel != "lr":
        fine = np.isfinite(truth)
        axes.plot(steps[fine], truth[fine], color=FAINT, linewidth=0.8, label="as logged")
    fine = np.isfinite(smoothed)
    axes.plot(steps[fine], smoothed[fine], color=INK, linewidth=1.4, label="truth")
    lower, upper = drawn.lower[channel], drawn.upper[channel]
    axes.fill_between(steps, lower, upper, color=COLOURS[0], alpha=0.2, linewidth=0, label=f"{drawn.level:.0%} band")
    axes.plot(steps, drawn.centre[channel], color=COLOURS[0], label="forecast")
    # The band at the far end of an lr can dwarf the curve: the truth and the forecast set the scale.
    inside = np.concatenate([truth[np.isfinite(truth)], np.array(drawn.centre[channel])])
    inside = inside[np.isfinite(inside)]
    if len(inside):
        low, high = inside.min(), inside.max()
        room = 0.08 * (high - low) or 0.05 * abs(high) or 1.0
        axes.set_ylim(0.0 if channel == "lr" else low - room, high + room)
