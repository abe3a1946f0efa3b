"""Draws how the best rate moves with the width: real networks on scikit-learn's digits, at three widths and a fourth.

    python docs/rates_picture.py        writes docs/pictures/rates.png, in two minutes or so

Sixty runs at widths 8, 16 and 32 with random schedules, a forecaster fitted to them, and the plan for a network 128
wide, run with ten seeds.
"""

from pathlib import Path

import numpy as np
from examples import digits

from lodestar import Run, fit
from lodestar.forecaster.at_scale import at_scale
from lodestar.planning import plan
from lodestar.planning.over_rates import over_rates
from lodestar.report.draw import chart_panel
from lodestar.report.ink import file_bytes
from lodestar.report.over_rates import Ended, rate_charts
from lodestar.runs import Facts

WIDTHS, EACH, JOB, SEEDS = (8, 16, 32), 20, 128, 10
OUT = Path(__file__).parent / "pictures" / "rates.png"


def trained(width: int, rates: np.ndarray, seeds: list[int], name: str) -> list[Run]:
    """Runs of one width, a schedule and a seed each."""
    state = digits.begin(seeds, width=width)
    _, (loss, val, _) = digits.advance(state, np.asarray(seeds), np.asarray(0), np.asarray(rates, np.float32))
    facts = [
        Facts(task="digits", peak_lr=float(rate.max()), seed=seed, extra={"width": width, "batch_size": digits.BATCH})
        for rate, seed in zip(rates, seeds, strict=True)
    ]
    names = [f"{name}-{seed}" for seed in seeds]
    return [*digits.as_runs(names, facts, rates, np.asarray(loss, float), np.asarray(val, float))]


def ended(runs: list[Run], width: int) -> list[Ended]:
    """Where they stand in the picture."""
    return [Ended(width, float(run.lr.values.max()), float(run.metric.values[-5:].mean()), run.name) for run in runs]


def main() -> None:
    """Sweep, fit, plan, run, draw."""
    rng, runs, points = np.random.default_rng(5), [], []
    for width in WIDTHS:
        rates = np.stack([digits.random_schedule(rng) for _ in range(EACH)])
        made = trained(width, rates, [1000 * width + seed for seed in range(EACH)], f"width-{width}")
        runs, points = [*runs, *made], [*points, *ended(made, width)]
    forecaster = fit(runs, seed=0)
    job = {"width": float(JOB), "batch_size": float(digits.BATCH), "total_steps": float(digits.STEPS)}
    found = over_rates(forecaster, job)
    assert found is not None
    planned = plan(at_scale(forecaster, job).forecaster, digits.STEPS).schedule.rates
    finals = trained(JOB, np.tile(planned, (SEEDS, 1)), list(range(SEEDS)), "job")
    charts = rate_charts(found, "validation accuracy", points, ended(finals, JOB))
    OUT.write_bytes(file_bytes(chart_panel("rates", charts), "png"))
    print(f"{found.quantity.words}; {OUT}")


if __name__ == "__main__":
    main()
