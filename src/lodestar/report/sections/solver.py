"""How hard the latent ODE is to solve: step size and field evaluations along runs (the paper's stiffness figure).

Comes in: an `Evaluation`. Goes out: charts and blocks. Faint lines are runs, the bold one is their mean.
"""

import numpy as np
from numpy.typing import NDArray

from lodestar.evaluate.evaluation import Evaluation, Stiffness, Trajectory
from lodestar.report.html import Axis, Block, Chart, Line, Text
from lodestar.report.sections.errors import tolerance_charts
from lodestar.report.sections.wording import number, percent

_TIMES = np.linspace(0.0, 1.0, 101)


def solver_blocks(evaluation: Evaluation) -> list[Block]:
    """The same forecasts at other tolerances, then the solver's steps."""
    found, by_tolerance = evaluation.stiffness, tolerance_charts(evaluation)
    blocks: list[Block] = []
    if by_tolerance:
        about = "The same forecasts with the latent ODE solved at other tolerances."
        blocks += [Text(f"{about} Lines on top of one another: it does not."), *by_tolerance.values()]
    about = (
        f"Step sizes and evaluations along {len(found.trajectories)} runs (tsit5 at {found.tolerance:g}): "
        f"{number(found.evaluations.mean, 3)} evaluations a run, {percent(found.rejected)} of the steps thrown away. "
        "Steps that shrink suddenly would betray a stiff equation (the last only fills what is left)."
    )
    return [*blocks, Text(about), step_size_chart(found), evaluations_chart(found)]


def step_size_chart(found: Stiffness) -> Chart:
    """The size of each step the solver kept, against the place in the run."""
    lines = [_run(one, np.repeat(_edges(one), 2)[1:-1], np.repeat(one.size, 2)) for one in found.trajectories]
    mean = np.mean([np.array(one.size)[_step_at(one)] for one in found.trajectories], axis=0)
    lines.append(Line("mean", _TIMES, mean, colour=0, width=2.4))
    return Chart("solver step size", lines, _part(), Axis("fraction of the run", log=True))


def evaluations_chart(found: Stiffness) -> Chart:
    """Evaluations of the field spent so far, thrown-away steps included."""
    spent = [(one, _edges(one), [1, *one.evaluations]) for one in found.trajectories]
    lines = [_run(*part) for part in spent]
    mean = np.mean([np.interp(_TIMES, x, y) for _, x, y in spent], axis=0)
    lines.append(Line("mean, tsit5", _TIMES, mean, colour=0, width=2.4))
    if found.own_evaluations:
        lines.append(Line(f"its own solver ({found.own_solver})", [0, 1], [1, found.own_evaluations], colour=1))
    return Chart("field evaluations so far", lines, _part(), Axis("evaluations", low=0))


def _part() -> Axis:
    return Axis("part of the run", low=0, high=1, style="percent")


def _run(one: Trajectory, x: NDArray, y: NDArray | list[int]) -> Line:
    return Line(one.run, x, y, "runs", "faint", faint=True)


def _edges(one: Trajectory) -> NDArray[np.float64]:
    return np.array([*one.start, one.start[-1] + one.size[-1]])


def _step_at(one: Trajectory) -> NDArray[np.int64]:
    """Which step each of the drawn times falls in."""
    return np.clip(np.searchsorted(one.start, _TIMES, side="right") - 1, 0, len(one.start) - 1)
