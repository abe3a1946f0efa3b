"""Charts as files: everything a chart can hold is drawn, whatever its texts hold; the same chart is the same file."""

import re

import numpy as np
import pytest

from lodestar.report.draw import SHADES, chart_panel
from lodestar.report.html import Axis, Bars, Chart, Histogram, Line, ReferenceLine, Scatter, Shades, Shading, XSpan
from lodestar.report.html.page import asset
from lodestar.report.ink import COLOURS, FAINT, INK, file_bytes

EVIL = "<b>$\\frac{ 学習 \x00"
X = np.arange(1, 6)


def svg(*charts: Chart) -> str:
    return file_bytes(chart_panel("name", charts), "svg").decode()


CHARTS = {
    "line": Chart("t", [Line("a", X, X), Line("b", X, 2 * X, dashed=True, faint=True)], Axis("x"), Axis("y", log=True)),
    "gap": Chart("t", [Line("a", X, [1, np.nan, 3, np.nan, 5])]),
    "nothing": Chart("t", [Line("a", [], []), Scatter("b", [1], [np.nan])], y=Axis(log=True)),
    "band": Chart(
        "t", [Shading("a", X, X - 1, X + 1), Line("b", X, X)], spans=[XSpan(0, 2, "seen")], rules=[ReferenceLine(3)]
    ),
    "points": Chart(
        "t", [Scatter("a", X, X, low=X - 1, high=X + 1)], rules=[ReferenceLine(axis="diagonal"), ReferenceLine(2, "x")]
    ),
    "shades": Chart("t", [Scatter("a", X, X, shades=X / 5)], shades=Shades("lr", 0, 1)),
    "bars": Chart("t", [Bars("a", [0, 1], [3, 5], [2, 4], [4, 6]), Bars("b", [0, 1], [1, 2])], Axis(categories="xy")),
    "lying": Chart("t", [Bars("a", [0, 1], [3, 5], [2, 4], [4, 6])], y=Axis(categories=["x", "y"])),
    "dots on categories": Chart("t", [Scatter("a", [3, 5], [0, 1], low=[2, 4], high=[4, 6])], y=Axis(categories="xy")),
    "histogram": Chart("t", [Histogram("a", [0, 1, 2], [3, 1])], Axis(style="percent"), Axis(style="count")),
    "evil": Chart(
        EVIL, [Line(EVIL, X, X), Line("b", X, X)], Axis(EVIL), Axis(EVIL), rules=[ReferenceLine(1, label=EVIL)]
    ),
}


@pytest.mark.parametrize("name", CHARTS)
def test_every_kind_is_drawn(name):
    assert file_bytes(chart_panel(name, [CHARTS[name]]), "png").startswith(b"\x89PNG")


def test_charts_stand_one_above_the_other_under_one_legend():
    alone, both = svg(CHARTS["line"]), svg(CHARTS["line"], CHARTS["line"])
    assert (alone.count('id="axes_'), both.count('id="axes_')) == (1, 2)
    assert alone.count('id="legend_') == both.count('id="legend_') == 1
    assert both.count(">a</text>") == 1


def test_texts_are_drawn_as_they_are_but_for_signs_the_font_lacks():
    assert "&lt;b&gt;$\\frac{ �� �" in svg(CHARTS["evil"])


def test_colours_are_what_was_asked_for():
    made = svg(Chart("t", [Line("a", X, X, colour="ink"), Line("b", X, X, colour="faint"), Line("c", X, X, colour=3)]))
    assert {INK, FAINT, COLOURS[3]} <= set(re.findall(r"stroke: (#\w{6})", made))


def test_series_without_a_colour_take_the_next_one():
    made = svg(Chart("t", [Line("a", X, X), Line("b", X, X), Line("c", X, X, group="a")]))
    assert {COLOURS[0], COLOURS[1]} <= set(re.findall(r"stroke: (#\w{6})", made))
    assert COLOURS[2] not in made


def test_the_legend_names_each_entry_once_and_a_lone_one_never():
    lines = [Shading("80 %", X, X, X + 1, group="g"), Line("a", X, X, group="g"), Shading("own", X, X, X + 1)]
    made = svg(Chart("t", lines))
    assert [name for name in ("80 %", "a", "g", "own") if f">{name}</text>" in made] == ["g", "own"]
    assert 'id="legend_' not in svg(Chart("t", lines[:2]))


def test_limits_and_percents_are_kept():
    made = svg(Chart("t", [Line("a", [0, 1], [0, 1])], Axis(low=0, high=0.5, style="percent")))
    texts = re.findall(r">([^<>]+ %)</text>", made)
    assert texts[0] == "0 %"
    assert texts[-1] == "50 %"


def test_a_figure_is_the_same_twice():
    assert svg(CHARTS["points"]) == svg(CHARTS["points"])


def test_files_have_the_colours_of_the_page():
    light = asset("style.css").split("}")[0]
    assert tuple(re.findall(r"--c\d:(#\w{6})", light)) == COLOURS
    assert f"--ink:{INK}" in light
    stops = re.search(r"const STOPS = \[(.*)\];", asset("draw.js"))
    assert stops
    numbers = [int(n) for n in re.findall(r"\d+", stops[1])]
    assert tuple("#" + bytes(numbers[i : i + 3]).hex() for i in range(0, len(numbers), 3)) == SHADES
