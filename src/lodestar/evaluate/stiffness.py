"""How hard the latent ODE is to solve: step sizes and field evaluations along runs (the paper's stiffness figure).

Comes in: a trial. Goes out: for up to 100 runs, the steps the adaptive solver kept and the evaluations it had spent by
then, thrown-away steps included. Steps that shrink suddenly would betray a stiff field.
"""

import numpy as np

from lodestar.evaluate.accuracy import own_solver
from lodestar.evaluate.evaluation import Spread, Stiffness, Trajectory
from lodestar.evaluate.trial import Trial

MOST_RUNS = 100


def stiffness(trial: Trial, seen: float, tolerance: float = 1e-5) -> Stiffness:
    """Solve from the latents of the runs' beginnings, each by the first member that may speak on it."""
    runs = np.arange(len(trial.data))[:MOST_RUNS]
    member = np.argmax(trial.speakers[runs], axis=1)
    network = trial.forecaster.network
    steps = network.trace(trial.latents(seen)[:, runs], trial.forecaster.times, tolerance)[1]
    start, size = steps.start[:, member, runs], steps.size[:, member, runs]
    kept, spent = steps.kept[:, member, runs], steps.evaluations[:, member, runs]
    found = tuple(
        Trajectory(
            trial.data.names[run],
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
        evaluations=Spread.of(spent[-1].astype(float)),
        rejected=float(1.0 - kept.sum() / max(1, (size > 0).sum())),
        own_solver=own_solver(trial),
        own_evaluations=4 * shape.steps + 1 if shape.solver == "rk4" else None,
        trajectories=found,
    )
