"""The surface over schedules: what it learns from a few ends, how sure it is, and what it takes for luck."""

import numpy as np
import pytest
from tests.responding import drawn, run_of

from lodestar.tuning.choose import CELLS
from lodestar.tuning.surface import fit_surface, lowest


def cells(seeds) -> np.ndarray:
    return np.stack([drawn(seed).rates.reshape(CELLS, -1).mean(axis=1) for seed in seeds])


def ends(seeds, luck: float = 0.0) -> np.ndarray:
    """Logit of the final accuracy."""
    share = np.array([run_of(drawn(seed), seed, luck=luck).final_metric for seed in seeds])
    return np.log(share / (1 - share))


def test_from_twenty_runs_it_ranks_schedules_that_nobody_tried():
    known, new = range(20), range(100, 160)
    surface = fit_surface(cells(known), ends(known))
    centre, doubt = surface(cells(new))
    truth = ends(new)
    assert np.corrcoef(np.argsort(np.argsort(centre)), np.argsort(np.argsort(truth)))[0, 1] > 0.95
    inside = np.abs(centre - truth) < 1.2816 * np.hypot(doubt, surface.luck)
    good = truth > lowest(ends(known))  # worse ones are all the same to it
    assert inside[good].mean() > 0.7


def test_it_doubts_what_is_unlike_all_it_knows():
    known = range(20)
    surface = fit_surface(cells(known), ends(known))
    far = 30.0 * cells([0])
    assert surface(far)[1][0] > 2 * surface(cells(known))[1].mean()


def test_ends_that_hang_on_nothing_are_luck():
    """Of pure luck nine tenths are taken for it, on average over draws."""
    found = []
    for seed in range(10):
        luck = np.random.default_rng(seed).normal(0, 0.1, 25)
        surface = fit_surface(cells(range(25)), luck)
        found.append(surface.luck)
        assert np.ptp(surface(cells(range(100, 160)))[0]) < 0.2  # a quarter of what the draws themselves span, or so
    assert np.mean(found) == pytest.approx(0.09, abs=0.02)


def test_a_doubted_end_pulls_less():
    known, at = range(8), cells([3])
    worth = ends(known)
    raised = worth + np.eye(8)[3] * 0.5
    sure = fit_surface(cells(known), raised, np.zeros(8))(at)[0] - fit_surface(cells(known), worth, np.zeros(8))(at)[0]
    doubt = np.eye(8)[3] * 2.0
    unsure = fit_surface(cells(known), raised, doubt)(at)[0] - fit_surface(cells(known), worth, doubt)(at)[0]
    assert abs(unsure[0]) < 0.5 * abs(sure[0])


SMALL, LARGE = np.log(0.125), np.log(0.5)  # sizes, of the job's


def over_sizes(exponent: float, count: int = 12):
    """Rates, ends and log sizes of runs whose rates count as rate x size^exponent."""
    sizes = np.repeat([SMALL, LARGE], count)
    seeds = range(2 * count)
    scale = np.exp(exponent * sizes)
    felt = np.array([run_of(drawn(seed), seed).final_metric for seed in seeds])
    return cells(seeds) / scale[:, None], np.log(felt / (1 - felt)) + 0.5 * sizes, sizes


@pytest.mark.parametrize("exponent", [0.2, 0.8])
def test_over_sizes_the_exponent_and_the_level_are_learned(exponent):
    rates, worth, sizes = over_sizes(exponent)
    surface = fit_surface(rates, worth, (), sizes, (0.5, 0.25))
    mean, deviation = surface.exponent
    assert mean == pytest.approx(exponent, abs=0.2) and 0 < deviation < 0.25
    new = range(100, 130)
    centre, _ = surface(cells(new), 0.0)  # the full job, at which nothing was tried
    assert np.corrcoef(np.argsort(np.argsort(centre)), np.argsort(np.argsort(ends(new))))[0, 1] > 0.9


def test_one_size_is_as_no_size():
    known, at = range(8), cells(range(100, 110))
    plain, one = (
        fit_surface(cells(known), ends(known)),
        fit_surface(cells(known), ends(known), (), np.zeros(8), (0.5, 0.2)),
    )
    np.testing.assert_allclose(plain(at), one(at))
    assert one.exponent == (0.5, 0.0)


def test_joint_draws_have_the_mean_and_the_deviation_of_the_surface():
    rates, worth, sizes = over_sizes(0.5)
    surface = fit_surface(rates, worth, (), sizes, (0.5, 0.25))
    at = cells(range(100, 104))
    drawn_at = surface.draws(at, np.full(4, LARGE), 20_000, np.random.default_rng(0))
    centre, doubt = surface(at, LARGE)
    np.testing.assert_allclose(drawn_at.mean(axis=0), centre, atol=0.05 * surface.scale)
    np.testing.assert_allclose(drawn_at.std(axis=0), doubt, rtol=0.15)
