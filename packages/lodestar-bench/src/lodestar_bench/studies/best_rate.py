"""How far off is an extrapolated rate? Sweeps of networks at most an eighth as wide, and the best rate of the full one.

Comes in: tasks. Goes out, a line of JSON each: the best peak of warm-up + linear for the full width by the law of
thirty small runs, quasi-random ones or those that `lodestar tune --size` picks, and
the best one measured: eight rates, four seeds, a parabola through the top five in log rate.

    python -m lodestar_bench.studies.best_rate cifar10-mlp stories-chars diamonds-mlp --out best_rate.jsonl
    python -m lodestar_bench.studies.best_rate cifar10-mlp stories-chars diamonds-mlp --how tune --out best_rate.jsonl
"""

import argparse
import dataclasses
import json
import math
from pathlib import Path

import numpy as np

from lodestar.fitting.dataset import prepare
from lodestar.fitting.response.response import fit_response
from lodestar.fitting.scale_law import one_scale
from lodestar.forecaster.response.history import on_cells
from lodestar.runs import Direction
from lodestar.schedules import Schedule, parse
from lodestar.tuning.choose import CELLS, read_tried
from lodestar.tuning.sizes import Sizes
from lodestar_bench.arena.contestant import Sweep
from lodestar_bench.methods.schedule import Scheduled
from lodestar_bench.studies.sizes import RUNS, WORK, Case, play, small_runs
from lodestar_bench.studies.small_search import cost, search

SMALLER = (32, 16, 8)
RATES = np.geomspace(5e-4, 6.4e-2, 8)
SEEDS = range(2000, 2004)
SHAPE = "linear:{:g}:warmup=0.1"


def predicted(case: Case) -> tuple[float, dict]:
    """The best peak for the full width, as the law says, and the law."""
    runs, _ = small_runs(case, SMALLER)
    data, law = one_scale(prepare(runs))
    made = fit_response(data, seed=case.sweep)
    assert law is not None and made is not None, "thirty runs of three sizes have both"
    peaks, shape = np.geomspace(3e-5, 0.3, 400), np.array(parse(SHAPE.format(1.0), 1000).rates)
    rates = on_cells(peaks[:, None] * shape) * law.factor(case.facts())
    sign = 1.0 if runs[0].direction is Direction.MAX else -1.0
    return float(peaks[np.argmax(sign * made[0].finals(rates, None).centre)]), law.to_dict()


def searched(case: Case) -> tuple[float, dict]:
    """The same by a search over the sizes and its surface."""
    found = search(case, SMALLER, work=max(WORK, cost(case, SMALLER, RUNS)), runs=RUNS)
    tried = read_tried(found.runs, Sizes(tuple(1 / times for times in SMALLER), 1.0))
    assert tried is not None, "thirty runs of three sizes have a surface"
    peaks, shape = np.geomspace(3e-5, 0.3, 400), np.array(parse(SHAPE.format(1.0), 40 * CELLS).rates)
    rates = peaks[:, None] * shape.reshape(CELLS, -1).mean(axis=1)
    mean, deviation = tried.surface.exponent
    facts = {key: found.facts[key] for key in ("spent", "counts")}
    return float(peaks[np.argmax(tried.surface(rates)[0])]), {"exponent": mean, "deviation": deviation, **facts}


def measured(case: Case) -> tuple[float, list[float]]:
    """The best peak of the full network, and the mean test metric at each rate."""
    problem = case.problem()
    pairs = [(rate, seed) for rate in RATES for seed in SEEDS]
    made = [Scheduled(Schedule("linear", parse(SHAPE.format(rate), problem.total_steps).rates)) for rate, _ in pairs]
    names = [f"{rate:.3g}-{seed}" for rate, seed in pairs]
    outcomes = play(problem, Sweep(form=case.form).optimizer(problem), made, [seed for _, seed in pairs], names)
    sign = 1.0 if problem.direction is Direction.MAX else -1.0
    means = np.reshape([sign * outcome.test.metric for outcome in outcomes], (len(RATES), -1)).mean(axis=1)
    means = np.where(np.isfinite(means), means, -np.inf)
    top = np.sort(np.argsort(-means)[:5])
    curve = np.polyfit(np.log(RATES[top]), means[top], 2)
    best = math.exp(-curve[1] / (2 * curve[0])) if curve[0] < 0 else float(RATES[np.argmax(means)])
    return best, [float(sign * mean) for mean in means]


HOW = {"law": predicted, "tune": searched}


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tasks", nargs="+")
    parser.add_argument("--sweeps", nargs="+", type=int, default=[0, 1])
    parser.add_argument("--how", choices=HOW, default="law")
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    for task in given.tasks:
        truth, means = measured(Case(task, "width", "recipe", 0))
        for sweep in given.sweeps:
            case = Case(task, "width", "recipe", sweep)
            best, law = HOW[given.how](case)
            line = dataclasses.asdict(case) | {"how": given.how, "predicted": best, "measured": truth}
            with given.out.open("a") as file:
                file.write(json.dumps(line | {"law": law, "rates": RATES.tolist(), "means": means}) + "\n")
            print(json.dumps(line | {"off": round(best / truth, 2)}), flush=True)


if __name__ == "__main__":
    main()
