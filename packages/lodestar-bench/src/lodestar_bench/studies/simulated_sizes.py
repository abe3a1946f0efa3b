"""Which small runs tell most of a full job? Rules of picking them against each other, on a simulated law of sizes.

Comes in: rules, seeds. Goes out, for each rule: by how many points the full job's plan ends below the best, its rate
against the best (logarithms), and the runs at each size. The best mean rate of a run goes as size^-a; from there the
accuracy falls as the square of the logarithm, further above than below; runs differ by luck. Nothing is trained.

    python -m lodestar_bench.studies.simulated_sizes sobol improve told work --seeds 6
"""

import argparse
import dataclasses

import numpy as np
from numpy.typing import NDArray

from lodestar.forecaster.scale_law import PRIORS
from lodestar.sweep.spaces import QuasiRandom, Range
from lodestar.tuning.choose import candidates, draw, numbers_at
from lodestar.tuning.propose import expected_gain, told_gain
from lodestar.tuning.surface import Surface, fit_surface

Array = NDArray[np.float64]

SIZES = np.log([1 / 16, 1 / 8, 1 / 4])  # of the full job's
COST = np.array([0.054, 0.11, 0.224])  # of a full run: cifar10-mlp's parameters
EACH, WORK = 10, 2.0
SPACE = QuasiRandom(peak=Range(3e-4, 3e-2, log=True))
RULES = ("sobol", "improve", "told", "work")


@dataclasses.dataclass(frozen=True)
class Truth:
    """Exponents up to the largest size swept and beyond it, the best mean rate of the full job, points per square."""

    exponent: float
    beyond: float
    best: float
    curvature: float = 1.25
    luck: float = 0.8

    def off(self, rates: Array, size: float) -> Array:
        """log mean rate over the best."""
        edge = SIZES[-1]
        return (
            np.log(rates.mean(axis=1) / self.best) + self.beyond * max(size, edge) + self.exponent * min(size - edge, 0)
        )

    def points(self, rates: Array, size: float) -> Array:
        """What a run is expected to end at."""
        part, peak = rates.shape[1] // 10, rates.max(axis=1)
        off = self.off(rates, size)
        lost = self.curvature * np.where(off < 0, 1.0, 1.6) * off**2
        begin, end = (np.log(rates[:, cut].mean(axis=1) / peak + 3e-3) for cut in (slice(part), slice(-part, None)))
        shape = 0.12 * np.maximum(0, end - np.log(0.03)) ** 2 + 0.24 * np.maximum(0, begin + 0.7) ** 2
        return 49 + 4 * size - lost / (1 + lost / 15) - shape


TRUTHS = (
    Truth(0.33, 0.51, 1.5e-3),
    Truth(0.24, 0.24, 6e-3),
    Truth(0.55, 0.55, 1.5e-3),
    Truth(0.35, 0.42, 3e-3, curvature=0.8),
)


def swept(truth: Truth, rule: str, seed: int) -> tuple[Surface, list[int]]:
    """The surface of one sweep by a rule, and the runs at each size."""
    rng, (_, rates) = np.random.default_rng(seed), candidates(SPACE, 0)
    quasi_random = candidates(SPACE, seed + 1)[1]
    order = [place % 3 for place in range(6 if rule == "work" else 3 * EACH)]
    tried: list[tuple[Array, int, float]] = []
    while order or rule == "work":
        left = WORK - sum(COST[at] for _, at, _ in tried)
        if not order and left < COST[0] / 2:
            break
        size = order.pop(0) if order else -1
        if rule == "sobol" or len(tried) < 6:
            picked = quasi_random[len(tried)]
        else:
            size, picked = _picked(_surface(tried), rates, tried, rule, size, left, int(rng.integers(2**31)))
        worth = truth.points(picked[None], SIZES[size])[0] + truth.luck * rng.standard_normal()
        tried.append((picked, size, worth / 4))
    return _surface(tried), [sum(at == size for _, at, _ in tried) for size in range(3)]


def _picked(surface: Surface, rates: Array, tried: list, rule: str, size: int, left: float, seed: int):
    if rule == "improve":
        centre, doubt = surface(rates, SIZES[size])
        best = surface(np.stack([row for row, at, _ in tried if at == size]), SIZES[size])[0].max()
        return size, rates[np.argmax(expected_gain(centre - best, doubt))]
    sizes = [at for at in range(3) if COST[at] / 2 <= left] if rule == "work" else [size]
    gains = [told_gain(surface, rates, rates, SIZES[at], seed) for at in sizes]
    place = int(np.argmax([gain.max() / COST[at] for gain, at in zip(gains, sizes, strict=True)]))
    return sizes[place], rates[np.argmax(gains[place])]


def _surface(tried: list) -> Surface:
    rates, sizes, worth = zip(*tried, strict=True)
    return fit_surface(np.stack(rates), np.array(worth), (), SIZES[list(sizes)], PRIORS["width"])


def planned(surface: Surface) -> Array:
    """The schedule for the full job: the mean of the 24 candidates expected to end best."""
    points, rates = candidates(SPACE, 0)
    centre, doubt = surface(rates)
    numbers = numbers_at(SPACE, points[np.argsort(-(centre - 0.5 * doubt))[:24]].mean(axis=0))
    return draw(*(np.array([value]) for value in numbers.values()))


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rules", nargs="+", choices=RULES)
    parser.add_argument("--seeds", type=int, default=6)
    given = parser.parse_args()
    rates = candidates(SPACE, 0)[1]
    for rule in given.rules:
        found = []
        for truth in TRUTHS:
            top = truth.points(rates, 0.0).max()
            for seed in range(given.seeds):
                surface, counts = swept(truth, rule, seed)
                plan = planned(surface)
                found.append((top - truth.points(plan, 0.0)[0], truth.off(plan, 0.0)[0], *counts))
        below, off, *counts = np.array(found).T
        error = below.std(ddof=1) / np.sqrt(len(below))
        runs = ", ".join(f"{count.mean():.1f}" for count in counts)
        print(
            f"{rule:8s} {below.mean():.3f} +- {error:.3f} points below, rate off {off.mean():+.2f} +- {off.std():.2f}, "
            f"runs {runs}",
            flush=True,
        )


if __name__ == "__main__":
    main()
