"""The law over sizes in a forecaster: factors, units and sentences; a job is never guessed at in silence."""

import dataclasses
import math

import numpy as np
import pytest
from tests.responding import TOTAL, drawn, responding_forecaster
from tests.sized import best_peak, sized_forecaster, sized_loss, sized_run

from lodestar._errors import ForecasterError
from lodestar.forecaster import load
from lodestar.forecaster.at_scale import at_scale, for_run, too_far
from lodestar.forecaster.file import read, write
from lodestar.forecaster.known_schedules import judge
from lodestar.forecaster.preprocessing.normaliser import Channel
from lodestar.forecaster.preprocessing.transform import Kind, Transform
from lodestar.forecaster.scale_law import Quantity, ScaleLaw, moved, rescaled
from lodestar.planning import plan
from lodestar.schedules import parse

WIDTH = Quantity("width", 32.0, 16.0, 64.0, 3, 0.5, 0.1, (0.2, 0.1))
BATCH = Quantity("batch_size", 64.0, 64.0, 64.0, 1, -0.5, 0.25)
LAW = ScaleLaw((WIDTH, BATCH), (1.0, 0.1))


def test_a_rate_counts_by_the_power_of_what_the_job_states():
    assert LAW.factor({"width": 128.0}) == pytest.approx(2.0)
    assert LAW.factor({"width": 32.0, "batch_size": 64.0}) == 1.0
    assert LAW.factor({"width": 8.0, "batch_size": 256.0}) == pytest.approx(0.25)
    assert LAW.factor({"width": None}) == 1.0


def test_doubt_grows_with_the_distance_and_adds_up():
    assert LAW.doubt({"width": 32.0}) == 0.0
    assert LAW.doubt({"width": 32.0 * math.e}) == pytest.approx(0.1)
    assert LAW.doubt({"width": 32.0 * math.e, "batch_size": 64.0 * math.e}) == pytest.approx(math.hypot(0.1, 0.25))


def test_beyond_the_known_values_a_level_moves_less():
    inside, outside = LAW.gains({"width": 64.0})[0], LAW.gains({"width": 128.0})[0]
    assert inside == pytest.approx(2.0**0.2)
    assert inside < outside < 4.0**0.2
    assert LAW.gain_doubt({"width": 64.0}) == pytest.approx(0.0, abs=1e-12)
    assert LAW.gain_doubt({"width": 128.0}) > 0.01


def test_units_of_a_job_and_back():
    rate = Channel(Transform(Kind.LOG, 1e-5), -6.0, 1.5)
    twice = rescaled(rate, 2.0)
    for lr in (0.0, 1e-4, 3e-2):
        assert twice.forward(np.array(lr)) == pytest.approx(rate.forward(np.array(2.0 * lr)), abs=1e-12)
        assert twice.inverse(twice.forward(np.array(lr))) == pytest.approx(lr, abs=1e-12)
    level = Channel(Transform(Kind.LOG, 0.0), 2.0, 0.5)
    assert moved(level, 1.0, 2.0).mean == 3.0 and moved(level, 1.0, 2.0).std == 1.0
    with pytest.raises(ValueError, match="must be logarithmic"):
        rescaled(Channel(Transform(Kind.IDENTITY), 0.0, 1.0), 2.0)


def test_the_law_in_words():
    assert WIDTH.words == (
        "in your runs the best rate falls as width^-0.50 (-0.63 to -0.37, 80 % interval), from 3 widths"
    )
    assert BATCH.words.startswith("the best rate rises as batch size^0.50 (0.18 to 0.82; a public rule")


@pytest.mark.parametrize(
    "change",
    [
        {"name": "depth"},
        {"reference": math.nan},
        {"low": 0.0},
        {"high": 20.0},
        {"deviation": -0.1},
        {"distinct": 0},
        {"exponent": 11.0},
        {"gains": (0.0, -11.0)},
    ],
)
def test_a_law_that_cannot_be_is_refused(change):
    with pytest.raises(ValueError, match="a law over"):
        dataclasses.replace(WIDTH, **change)


def test_it_comes_back_from_a_file_and_damage_is_found(tmp_path):
    path = tmp_path / "f.lodestar"
    made = sized_forecaster()
    made.save(path)
    assert load(path).law == made.law
    tensors, header = read(path)
    for broken in ({**header["scale_law"], "starts": ["a", 0.0]}, {"quantities": 3, "starts": [0, 0]}, {}, 7):
        write(path, tensors, {**header, "scale_law": broken})
        with pytest.raises(ForecasterError):
            load(path)


def test_a_forecaster_without_a_law_stays_as_it_is_and_says_so_for_a_width():
    made = dataclasses.replace(responding_forecaster(), law=None)
    turned = at_scale(made, {"width": 256.0, "total_steps": 100.0})
    assert turned.forecaster is made
    assert [kind for kind, _ in turned.warnings] == ["job width"]
    assert "state no size" in turned.warnings[0][1]


def test_a_law_of_other_things_does_not_hide_that_no_size_is_known():
    made = dataclasses.replace(sized_forecaster(), law=ScaleLaw((BATCH,), (1.0, 0.1)))
    said = dict(at_scale(made, {"width": 256.0, "batch_size": 64.0}).warnings)
    assert "state no size, so its plan does not depend on it" in said["job width"]


def test_turning_back_to_a_known_size_changes_nothing():
    made = sized_forecaster()
    rates = np.stack([drawn(seed).rates for seed in range(5)])
    turned = at_scale(made, {"width": 32.0, "batch_size": 64.0, "total_steps": float(TOTAL)}).forecaster
    assert turned.rate_factor == pytest.approx(1.0, abs=0.02)
    assert judge(turned, rates).centre == pytest.approx(judge(made, rates).centre, rel=0.02)


def test_a_forecaster_is_turned_once_and_saved_as_it_was_fitted(tmp_path):
    turned = sized_forecaster().for_job({"width": 256.0})
    with pytest.raises(ValueError, match="as it was loaded"):
        turned.for_job({"width": 16.0})
    with pytest.raises(ValueError, match="as it was fitted"):
        turned.save(tmp_path / "f.lodestar")


def test_the_plan_for_a_wider_job_has_the_rate_it_wants():
    """Four times the widest: within a factor of 1.6 of the truth, and nearer than the plan for the sweep's middle."""
    made = sized_forecaster()
    small, wide = (plan(at_scale(made, {"width": width}).forecaster, TOTAL).schedule for width in (32.0, 256.0))
    truth = best_peak(256.0, wide)
    assert 1 / 1.6 < wide.peak / truth < 1.6
    assert abs(math.log(wide.peak / truth)) < abs(math.log(small.peak / truth))
    ends = [sized_loss(schedule.rates, 256.0)[-1] for schedule in (small, wide)]
    assert ends[1] < ends[0]


def test_the_plan_leans_low_as_far_as_the_law_is_unsure():
    turned = at_scale(sized_forecaster(), {"width": 256.0}).forecaster
    peaks = [plan(dataclasses.replace(turned, rate_doubt=doubt), TOTAL).schedule.peak for doubt in (0.0, 0.6)]
    assert peaks[1] < peaks[0]


def test_the_interval_of_a_job_outside_is_wider_and_holds_it():
    made = sized_forecaster()
    schedule = parse("linear:1.4e-3", TOTAL)
    inside, outside = (
        judge(at_scale(made, {"width": width}).forecaster, schedule.rates[None]) for width in (64.0, 512.0)
    )
    assert outside.upper[0] - outside.lower[0] > inside.upper[0] - inside.lower[0]
    truth = sized_run(schedule, 512.0, 3).metric.values[-1]
    assert outside.lower[0] < truth < outside.upper[0]


def test_a_stored_run_is_forecast_in_the_units_of_its_own_size():
    made = sized_forecaster()
    run = sized_run(drawn(5000), 256.0, 5000)
    turned = for_run(made, run)
    assert turned.rate_factor == pytest.approx(made.law.factor({"width": 256.0}) if made.law else 0.0, rel=0.02)


@pytest.mark.parametrize(
    ("job", "kind", "words"),
    [
        ({}, "job width", "past runs differ in their width (16 to 64) and the job does not state its own"),
        ({"width": 900.0}, "job width", "a width of 900 lies 14 times outside"),
        ({"width": 64e3}, "job width", "the law is followed no further than 100 times"),
        ({"width": 32.0, "batch_size": 256.0}, "job batch_size", "the plan follows a public rule (batch size^0.5)"),
    ],
)
def test_what_is_a_guess_is_said(job, kind, words):
    made = sized_forecaster()
    found = dict(at_scale(made, job).warnings)
    assert words in found[kind]
    assert "Fix: " in found[kind]


def test_a_value_that_all_past_runs_had_is_no_guess():
    """Logarithms and back leave a last digit behind, which is no distance."""
    made = sized_forecaster()
    kinds = [kind for kind, _ in at_scale(made, {"width": 32.0, "batch_size": 64.0, "total_steps": 400.0}).warnings]
    assert kinds == []
    assert Quantity("batch_size", 64.0, math.exp(math.log(64.0)), 64.0, 1, -0.5, 0.25).beyond(64.0000001) == 1.0


def test_no_plan_beyond_a_hundred_times():
    law = sized_forecaster().law
    assert too_far(law, {"width": 6000.0}) is None
    assert "Fix: " in (too_far(law, {"width": 7000.0}) or "")
    far, edge = (at_scale(sized_forecaster(), {"width": width}).forecaster for width in (64e3, 6400.0))
    assert far.rate_factor == edge.rate_factor


@pytest.mark.parametrize("job", [{"width": 0.0}, {"batch_size": -1.0}, {"total_steps": math.nan}, {"width": math.inf}])
def test_a_size_that_cannot_be_is_refused(job):
    with pytest.raises(ValueError, match="must be above 0"):
        at_scale(sized_forecaster(), job)


def test_a_quantity_that_does_not_exist_is_refused():
    with pytest.raises(ValueError, match=r"no 'depth'. Fix: one of width, parameters"):
        at_scale(sized_forecaster(), {"depth": 3.0})
