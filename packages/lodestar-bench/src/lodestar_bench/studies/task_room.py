"""The bench's tasks at a scale: how long a run takes, and whether schedules differ by more than seeds do.

Comes in: names of tasks (all whose data are here by default) and, as words: `scale=cpu`, `seeds=2` of each setting,
`shapes=constant,cosine` and `rates=3e-3,1e-2` (the recipe's five by default). Goes out: for each task the seconds of a
run (the first apart: it compiles), the share of evaluation, the test metric of each shape at each rate, and the room:
how many standard deviations (of seeds) lie between the best and the worst rate of the best shape, and between the best
and the worst shape, each at its best rate. Bars at cpu scale: 10 s a run, evaluation at most 20 % of it, shapes apart.

python -m lodestar_bench.studies.task_room fmnist-cnn seeds=3
python -m lodestar_bench.studies.task_room cifar10-resnet scale=laptop shapes=constant,cosine,linear,wsd rates=1e-2
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
Figures = dict[tuple[str, float], float]


def run(*arguments: str) -> dict[str, object]:
    """Every task named, or every one whose data are on this machine."""
    given = dict(word.split("=", 1) for word in arguments if "=" in word)
    scale, seeds = given.get("scale", "cpu"), int(given.get("seeds", "2"))
    shapes = given.get("shapes", "constant,cosine").split(",")
    rates = [float(rate) for rate in given["rates"].split(",")] if "rates" in given else None
    wanted = [word for word in arguments if "=" not in word]
    able = [name for name in names() if scale in task(name).scales and not task(name).missing()]
    return {name: _measured(problem(name, scale), seeds, shapes, rates) for name in wanted or able}


def _measured(case: AbstractProblem, seeds: int, shapes: list[str], rates: list[float] | None) -> dict[str, object]:
    rates = list(case.recipe.rates) if rates is None else rates
    began = time.perf_counter()
    train(case, method("cosine"), rates[len(rates) // 2], seed=100)
    first = time.perf_counter() - began
    seconds, shares, means, stds = [], [], {}, {}
    for shape in shapes:
        for rate in rates:
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
        "evaluation_share": round(float(np.median(shares)), 3),
        **({"run_s_bar": BAR_SECONDS, "evaluation_share_bar": BAR_EVALUATION} if case.scale == "cpu" else {}),
        **_room(case, means, stds),
        "test": {f"{shape} {rate:g}": round(mean, 4) for (shape, rate), mean in means.items()},
    }


def _room(case: AbstractProblem, means: Figures, stds: Figures) -> dict[str, object]:
    """What lies between rates and between shapes, in standard deviations of a seed (pooled over all settings)."""
    sign = 1 if case.direction is Direction.MAX else -1
    noise = max(float(np.sqrt(np.mean(np.square(list(stds.values()))))), 1e-9)
    best = {
        shape: max((key for key in means if key[0] == shape), key=lambda key: sign * means[key])
        for shape in dict.fromkeys(shape for shape, _ in means)
    }
    order = sorted(best.values(), key=lambda key: -sign * means[key])
    top, last = order[0], order[-1]
    worst = min((key for key in means if key[0] == top[0]), key=lambda key: sign * means[key])
    return {
        "best": f"{top[0]} {top[1]:g}: {means[top]:.4f}",
        "worst_shape": f"{last[0]} {last[1]:g}: {means[last]:.4f}",
        "std_of_a_seed": round(noise, 5),
        "rates_in_stds": round(sign * (means[top] - means[worst]) / noise, 1),
        "shapes_in_stds": round(sign * (means[top] - means[last]) / noise, 1),
    }


if __name__ == "__main__":
    print(json.dumps(run(*sys.argv[1:]), indent=2))
