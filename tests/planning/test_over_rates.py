"""The final metric over the peak rate at each size: the best rate moves as it does in truth."""

import numpy as np
import pytest
from tests.responding import TOTAL, responding_forecaster
from tests.sized import WIDTHS, best_peak, sized_forecaster

from lodestar.planning import plan
from lodestar.planning.over_rates import over_rates


def test_a_curve_for_each_size_and_its_best_rate_near_the_truth():
    found = over_rates(sized_forecaster())
    assert found is not None and found.job is None and found.reach is None
    assert [curve.value for curve in found.curves] == pytest.approx(WIDTHS)
    shape = plan(sized_forecaster(), TOTAL).schedule
    for curve in found.curves:
        assert 1 / 1.5 < curve.best / best_peak(curve.value, shape) < 1.5
    bests = [curve.best for curve in found.curves]
    assert bests == sorted(bests, reverse=True)


def test_the_job_is_extrapolated_with_an_interval_that_holds_it_and_grows():
    found = over_rates(sized_forecaster(), {"width": 256.0, "batch_size": 64.0, "total_steps": float(TOTAL)})
    assert found is not None and found.job is not None and found.reach is not None
    low, high = found.reach
    assert low < best_peak(256.0, plan(sized_forecaster(), TOTAL).schedule) < high
    value, best, lower, upper = found.line.T
    assert value[0] == pytest.approx(16.0) and value[-1] == pytest.approx(256.0)
    assert np.all(np.diff(best) < 0)
    assert upper[-1] / lower[-1] > 1.3 > upper[np.argmin(abs(value - 32.0))] / lower[np.argmin(abs(value - 32.0))]
    assert found.job.best <= best[-1] * 1.1  # it leans low


def test_runs_of_one_size_have_nothing_to_draw():
    assert over_rates(responding_forecaster()) is None
