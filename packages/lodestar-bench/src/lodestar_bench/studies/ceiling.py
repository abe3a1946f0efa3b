"""How much any schedule could win: the quasi-random runs of a bench, smoothed by a Gaussian process over their numbers.

Comes in: homes of a bench with such a sweep (`bench-out/fmnist-cnn-cpu`). Goes out, for the test metric at the best
validation and at the end, in units of the metric x 100: what one run differs from the next at the same schedule (seed
noise), the process's error on runs left out, the best schedule it believes in, and what it believes of warm-up + linear
and warm-up-stable-decay at their best rates. The difference is the room above a tuned plain schedule *within the family
of trapezoids*; as the maximum of a noisy estimate it flatters. The worst third of the runs is left out: what happens
there says little about the top.

python -m lodestar_bench.studies.ceiling bench-out/fmnist-cnn-cpu bench-out/cifar10-mlp-cpu
"""

import json
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.model_selection import cross_val_predict

from lodestar_bench.home import Home
from lodestar_bench.quasi_random import trials
from lodestar_bench.tasks import problem

FIGURES = {"at best validation": "test", "at the end": "last_test"}
PLAIN = {"linear": (0.1, 0.0, 0.0, 0.0), "wsd": (0.1, 0.7, 0.0, 0.0)}  # warm-up, plateau, log of the power, floor
LOW, HIGH = (0.0, 0.0, np.log(0.5), 0.0), (0.3, 0.7, np.log(3.0), 0.1)  # the sweep's own span
TRIED = 20_000
KEPT = 0.67


def run(*folders: str) -> dict[str, object]:
    """Each home by name."""
    homes = [Home(Path(folder)) for folder in folders or map(str, sorted(Path("bench-out").glob("*-cpu")))]
    return {home.path.name: ceiling(home) for home in homes if (home.path / "bench.json").is_file()}


def ceiling(home: Home) -> dict[str, object]:
    """The room of one task."""
    facts = home.facts()
    case, results = problem(facts.task, facts.scale), home.results(facts)
    made = [
        (trial, results.records[name]) for name, trial in trials(case, facts.plan).items() if name in results.records
    ]
    if not made:
        return {"trouble": "no quasi-random sweep in this home. Fix: lodestar bench table1 --sweep sobol"}
    numbers = np.array([_numbers(trial) for trial, _ in made])
    sign = 1.0 if facts.direction == "max" else -1.0
    span = np.log10([min(case.recipe.rates), max(case.recipe.rates)])
    found = {}
    for name, key in FIGURES.items():
        values = np.array([sign * 100 * getattr(record, key) for _, record in made])
        known = np.isfinite(values) & (values >= np.nanquantile(values, 1 - KEPT))
        found[name] = _room(numbers[known], values[known], span, sign)
    return found


def _numbers(trial) -> list[float]:
    told = trial.settings
    peak = float(trial.schedule.rates.max())
    return [np.log10(peak), told["warmup"], told["plateau"], np.log(told["power"]), told["floor"]]


def _room(numbers: NDArray, values: NDArray, span: NDArray, sign: float) -> dict[str, object]:
    middle, width = numbers.mean(axis=0), numbers.std(axis=0)
    lengths: Any = np.full(5, 2.0)
    kernel = ConstantKernel(4.0) * RBF(lengths, (0.3, 20.0)) + WhiteKernel(0.3, (1e-2, 10.0))
    process: Any = GaussianProcessRegressor(kernel, normalize_y=True, n_restarts_optimizer=2, random_state=0)
    given = (numbers - middle) / width
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a length at the end of its span: that number hardly matters
        process.fit(given, values)
        error = values - cross_val_predict(process, given, values, cv=10)
    draws = np.random.default_rng(0).uniform((span[0], *LOW), (span[1], *HIGH), (TRIED, 5))
    means = process.predict((draws - middle) / width)
    best = draws[np.argmax(means)]
    rates = np.linspace(span[0], span[1], 60)
    plain = {
        name: max((float(process.predict(([[rate, *rest]] - middle) / width)[0]), float(rate)) for rate in rates)
        for name, rest in PLAIN.items()
    }
    pair = np.array([best, [plain["linear"][1], *PLAIN["linear"]]])
    _, together = process.predict((pair - middle) / width, return_cov=True)
    unsure = float(np.sqrt(max(together[0, 0] + together[1, 1] - 2 * together[0, 1] - 2 * _noise(process, values), 0)))
    names = ("log10_peak", "warmup", "plateau", "log_power", "floor")
    return {
        "runs": len(values),
        "seed_noise": round(float(np.sqrt(_noise(process, values))), 2),
        "explained": round(1 - float(np.mean(error**2) / np.var(values)), 2),
        "best": round(sign * float(means.max()), 2),
        "best_schedule": {name: round(float(x), 3) for name, x in zip(names, best, strict=True)},
        **{f"{name} at {10**rate:.2g}": round(sign * mean, 2) for name, (mean, rate) in plain.items()},
        "room_above_linear": round(float(means.max()) - plain["linear"][0], 2),
        "room_is_unsure_by": round(unsure, 2),
    }


def _noise(process: Any, values: NDArray) -> float:
    """The variance of what the schedule does not explain."""
    return float(process.kernel_.k2.noise_level) * float(np.var(values))


if __name__ == "__main__":
    print(json.dumps(run(*sys.argv[1:]), indent=2))
