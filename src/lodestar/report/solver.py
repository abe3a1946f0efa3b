"""Draws how hard the latent ODE is to solve: step size and field evaluations along runs (the stiffness figure).

Comes in: an `Evaluation`. Goes out: panels. Faint lines are runs, the bold one is their mean.
"""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from lodestar.evaluate.evaluation import Evaluation, Stiffness, Trajectory
from lodestar.report.ink import COLOURS, FAINT, Panel

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_TIMES = np.linspace(0.0, 1.0, 101)


def solver_panels(evaluation: Evaluation) -> list[Panel]:
    """Step size, and evaluations spent, against the place in the run."""
    found = evaluation.stiffness
    return [
        Panel("solver-step-size", "solver step size", lambda axes: _sizes(axes[0], found)),
        Panel("solver-evaluations", "field evaluations so far", lambda axes: _evaluations(axes[0], found)),
    ]


def _sizes(axes: "Axes", found: Stiffness) -> None:
    for one in found.trajectories:
        axes.step(100 * _edges(one), [*one.size, one.size[-1]], where="post", color=FAINT, alpha=0.35, linewidth=0.7)
    mean = np.mean([np.array(one.size)[_step_at(one)] for one in found.trajectories], axis=0)
    axes.plot(100 * _TIMES, mean, color=COLOURS[0], linewidth=2.2, label="mean")
    axes.set(yscale="log", xlabel="part of the run (%)", ylabel="fraction of the run")


def _evaluations(axes: "Axes", found: Stiffness) -> None:
    curves = [np.interp(_TIMES, _edges(one), [1, *one.evaluations]) for one in found.trajectories]
    for curve in curves:
        axes.plot(100 * _TIMES, curve, color=FAINT, alpha=0.35, linewidth=0.7)
    axes.plot(100 * _TIMES, np.mean(curves, axis=0), color=COLOURS[0], linewidth=2.2, label="mean, tsit5")
    if found.own_evaluations:
        label = f"its own solver ({found.own_solver})"
        axes.plot(100 * _TIMES, 1 + (found.own_evaluations - 1) * _TIMES, color=COLOURS[1], label=label)
    axes.set(xlabel="part of the run (%)", ylabel="evaluations", ylim=(0, None))


def _edges(one: Trajectory) -> NDArray[np.float64]:
    return np.array([*one.start, one.start[-1] + one.size[-1]])


def _step_at(one: Trajectory) -> NDArray[np.int64]:
    """Which step each of the drawn times falls in."""
    return np.clip(np.searchsorted(one.start, _TIMES, side="right") - 1, 0, len(one.start) - 1)
