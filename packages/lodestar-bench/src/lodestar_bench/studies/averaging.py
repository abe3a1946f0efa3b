"""The two numbers of averaged weights, tried out: interpolation and power, at a constant rate after a short warm-up.

Comes in: a task without convolutions, a rate, pairs of interpolation and power. Goes out: test metrics at the best
validation and at the end, mean and standard deviation over 20 seeds that no table uses (3000 to 3019). Schedule-free
as the bench has it, at the same rate, stands beside them.

    python -m lodestar_bench.studies.averaging cifar10-mlp 4e-3
    python -m lodestar_bench.studies.averaging stories-chars 1.3e-2 0.5,1 0.6,1
"""

import sys
from collections.abc import Sequence

import numpy as np

from lodestar.schedule_free import INTERPOLATION, POWER
from lodestar_bench import tasks
from lodestar_bench.arena import lockstep
from lodestar_bench.method import Optimizer
from lodestar_bench.methods.schedule import Scheduled
from lodestar_bench.methods.schedule_free import warm_then_flat
from lodestar_bench.optimizers.averaged import averaged_with
from lodestar_bench.optimizers.schedule_free import schedule_free

SEEDS = range(3000, 3020)
OTHERS = ((0.9, 0.0), (0.9, POWER), (0.8, POWER), (0.6, POWER), (0.7, 0.0), (0.7, 2.0), (0.7, 4.0))
PAIRS = ((INTERPOLATION, POWER), *OTHERS)


def run(task: str, rate: float, pairs: Sequence[tuple[float, float]] = PAIRS) -> None:
    """Print a line for each pair as it is done."""
    problem = tasks.problem(task, "cpu")
    forms = {"schedule-free, 0.9": schedule_free(problem.recipe)} | {
        f"interpolation {a:g}, power {b:g}": averaged_with(problem.recipe, a, b) for a, b in pairs
    }
    for name, form in forms.items():
        print(f"{task}, rate {rate:g}, {name}: {_judged(problem, form, rate)}", flush=True)


def _judged(problem, form: Optimizer, rate: float) -> str:
    schedule = warm_then_flat(rate, problem.total_steps)
    found = lockstep.play(problem, form, [Scheduled(schedule) for _ in SEEDS], SEEDS, [str(seed) for seed in SEEDS])
    told = []
    for where, figures in (("best", [one.test for one in found]), ("end", [one.test_at_end for one in found])):
        each = 100 * np.array([one.metric for one in figures])
        told.append(f"{where} {each.mean():.2f} +- {each.std(ddof=1):.2f}")
    return ", ".join(told)


if __name__ == "__main__":
    given = [tuple(map(float, word.split(","))) for word in sys.argv[3:]]
    run(sys.argv[1], float(sys.argv[2]), *([given] if given else []))  # pyright: ignore[reportArgumentType]
