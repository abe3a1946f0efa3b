"""Intervals are measured with the widening they are used with, so that they hold what they promise."""

import dataclasses
import itertools

import numpy as np
import pytest

from lodestar.fitting.calibration import HeldOut, measure_intervals
from lodestar.forecaster.intervals import LEVELS, SEEN, TARGETS, Intervals
from lodestar.runs import Direction

POINTS = 40


def held_out(runs=400, seed=0):
    """Runs forecast well where members agree and badly where they do not; bad runs three times worse than good ones."""
    random = np.random.default_rng(seed)
    merit = random.uniform(-1, 1, runs)
    disagreement = random.choice([0.05, 0.4], runs)
    size = disagreement * np.where(merit > 0, 1.0, 3.0)
    forecast = np.broadcast_to(merit[:, None, None], (runs, POINTS, 3)).copy()
    truth = forecast + (size * random.normal(size=runs))[:, None, None]
    apart = np.broadcast_to(disagreement[:, None, None], forecast.shape).copy()
    return HeldOut(forecast, truth, np.ones(forecast.shape, bool), apart, truth[:, -1, 1])


@pytest.mark.parametrize("level", LEVELS)
def test_an_interval_holds_its_share_of_the_runs_it_was_measured_on(level):
    part = held_out()
    intervals = measure_intervals([part] * len(SEEN), Direction.MAX)
    inside = []
    for run in range(len(part.truth)):
        times = np.linspace(0.05, 1.0, POINTS)
        low, high = intervals.around(part.forecast[run], part.disagreement[run], 0.25, times, level)
        inside.append((low <= part.truth[run]) & (part.truth[run] <= high))
    assert np.mean(inside) == pytest.approx(level, abs=0.02)


@pytest.mark.parametrize("direction", list(Direction))
def test_the_better_half_has_an_interval_of_its_own(direction):
    part = held_out()
    intervals = measure_intervals([part] * len(SEEN), direction)
    finals, truth = part.forecast[:, -1, 1], part.truth[:, -1, 1]
    better = finals > 0 if direction is Direction.MAX else finals < 0
    held = {}
    for good in (True, False):
        sides = [
            intervals.around_final(f, d, 0.25, 0.8, good=good)
            for f, d in zip(finals, part.disagreement[:, -1, 1], strict=True)
        ]
        held[good] = np.mean([low <= t <= high for (low, high), t in zip(sides, truth, strict=True)], where=better)
    assert held[True] == pytest.approx(0.8, abs=0.04)
    assert abs(held[False] - 0.8) > 0.08


def test_the_noise_of_what_is_logged_counts_and_runs_cut_short_do_not():
    part = held_out()
    noisy = dataclasses.replace(part, final=part.final + np.random.default_rng(1).normal(size=len(part.final)))
    quiet, loud = (measure_intervals([one] * len(SEEN), Direction.MAX) for one in (part, noisy))
    assert quiet.good is not None and loud.good is not None
    assert np.all(loud.good[1] > 2 * quiet.good[1])
    np.testing.assert_array_equal(loud.low, quiet.low)  # of the smoothed curve
    cut = dataclasses.replace(part, final=np.where(np.arange(len(part.final)) < 391, np.nan, part.final))
    assert measure_intervals([cut] * len(SEEN), Direction.MAX).good is None


def test_from_few_runs_there_is_none():
    part = held_out(runs=8)
    assert measure_intervals([part] * len(SEEN), Direction.MAX).good is None


def validated(steps: int, every: int, runs: int = 400):
    """Runs of that many steps, the metric of each logged every so many of them, on a grid of a point for 20 steps."""
    part = held_out(runs)
    logged = np.zeros(POINTS, bool)
    logged[np.arange(every, steps + 1, every) * POINTS // steps - 1] = True
    return dataclasses.replace(part, mask=part.mask & np.stack([np.ones(POINTS, bool), logged, logged]).T)


def widths(part: HeldOut, seen: float = 0.25) -> np.ndarray:
    """Of the metric's 80 % interval at every point."""
    intervals = measure_intervals([part] * len(SEEN), Direction.MAX)
    zero, usual = np.zeros((POINTS, 3)), np.full((POINTS, 3), part.disagreement.mean())
    low, high = intervals.around(zero, usual, seen, np.arange(1, POINTS + 1) / POINTS, 0.8)
    return (high - low)[:, 1]


def test_an_interval_is_no_wider_and_no_narrower_between_two_validations():
    """Loss every 20 steps, metric every 93: half of the table's bins never see a metric."""
    part = validated(800, 93)
    found, at = widths(part), np.flatnonzero(part.mask[0, :, 1])
    for left, right in itertools.pairwise(at):
        ends = sorted(found[[left, right]])
        assert np.all((found[left : right + 1] >= 0.98 * ends[0]) & (found[left : right + 1] <= 1.02 * ends[1]))
    np.testing.assert_allclose(found, widths(held_out()), rtol=0.1)


def test_a_bin_that_one_run_alone_was_validated_in_does_not_pinch_the_interval():
    part = validated(800, 93)
    part.mask[0, :, 1] = True  # one run of four hundred logged its metric at every point
    np.testing.assert_allclose(widths(part), widths(validated(800, 93)), rtol=0.02)


def test_a_metric_that_was_never_logged_has_a_wide_interval_everywhere():
    part = held_out()
    part.mask[:, :, 1] = False
    np.testing.assert_allclose(widths(part), 4.0)


def test_a_table_of_release_one_with_empty_bins_is_filled_when_read():
    shape = (len(LEVELS), len(SEEN), len(TARGETS), 3)
    low, high = np.full(shape, -0.5), np.full(shape, 0.5)
    low[:, :, 1::2, 1], high[:, :, 1::2, 1] = -2.0, 2.0
    found = Intervals(low, high, np.full(shape[1:], 0.1))
    np.testing.assert_array_equal(found.low, np.full(shape, -0.5))
    np.testing.assert_array_equal(found.high, np.full(shape, 0.5))
