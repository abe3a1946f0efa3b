"""Forecasts of known schedules through a forecaster: user's units, files, and what is refused."""

import dataclasses

import numpy as np
import pytest
from tests.responding import TOTAL, drawn, responding_forecaster, run_of

from lodestar._errors import ForecasterError
from lodestar.forecaster import Architecture, load
from lodestar.forecaster.known_schedules import _continued, judge, what_if
from lodestar.forecaster.response.mixture import SHARES
from lodestar.forecaster.response.response import Observed
from lodestar.forecaster.scale_law import rescaled
from lodestar.testing import random_forecaster


def test_a_forecast_passes_through_what_was_measured():
    forecaster, run = responding_forecaster(), run_of(drawn(200), 200)
    context = forecaster.context_of(run, 0.4)
    found = what_if(forecaster, drawn(200).rates, context)
    seen = np.flatnonzero(context.mask[:, 1])
    measured = forecaster.recipe.normaliser.metric.inverse(context.values[seen, 1])
    assert found.metric.centre[seen] == pytest.approx(measured)
    assert np.all(found.metric.upper[: context.stop] == pytest.approx(found.metric.lower[: context.stop]))
    assert np.all(found.metric.upper[context.stop + 2 :] > found.metric.lower[context.stop + 2 :])


def test_intervals_do_not_widen_and_narrow_between_validations():
    forecaster = responding_forecaster()
    found = what_if(forecaster, drawn(201).rates, forecaster.context_of(run_of(drawn(201), 201), 0.3))
    units = forecaster.recipe.normaliser.metric
    width = units.forward(found.metric.upper) - units.forward(found.metric.lower)
    turns = np.diff(np.sign(np.diff(width[found.seen[1] + 2 :]).round(9)))
    assert np.count_nonzero(turns) <= 4


def test_the_end_of_the_curve_is_the_judgement():
    forecaster, rates = responding_forecaster(), drawn(202).rates
    judged, curve = judge(forecaster, rates[None]), what_if(forecaster, rates)
    assert curve.final_metric == pytest.approx((judged.centre[0], judged.lower[0], judged.upper[0]))
    assert curve.lr.centre.max() == pytest.approx(rates.max(), rel=0.05)


def test_what_was_really_done_replaces_the_past_of_a_schedule():
    forecaster, run = responding_forecaster(), run_of(drawn(203), 203)
    context = forecaster.context_of(run, 0.5)
    invented = drawn(203).rates.copy()
    invented[: TOTAL // 2 - 8] = 1e-5
    one, other = judge(forecaster, drawn(203).rates[None], context), judge(forecaster, invented[None], context)
    assert one.centre == pytest.approx(other.centre, rel=2e-3)


def test_a_file_keeps_the_response(tmp_path):
    forecaster, rates = responding_forecaster(), np.stack([drawn(seed).rates for seed in range(300, 310)])
    forecaster.save(tmp_path / "f.lodestar")
    again = load(tmp_path / "f.lodestar")
    assert np.array_equal(judge(again, rates).centre, judge(forecaster, rates).centre)
    assert np.array_equal(judge(again, rates).upper, judge(forecaster, rates).upper)


def reading_forecaster(share: float):
    """One whose latent ODE reads schedules, with random weights, and has such a share of each forecast."""
    forecaster = responding_forecaster()
    made = random_forecaster(
        seed=5, points=forecaster.points, members=2, shape=Architecture(steps=8, tokens=10, schedules=True)
    )
    assert forecaster.response is not None
    mixture = dataclasses.replace(forecaster.response.mixture, latent=np.full(len(SHARES), share))
    response = dataclasses.replace(forecaster.response, mixture=mixture)
    return dataclasses.replace(forecaster, network=made.network, spread=made.spread, response=response)


@pytest.mark.parametrize("seen", [0.0, 0.4])
def test_the_latent_ode_has_its_share_of_the_forecast(seen):
    forecaster, rates = reading_forecaster(0.25), np.stack([drawn(seed).rates for seed in range(300, 304)])
    context = forecaster.context_of(run_of(drawn(300), 300), seen) if seen else None
    units = forecaster.recipe.normaliser.metric
    alone = units.forward(judge(reading_forecaster(0.0), rates, context).centre)
    cells, _ = _continued(forecaster, rates, context)
    latent = forecaster.known_finals(cells, *([context] if context else [])).mean(axis=0)
    assert forecaster.response is not None
    observed = None if context is None else Observed.of(context, forecaster.points)
    latent = forecaster.response.within_reach(latent, observed)
    made = units.forward(judge(forecaster, rates, context).centre)
    assert made == pytest.approx(alone + 0.25 * (latent - alone))
    assert what_if(forecaster, rates[0], context).final_metric[0] == pytest.approx(units.shown(made[0]))


def test_the_latent_ode_reads_the_schedule_and_what_was_seen():
    forecaster = random_forecaster(seed=1, shape=Architecture(steps=8, tokens=10, schedules=True), members=2)
    rates = np.stack([np.full(50, 1e-3), np.linspace(3e-3, 0, 50), np.linspace(3e-3, 0, 50)])
    seen = [forecaster.references.context(run, 0, stop) for run, stop in ((0, 10), (0, 10), (1, 40))]
    nothing, shared, each = (forecaster.known_finals(rates, *contexts) for contexts in ([], seen[:1], seen))
    assert nothing.shape == (2, 3)
    assert nothing[:, 1] == pytest.approx(nothing[:, 2])
    assert not np.allclose(nothing[:, 0], nothing[:, 1])
    assert not np.allclose(nothing, shared)
    assert each[:, :2] == pytest.approx(shared[:, :2])
    assert not np.allclose(each[:, 2], shared[:, 2])
    last = forecaster.decode(forecaster.encode_known(rates, *seen)).metric[..., -1]
    assert forecaster.recipe.normaliser.metric.inverse(each) == pytest.approx(last)


def test_the_scale_of_a_job_is_the_same_to_the_latent_ode_as_to_its_rates():
    """Rates of a job that takes twice the rate, read in its own units, are those of the reference job."""
    forecaster = random_forecaster(seed=1, shape=Architecture(steps=8, tokens=10, schedules=True))
    units = forecaster.recipe.normaliser
    job = dataclasses.replace(units, lr=rescaled(units.lr, 0.5))
    turned = dataclasses.replace(forecaster, recipe=dataclasses.replace(forecaster.recipe, normaliser=job))
    rates = np.linspace(3e-3, 1e-4, 50)[None]
    assert turned.known_finals(2 * rates) == pytest.approx(forecaster.known_finals(rates))


def test_a_file_keeps_the_latent_ode_s_share(tmp_path):
    forecaster, rates = reading_forecaster(0.25), drawn(300).rates[None]
    forecaster.save(tmp_path / "f.lodestar")
    again = load(tmp_path / "f.lodestar")
    assert again.reads_schedules
    assert judge(again, rates).centre == pytest.approx(judge(forecaster, rates).centre)


def test_a_latent_ode_that_reads_no_schedules_says_so():
    with pytest.raises(ForecasterError, match=r"latent ODE reads no known schedules.*Fix: lodestar fit"):
        random_forecaster(seed=0).known_finals(np.ones((1, 10)))


def test_a_forecaster_without_a_response_says_so(tmp_path):
    random_forecaster(seed=0).save(tmp_path / "old.lodestar")
    old = load(tmp_path / "old.lodestar")
    assert old.response is None
    with pytest.raises(ForecasterError, match=r"cannot forecast known schedules.*Fix: lodestar fit"):
        judge(old, np.ones((1, 10)))


@pytest.mark.parametrize("bad", [np.nan, np.inf, -1e-3])
def test_a_rate_that_is_none_is_refused(bad):
    rates = np.full((1, 50), 1e-3)
    rates[0, 7] = bad
    with pytest.raises(ValueError, match=r"finite numbers >= 0.* at entry 7"):
        judge(responding_forecaster(), rates)


def test_a_rate_of_zero_throughout_and_a_late_context_are_refused():
    forecaster = responding_forecaster()
    with pytest.raises(ValueError, match="zero throughout"):
        judge(forecaster, np.zeros((1, 50)))
    context = forecaster.context_of(run_of(drawn(1), 1), 0.5)
    with pytest.raises(ValueError, match="first point"):
        judge(forecaster, drawn(1).rates[None], dataclasses.replace(context, start=3))


def test_forecasts_are_finite_for_any_schedule():
    forecaster = responding_forecaster()
    rng = np.random.default_rng(0)
    wild = 10.0 ** rng.uniform(-12, 2, (40, 60)) * (rng.uniform(size=(40, 60)) > 0.3)
    wild[:, 0] = 1e-4
    judged = judge(forecaster, wild)
    for part in (judged.centre, judged.lower, judged.upper, judged.merit):
        assert np.all(np.isfinite(part))
