"""Draws how far off forecasts are: error against the fraction seen, and against solver tolerance (the ablation figure).

Comes in: an `Evaluation`. Goes out: panels. Logarithmic both ways, mean over runs, shading one standard deviation.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from lodestar.evaluate.evaluation import OURS, Ablation, ByChannel, Evaluation
from lodestar.report.ink import COLOURS, Panel

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LOWEST = 1e-7  # where an error of exactly nothing is drawn on a log scale


def error_panels(evaluation: Evaluation) -> list[Panel]:
    """Ours and the simple forecasters, a panel for each quantity."""
    rows = [row for row in evaluation.ablation if row.tolerance is None]
    return [_panel("error", name, title, rows) for name, title in channel_titles(evaluation).items()]


def tolerance_panels(evaluation: Evaluation) -> list[Panel]:
    """Ours by each solver, a panel for each quantity."""
    rows = [row for row in evaluation.ablation if row.forecaster == OURS]
    return [_panel("tolerance", name, title, rows) for name, title in channel_titles(evaluation).items()]


def channel_titles(evaluation: Evaluation) -> dict[str, str]:
    """The three quantities in words, in the paper's order."""
    return titles_with(evaluation.metric_name)


def titles_with(metric_name: str) -> dict[str, str]:
    """The same, for a metric of that name."""
    return {"loss": "training loss", "lr": "learning rate", "metric": metric_words(metric_name)}


def metric_words(name: str) -> str:
    """The metric's name if a figure's font can surely draw it; it may hold anything, such as mathematics to typeset."""
    plain = name.isascii() and name.isprintable() and "$" not in name and name != "metric" and len(name) <= 30
    return name if plain else "validation metric"


def _panel(kind: str, channel: str, title: str, rows: Sequence[Ablation]) -> Panel:
    return Panel(f"{kind}-{channel}", title, lambda axes: _draw(axes[0], channel, rows))


def _draw(axes: "Axes", channel: str, rows: Sequence[Ablation]) -> None:
    solvers = len({row.forecaster for row in rows}) == 1
    for place, row in enumerate(rows):
        seen, mean, std = (np.array(part) for part in (row.seen, *_spread(row.error, channel)))
        label = row.solver + (" (its own)" if row.tolerance is None else "") if solvers else row.forecaster
        # Solvers agree to the eye: the first is drawn broad, the others dashed on top of it.
        width = (4.0 if solvers else 2.2) if place == 0 else 1.3
        dash = (0, (2, 3, *[1, 3] * (place - 1))) if solvers and place else "-"
        line = {"color": COLOURS[place], "label": label, "linewidth": width, "linestyle": dash}
        axes.plot(100 * seen, np.maximum(mean, _LOWEST), **line)
        if place == 0:
            low, high = np.maximum(mean - std, mean / 10), mean + std
            axes.fill_between(100 * seen, np.maximum(low, _LOWEST), high, color=COLOURS[0], alpha=0.15, linewidth=0)
    axes.set(xscale="log", yscale="log", xlabel="part of the run seen (%)", ylabel="relative MSE")
    # A forecaster that repeats what it saw falls to nothing at the end; ours sets the scale.
    ours = [getattr(error, channel).mean for error in rows[0].error if getattr(error, channel).runs]
    if ours:
        axes.set_ylim(bottom=max(min(ours) / 20, _LOWEST))
    axes.set_xticks([2, 5, 10, 20, 50, 100], ["2", "5", "10", "20", "50", "100"])
    axes.minorticks_off()


def _spread(errors: Sequence[ByChannel], channel: str) -> tuple[list[float], list[float]]:
    found = [getattr(error, channel) for error in errors]
    return [spread.mean for spread in found], [spread.std for spread in found]
