"""The law over sizes as fitted: the exponent of made-up runs is found, and nothing is guessed in silence."""

import dataclasses
import math

import numpy as np
import pytest
from tests.responding import drawn, runs
from tests.sized import EXPONENT, GAIN, WIDTHS, sized_forecaster, sized_run, sized_runs

from lodestar.fitting.dataset import prepare
from lodestar.fitting.scale_law import PRIORS, fit_scale_law, in_reference, of_sizes, one_scale
from lodestar.forecaster.preprocessing.normaliser import METRIC


def test_the_exponent_of_the_runs_is_found_not_the_priors():
    exponent = 1.0
    law = fit_scale_law(prepare(sized_runs(exponent=exponent)))
    assert law is not None and law.size is not None
    assert law.size.distinct == 3 and law.size.reference == pytest.approx(32.0)
    assert abs(law.size.exponent - exponent) < 2.0 * law.size.deviation
    prior, doubt = PRIORS["width"]
    assert abs(law.size.exponent - exponent) < 0.5 * abs(prior - exponent)
    assert law.size.deviation < 0.6 * doubt


def test_the_level_moves_with_the_width_too():
    law = sized_forecaster().law
    assert law is not None and law.size is not None
    assert law.size.exponent == pytest.approx(EXPONENT, abs=0.2)
    assert law.size.gains[0] == pytest.approx(GAIN, abs=0.05)


def test_what_all_runs_share_keeps_the_prior_and_says_so():
    law = sized_forecaster().law
    batch = law.of("batch_size") if law else None
    assert batch is not None and not batch.learned
    assert (batch.exponent, batch.deviation) == PRIORS["batch_size"]
    assert "nothing was learned of it" in batch.words and "in your runs" not in batch.words


def test_more_sizes_apart_make_it_surer():
    near, far = (fit_scale_law(prepare(sized_runs(widths, each=10))) for widths in ((16.0, 32.0), (4.0, 128.0)))
    assert near is not None and far is not None and near.size is not None and far.size is not None
    assert far.size.deviation < near.size.deviation


def test_runs_that_state_no_scale_have_a_law_of_their_length_alone():
    law = fit_scale_law(prepare(runs(12)))
    assert law is not None
    assert [quantity.name for quantity in law.quantities] == ["total_steps"]
    assert not law.learned


def test_runs_of_several_tasks_have_no_law():
    mixed = [
        dataclasses.replace(run, facts=dataclasses.replace(run.facts, task=f"task-{place % 2}"))
        for place, run in enumerate(sized_runs(each=4))
    ]
    assert fit_scale_law(prepare(mixed)) is None


def test_a_run_that_states_no_size_is_excluded_with_the_reason_where_the_others_differ():
    silent = sized_run(drawn(900), 16.0, 900, facts={"batch_size": 64}, name="silent")
    data, law = one_scale(prepare([*sized_runs(each=6), silent]))
    assert law is not None and law.learned
    assert "silent" not in data.names
    assert dict(data.excluded)["silent"] == "does not state its width, in which the other runs differ"


def test_a_size_that_fewer_than_half_of_the_runs_state_is_left_out():
    silent = [sized_run(drawn(900 + n), 16.0, 900 + n, facts={}, name=f"silent-{n}") for n in range(10)]
    data, law = one_scale(prepare([*sized_runs(each=3), *silent]))
    assert len(data) == 17 and not any("size" in why or "width" in why for _, why in data.excluded)
    assert law is not None and law.size is None


def test_too_few_runs_keep_the_prior_and_count_as_unlearned():
    law = fit_scale_law(prepare(sized_runs((16.0, 64.0), each=2)))
    assert law is not None and law.size is not None
    assert not law.size.learned
    assert law.size.exponent == PRIORS["width"][0]


def test_in_the_reference_jobs_units_runs_of_all_widths_end_alike():
    data = prepare(sized_runs())
    law = sized_forecaster().law
    turned = in_reference(data, law)
    wide = data.scales["width"] == max(WIDTHS)
    good = [np.sort(part.values[wide, -1, METRIC])[-5:].mean() for part in (data, turned)]
    poor = [
        np.sort(part.values[~wide & (data.scales["width"] == 16.0), -1, METRIC])[-5:].mean() for part in (data, turned)
    ]
    assert abs(good[1] - poor[1]) < 0.5 * abs(good[0] - poor[0])
    assert np.array_equal(turned.mask, data.mask)


def test_the_same_runs_give_the_same_law_in_any_order():
    made = sized_runs(each=4)
    first, second = (fit_scale_law(prepare(order)) for order in (made, made[::-1]))
    assert first is not None and second is not None and first.size is not None and second.size is not None
    assert math.isclose(first.size.exponent, second.size.exponent, abs_tol=1e-3)


def test_runs_of_several_sizes_are_told_from_runs_of_several_tasks():
    assert of_sizes(prepare(sized_runs(each=2)))
    assert not of_sizes(prepare(sized_runs((32.0,), each=6)))
    assert not of_sizes(prepare(runs(6)))
