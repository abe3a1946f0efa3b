"""Charts as plain data: what the renderer reads, what is refused, numbers short and gaps as null."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lodestar.report import html
from lodestar.report.html import (
    Axis,
    Bars,
    Chart,
    Histogram,
    Line,
    ReferenceLine,
    Scatter,
    Shades,
    Shading,
    XSpan,
    density,
    histogram,
)
from lodestar.report.html.chart import numbers


def test_a_gap_is_null_and_numbers_are_short():
    data = Chart("c", [Line("a", [1, 2, 3], [0.123456789, np.nan, np.inf])]).as_data()
    assert data["series"] == [{"kind": "line", "name": "a", "x": [1, 2, 3], "y": [0.12346, None, None], "width": 1.8}]


def test_everything_can_be_json():
    series = [
        Line("l", [1], [2], group="g", colour=3, shade=0.5, faint=True, dashed=True),
        Shading("b", [1], [0], [2]),
        Scatter("p", [1], [1], ["one"], [0], [2], [0.5]),
        Bars("bars", [0], [3], [2], [4]),
        Histogram("h", [0, 1], [5]),
    ]
    chart = Chart(
        "c",
        series,
        Axis("x", categories=["a"]),
        Axis("y", log=True),
        "below",
        [XSpan(0, 1)],
        [ReferenceLine(1)],
        Shades("s", 0, 1),
    )
    data = json.loads(json.dumps(chart.as_data(), allow_nan=False))
    assert [one["kind"] for one in data["series"]] == ["line", "band", "points", "bars", "histogram"]
    assert data["x"]["categories"] == ["a"]
    assert data["series"][2]["labels"] == ["one"]


def test_names_of_release_one_still_work():
    assert (html.Band, html.Points, html.Rule, html.Span) == (Shading, Scatter, ReferenceLine, XSpan)
    assert (html.Facts, html.Fold, html.Series) == (html.KeyFigures, html.Details, html.Mark)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Line("a", [1, 2], [1]),
        lambda: Shading("a", [1], [1], [1, 2]),
        lambda: Scatter("a", [1], [1], ["one", "two"]),
        lambda: Scatter("a", [1], [1], low=[1, 2], high=[1]),
        lambda: Bars("a", [0], []),
        lambda: Histogram("a", [0, 1], [1, 2]),
    ],
)
def test_unequal_lengths_are_refused(make):
    with pytest.raises(ValueError, match="'a'"):
        make()


@given(st.floats(allow_nan=False, allow_infinity=False, min_value=-1e12, max_value=1e12))
def test_a_short_number_is_close_to_the_long_one(value):
    (found,) = numbers([value])
    assert found == pytest.approx(value, rel=1e-4, abs=0)


def test_a_histogram_counts_every_finite_value():
    made = histogram("h", [1, 2, 2, 3, np.nan], bins=3)
    assert np.asarray(made.counts).tolist() == [1, 2, 1]


def test_a_density_integrates_to_one():
    made = density("d", np.random.default_rng(0).normal(size=50), grid=400)
    assert np.trapezoid(np.asarray(made.y), np.asarray(made.x)) == pytest.approx(1.0, abs=0.01)


def test_a_density_of_one_value_is_a_peak_there():
    made = density("d", [0.9])
    assert np.asarray(made.x)[np.argmax(made.y)] == pytest.approx(0.9, abs=1e-3)


def test_a_density_of_nothing_is_refused():
    with pytest.raises(ValueError, match="got none"):
        density("d", [np.nan])
