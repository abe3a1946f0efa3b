"""Draws whether good runs are told from bad ones early: forecast against true finals, rank correlation, band coverage.

Comes in: an `Evaluation`. Goes out: panels.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from lodestar.evaluate.evaluation import Evaluation, Finals
from lodestar.report.errors import metric_words
from lodestar.report.ink import COLOURS, FAINT, Panel

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def rank_panels(evaluation: Evaluation) -> list[Panel]:
    """A scatter of finals for each fraction, then the rank correlation against the fraction seen."""
    panels = [
        Panel(
            f"finals-{round(100 * found.seen)}",
            f"final {metric_words(evaluation.metric_name)}, {100 * found.seen:.3g} % seen",
            _scatter(found),
        )
        for found in evaluation.finals
    ]
    return [*panels, Panel("spearman", "rank correlation", lambda axes: _spearman(axes[0], evaluation))]


def coverage_panels(evaluation: Evaluation) -> list[Panel]:
    """What the bands promise against what they held, for each fraction."""
    seen = dict.fromkeys(row.seen for row in evaluation.coverage)
    return [
        Panel(f"coverage-{round(100 * one)}", f"bands, {100 * one:.3g} % seen", _coverage(evaluation, one))
        for one in seen
        if one < 1
    ]


def _scatter(found: Finals):
    def draw(axes: "Sequence[Axes]") -> None:
        true, made = np.array(found.true), np.array(found.forecast)
        off = np.abs(np.array([found.lower, found.upper]) - made)
        ends = np.concatenate([true, made[np.isfinite(made)]])
        low, high = float(ends.min()), float(ends.max())
        room = 0.05 * (high - low) or 0.05 * abs(high) or 1.0
        axes[0].axline((low, low), slope=1, color=FAINT, linewidth=1)
        axes[0].errorbar(true, made, yerr=off, fmt="none", ecolor=COLOURS[0], alpha=0.3, elinewidth=1)
        axes[0].plot(true, made, "o", color=COLOURS[0], markersize=4)
        axes[0].set(xlabel="true", ylabel=f"forecast, {found.level:.0%} band")
        axes[0].set(xlim=(low - room, high + room), ylim=(low - room, high + room))

    return draw


def _spearman(axes: "Axes", evaluation: Evaluation) -> None:
    for place, name in enumerate(evaluation.forecasters):
        rows = [row for row in evaluation.ranking if row.forecaster == name]
        width = 2.2 if place == 0 else 1.3
        seen, found = [100 * row.seen for row in rows], [row.spearman for row in rows]
        axes.plot(seen, found, color=COLOURS[place], linewidth=width, label=name)
    axes.set(xscale="log", xlabel="part of the run seen (%)", ylabel="Spearman", ylim=(None, 1.02))
    axes.set_xticks([2, 5, 10, 20, 50, 100], ["2", "5", "10", "20", "50", "100"])
    axes.minorticks_off()


def _coverage(evaluation: Evaluation, seen: float):
    rows = [row for row in evaluation.coverage if row.seen == seen]

    def draw(axes: "Sequence[Axes]") -> None:
        promised = [100 * row.level for row in rows]
        axes[0].axline((50, 50), slope=1, color=FAINT, linewidth=1)
        for place, (field, label) in enumerate(
            {"loss": "loss", "lr": "learning rate", "metric": "metric", "final_metric": "final metric"}.items()
        ):
            held = [100 * getattr(row, field) for row in rows]
            axes[0].plot(promised, held, "o-", color=COLOURS[place], markersize=4, label=label)
        axes[0].set(xlabel="promised (%)", ylabel="held (%)", xlim=(45, 100), ylim=(None, 102))

    return draw
