import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lodestar.forecaster.preprocessing import CHANNELS, Channel, Kind, Normaliser, Transform
from lodestar.forecaster.preprocessing.transform import loss_transform, lr_transform, metric_transform
from lodestar.runs import Direction


@given(st.lists(st.floats(1e-6, 1e3), min_size=1), st.floats(0, 1e-3))
def test_log_round_trip(values, floor):
    transform = Transform(Kind.LOG, floor=floor)
    np.testing.assert_allclose(transform.inverse(transform.forward(values)), values, rtol=1e-9, atol=1e-15)


@given(st.lists(st.floats(0, 1), min_size=1), st.sampled_from([1.0, 100.0]))
def test_accuracy_round_trip(shares, top):
    transform = Transform(Kind.COMPLEMENT, floor=1e-3, top=top)
    values = np.array(shares) * top
    np.testing.assert_allclose(transform.inverse(transform.forward(values)), values, rtol=1e-12, atol=1e-12 * top)


@given(st.lists(st.floats(0, 1), min_size=1), st.floats(-10, 10), st.floats(0.01, 10))
def test_channel_round_trip_with_any_scale(values, mean, std):
    channel = Channel(Transform(Kind.COMPLEMENT, floor=1e-3), mean, std)
    np.testing.assert_allclose(channel.inverse(channel.forward(values)), values, atol=1e-10)


@given(st.lists(st.floats(1e-6, 1.0), min_size=1, max_size=20))
def test_a_learning_rate_of_zero_comes_back_as_zero(peaks):
    channel = Channel(lr_transform(peaks), -6.0, 1.5)
    assert channel.inverse(channel.forward(0.0)) == pytest.approx(0.0, abs=1e-12 * max(peaks))


def test_the_lr_floor_is_relative_to_the_typical_peak():
    assert lr_transform([3e-4, 3e-3, 3e-2]).floor == pytest.approx(3e-5)


def test_decoded_rates_are_never_negative():
    channel = Channel(lr_transform([1e-3]))
    assert channel.inverse(-1e3) == 0.0


@pytest.mark.parametrize(
    ("values", "direction", "kind", "top"),
    [
        ([0.1, 0.9], Direction.MAX, Kind.COMPLEMENT, 1.0),
        ([10.0, 93.0], Direction.MAX, Kind.COMPLEMENT, 100.0),
        ([2.0, 0.5], Direction.MIN, Kind.LOG, 1.0),
        ([-3.0, 20.0], Direction.MAX, Kind.IDENTITY, 1.0),
        ([150.0, 900.0], Direction.MAX, Kind.IDENTITY, 1.0),
    ],
)
def test_the_metric_kind_is_judged_from_values_and_direction(values, direction, kind, top):
    found = metric_transform(values, direction)
    assert (found.kind, found.top) == (kind, top)


def test_a_stated_kind_that_does_not_fit_is_refused():
    with pytest.raises(ValueError, match=r"metric kind 'accuracy' needs values from 0 to 1, got 2"):
        metric_transform([0.5, 2.0], Direction.MAX, "accuracy")


def test_a_negative_loss_is_left_on_its_own_scale():
    assert loss_transform([-3.0, 2.0]).kind is Kind.IDENTITY


def test_a_loss_of_exactly_zero_stays_finite():
    transform = loss_transform([1.0, 0.0])
    assert np.isfinite(transform.forward(0.0))
    assert transform.inverse(transform.forward(0.0)) == pytest.approx(0.0, abs=1e-12)


def test_values_outside_the_domain_stay_finite():
    for transform in (Transform(Kind.LOG), Transform(Kind.COMPLEMENT, floor=1e-3)):
        assert np.all(np.isfinite(transform.forward([-5.0, 0.0, 1.5, 1e300])))


def test_the_normaliser_survives_its_own_dictionary():
    made = Normaliser(
        loss=Channel(Transform(Kind.LOG), 0.1, 0.2),
        metric=Channel(Transform(Kind.COMPLEMENT, floor=1e-3), 0.3, 0.4),
        lr=Channel(Transform(Kind.LOG, floor=1e-5), -7.0, 1.5),
    )
    assert Normaliser.from_dict(made.to_dict()) == made
    assert tuple(made.to_dict()) == CHANNELS


def test_a_spread_of_zero_is_refused():
    with pytest.raises(ValueError, match="std > 0"):
        Channel(Transform(Kind.LOG), 0.0, 0.0)


@pytest.mark.parametrize("top", [1.0, 100.0])
def test_what_is_shown_can_be(top):
    """A forecast far out is no accuracy below nought or above the top."""
    made = Transform(Kind.COMPLEMENT, floor=1e-3, top=top).shown([-20.0, 0.0, 20.0])
    assert made.tolist() == [0.0, pytest.approx(top * 1e-3), top]
