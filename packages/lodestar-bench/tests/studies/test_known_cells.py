"""Cells of the table of known schedules: which simple forecaster is best, and what is a difference."""

import numpy as np

from lodestar_bench.studies.known_cells import ABOVE, BELOW, LEVEL, OURS, best_simple, counted, rmse, verdict


def splits(ours: float, other: float, count: int = 5) -> list[dict[str, np.ndarray]]:
    rng = np.random.default_rng(0)
    return [
        {OURS: ours * rng.normal(size=40), "last value": other * rng.normal(size=40), "far": 9.0 * np.ones(40)}
        for _ in range(count)
    ]


def test_rmse_by_hand():
    assert rmse(np.array([3.0, 4.0, 0.0, 0.0])) == 2.5


def test_the_best_simple_forecaster_has_the_least_mean_error():
    assert best_simple(splits(1.0, 2.0)) == "last value"


def test_a_large_difference_is_told_from_a_small_one():
    assert verdict(splits(1.0, 2.0), "last value") == BELOW
    assert verdict(splits(2.0, 1.0), "last value") == ABOVE
    assert verdict(splits(1.0, 1.02), "last value") == LEVEL


def test_errors_of_the_same_runs_are_compared_in_pairs():
    rng = np.random.default_rng(1)
    shared = [rng.normal(size=40) for _ in range(3)]
    made = [{OURS: 0.97 * errors, "last value": errors} for errors in shared]
    assert verdict(made, "last value") == BELOW  # 3 % apart, and on every run


def test_the_count_names_raw_and_told_apart():
    rows = [
        {"rmse": 1.0, "best simple": "far", "best simple rmse": 2.0, "verdict": BELOW, "held": 0.8},
        {"rmse": 1.0, "best simple": "far", "best simple rmse": 1.01, "verdict": LEVEL, "held": 0.9},
        {"rmse": 1.2, "best simple": "far", "best simple rmse": 1.0, "verdict": ABOVE, "held": 0.76},
    ]
    said = counted(rows)
    assert "2 of 3 cells" in said and "below in 1, level in 1, above in 1" in said and "2 of 3 cells" in said
