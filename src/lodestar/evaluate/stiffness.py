"""How hard the latent ODE is to solve: step sizes and field evaluations along runs (the paper's stiffness figure).

Comes in: an exam. Goes out: for up to 100 runs, the steps the adaptive solver kept and the evaluations it had spent by
then, thrown-away steps included. Steps that shrink suddenly would betray a stiff field.
"""

import numpy as np

from lodestar.evaluate.accuracy import own_solver
from lodestar.evaluate.evaluation import MeanStd, Stiffness, Trajectory
from lodestar.evaluate.exam import Exam

MOST_RUNS = 100


def stiffness(exam: Exam, seen: float, tolerance: float = 1e-5) -> Stiffness:
    """Solve from the latents of the runs' beginnings, each by the first member that may speak on it."""
    runs = np.arange(len(exam.data))[:MOST_RUNS]
    member = np.argmax(exam.speakers[runs], axis=1)
    network = exam.forecaster.network
    steps = network.trace(exam.latents(seen)[:, runs], exam.forecaster.times, tolerance)[1]
    start, size = steps.start[:, member, runs], steps.size[:, member, runs]
    kept, spent = steps.kept[:, member, runs], steps.evaluations[:, member, runs]
    found = tuple(
        Trajectory(
            exam.data.names[run],
            tuple(start[kept[:, run], run].tolist()),
            tuple(size[kept[:, run], run].tolist()),
            tuple(spent[kept[:, run], run].tolist()),
        )
        for run in runs
    )
    shape = network.shape
    return Stiffness(
        tolerance=tolerance,
        seen=seen,
        evaluations=MeanStd.of(spent[-1].astype(float)),
        rejected=float(1.0 - kept.sum() / max(1, (size > 0).sum())),
        own_solver=own_solver(exam),
        own_evaluations=4 * shape.steps + 1 if shape.solver == "rk4" else None,
        trajectories=found,
    )
