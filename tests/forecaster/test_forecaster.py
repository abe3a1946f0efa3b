import dataclasses
import json
import subprocess
import sys

import numpy as np
import pytest
from tests.curves import toy_run

from lodestar._errors import ForecasterError
from lodestar.forecaster import Architecture, Context, Intervals, load
from lodestar.forecaster.intervals import LEVELS, SEEN, TARGETS
from lodestar.forecaster.tokens import context_tokens
from lodestar.runs import Series
from lodestar.testing import random_forecaster


def test_a_forecast_covers_the_whole_run_with_intervals_around_it():
    forecaster = random_forecaster(seed=0, points=100)
    forecast = forecaster.forecast(forecaster.context_of(toy_run("a"), 0.05))
    assert len(forecast.times) == 100
    assert forecast.seen == (0, 5)
    for interval in (forecast.loss, forecast.metric, forecast.lr):
        assert np.all(interval.lower <= interval.centre + 1e-12)
        assert np.all(interval.centre <= interval.upper + 1e-12)
    assert forecast.steps(600)[-1] == 600
    json.dumps(forecast.to_dict(), allow_nan=False)


def test_intervals_of_a_higher_level_are_wider():
    forecaster = random_forecaster(seed=0)
    context = forecaster.context_of(toy_run("a"), 0.2)
    narrow, wide = (forecaster.forecast(context, level).metric for level in (0.5, 0.95))
    assert np.all(wide.upper - wide.lower > narrow.upper - narrow.lower)


def test_intervals_widen_where_members_disagree_more_than_usual():
    shape = (len(LEVELS), len(SEEN), len(TARGETS), 3)
    intervals = Intervals(np.full(shape, -1.0), np.full(shape, 1.0), np.full(shape[1:], 0.1))
    times, centre = np.array([0.5, 1.0]), np.zeros((2, 3))
    usual = intervals.around(centre, np.full((2, 3), 0.1), 0.1, times, 0.8)
    torn = intervals.around(centre, np.full((2, 3), 0.3), 0.1, times, 0.8)
    np.testing.assert_allclose(usual[1], 1.0)
    np.testing.assert_allclose(torn[1], 3.0)


def test_a_run_steered_to_be_good_has_the_interval_of_good_runs(tmp_path):
    shape = (len(LEVELS), len(SEEN), len(TARGETS), 3)
    plain = Intervals(np.full(shape, -1.0), np.full(shape, 1.0), np.full(shape[1:], 0.1))
    table = np.stack([np.full((len(LEVELS), len(SEEN)), -0.25), np.full((len(LEVELS), len(SEEN)), 0.5)])
    intervals = dataclasses.replace(plain, good=table)
    assert intervals.around_final(2.0, 0.1, 0.25, 0.8) == pytest.approx((1.0, 3.0))
    assert intervals.around_final(2.0, 0.1, 0.25, 0.8, good=True) == pytest.approx((1.75, 2.5))
    assert intervals.around_final(2.0, 0.2, 0.25, 0.8, good=True) == pytest.approx((1.5, 3.0))
    assert plain.around_final(2.0, 0.1, 0.25, 0.8, good=True) == pytest.approx((1.0, 3.0))
    forecaster = random_forecaster(seed=0)
    for one in (plain, intervals):  # files without the table are read as well
        dataclasses.replace(forecaster, intervals=one).save(tmp_path / "f.lodestar")
        again = load(tmp_path / "f.lodestar").intervals.good
        assert (again is None) == (one.good is None)
        if again is not None:
            np.testing.assert_array_equal(again, table)


def test_an_unknown_level_is_refused():
    forecaster = random_forecaster(seed=0)
    with pytest.raises(ValueError, match="level must be one of"):
        forecaster.forecast(forecaster.context_of(toy_run("a")), 0.77)


def test_a_context_of_nothing_is_an_error():
    forecaster = random_forecaster(seed=0)
    with pytest.raises(ForecasterError, match="log some steps first"):
        forecaster.context(Series.empty(), Series.empty(), Series.empty(), 100)


def test_a_context_knows_only_the_past():
    """Changing what comes after the context must not change the context: smoothing is causal."""
    forecaster = random_forecaster(seed=0, points=60)
    run = toy_run("a")
    values = run.loss.values.copy()
    values[40:] = 50.0
    other = run.replace(loss=Series(run.loss.steps, values))
    one, two = (forecaster.context_of(r, 0.5) for r in (run, other))
    np.testing.assert_array_equal(one.values, two.values)


def test_a_missing_metric_is_shown_to_the_encoder_as_missing():
    forecaster = random_forecaster(seed=0, points=60)
    context = forecaster.context(toy_run("a").loss, Series.empty(), toy_run("a").lr, 600)
    tokens, _ = context_tokens(context.values, context.mask, 0, 60, 10)
    assert np.all(tokens[:, 5] == 0)
    assert np.all(tokens[:, 4] == 1)
    assert np.all(np.isfinite(forecaster.encode(context)))


def test_tokens_by_hand():
    values = np.array([[1.0, 10.0, 5.0], [3.0, 99.0, 5.0], [5.0, 30.0, 7.0]])
    mask = np.array([[True, True, True], [True, False, True], [True, True, True]])
    tokens, valid = context_tokens(values, mask, 4, 10, 2)
    # bins [0, 1) and [1, 3): point 4 stands at 5/10; points 5 and 6 at 6/10 and 7/10
    np.testing.assert_allclose(tokens[0], [0.5, 1.0, 10.0, 5.0, 1, 1, 1])
    np.testing.assert_allclose(tokens[1], [0.65, 4.0, 30.0, 6.0, 1, 0.5, 1])
    assert valid.all()


def test_a_short_context_leaves_bins_empty():
    _, valid = context_tokens(np.zeros((3, 3)), np.ones((3, 3), bool), 0, 100, 8)
    assert valid.sum() == 3


def test_a_context_of_the_wrong_shape_is_refused():
    with pytest.raises(ValueError, match="a context needs values and mask"):
        Context(np.zeros((3, 2)), np.ones((3, 2), bool), 0)


def test_a_live_job_imports_neither_jax_nor_anything_else_heavy(tmp_path):
    path = tmp_path / "f.lodestar"
    random_forecaster(seed=0).save(path)
    code = (
        "import sys, lodestar\n"
        f"forecaster = lodestar.load({str(path)!r})\n"
        "forecaster.forecast(forecaster.references.context(0, 0, 10))\n"
        "heavy = ['jax', 'equinox', 'diffrax', 'optax', 'pyarrow', 'pydantic', 'torch', 'matplotlib', 'typer']\n"
        "heavy += ['rich', 'lodestar.fitting', 'lodestar.cli', 'lodestar.evaluate']\n"
        "print([name for name in heavy if name in sys.modules])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("shape", [Architecture(), Architecture(solver="tsit5"), Architecture(decoder_width=0)])
def test_many_latents_and_points_are_decoded_as_each_alone(shape):
    forecaster = random_forecaster(seed=3, points=1500, shape=shape)
    latents = np.random.default_rng(0).normal(size=(1, 70, shape.latent))
    whole = forecaster.network.decode(latents, forecaster.times)
    assert whole.shape == (1, 70, 1500, 3)
    for sample, points in ((0, slice(0, 40)), (63, slice(1000, 1040)), (64, slice(1490, 1500)), (69, slice(500, 520))):
        alone = forecaster.network.decode(latents[:, sample : sample + 1], forecaster.times[points])
        np.testing.assert_allclose(whole[:, sample : sample + 1, points], alone, atol=1e-9)
