"""The bench's tasks at cpu scale: how long a run takes, and whether schedules differ by more than seeds do.

Comes in: names of tasks (all whose data are here by default) and, as `seeds=N`, how many seeds. Goes out: for each task
the seconds of a run (the first apart: it compiles), the share of evaluation, the test metric of `constant` and `cosine`
at the recipe's five rates, and the room: how many standard deviations (of seeds) lie between the best and the worst
rate of a cosine, and between the best cosine and the best constant. Bars: 10 s a run, evaluation at most 20 % of it,
cosine ahead.

python -m lodestar_bench.studies.task_room fmnist-cnn seeds=3
"""

import json
import sys
import time

import numpy as np

from lodestar.runs import Direction
from lodestar_bench.methods import method
from lodestar_bench.problem import AbstractProblem
from lodestar_bench.tasks import names, problem, task
from lodestar_bench.train import train

BAR_SECONDS, BAR_EVALUATION = 10.0, 0.2


def run(*arguments: str) -> dict[str, object]:
    """Every task named, or every one whose data are on this machine."""
    seeds = next((int(a.removeprefix("seeds=")) for a in arguments if a.startswith("seeds=")), 2)
    wanted = [a for a in arguments if "=" not in a]
    found = wanted or [name for name in names() if not task(name).missing()]
    return {name: _measured(problem(name, "cpu"), seeds) for name in found}


def _measured(case: AbstractProblem, seeds: int) -> dict[str, object]:
    began = time.perf_counter()
    train(case, method("cosine"), case.recipe.rates[2], seed=100)
    first = time.perf_counter() - began
    seconds, shares, means, stds = [], [], {}, {}
    for shape in ("constant", "cosine"):
        for rate in case.recipe.rates:
            outcomes = [train(case, method(shape), rate, seed=seed) for seed in range(seeds)]
            tests = [outcome.test.metric for outcome in outcomes]
            means[shape, rate], stds[shape, rate] = float(np.mean(tests)), float(np.std(tests, ddof=1))
            seconds += [outcome.seconds.total for outcome in outcomes]
            shares += [outcome.seconds.evaluate / outcome.seconds.total for outcome in outcomes]
            print(f"   {case.task} {shape} {rate:g}: {np.mean(tests):.4f} +- {stds[shape, rate]:.4f}", flush=True)
    return {
        "updates": case.total_steps,
        "first_run_s": round(first, 1),
        "run_s": round(float(np.median(seconds)), 2),
        "run_s_bar": BAR_SECONDS,
        "evaluation_share": round(float(np.median(shares)), 3),
        "evaluation_share_bar": BAR_EVALUATION,
        **_room(case, means, stds),
        "test": {f"{shape} {rate:g}": round(mean, 4) for (shape, rate), mean in means.items()},
    }


def _room(case: AbstractProblem, means: dict[tuple[str, float], float], stds: dict[tuple[str, float], float]):
    sign = 1 if case.direction is Direction.MAX else -1
    best = {s: max((k for k in means if k[0] == s), key=lambda k: sign * means[k]) for s in ("constant", "cosine")}
    worst = min((k for k in means if k[0] == "cosine"), key=lambda k: sign * means[k])
    noise = max(stds[best["cosine"]], 1e-9)
    return {
        "best_cosine": f"{best['cosine'][1]:g}: {means[best['cosine']]:.4f} +- {noise:.4f}",
        "rates_in_stds": round(sign * (means[best["cosine"]] - means[worst]) / noise, 1),
        "cosine_over_constant_in_stds": round(sign * (means[best["cosine"]] - means[best["constant"]]) / noise, 1),
    }


if __name__ == "__main__":
    print(json.dumps(run(*sys.argv[1:]), indent=2))
