"""The page in a real browser: it draws without an error, answers the pointer, hides and shows, and turns dark."""

import numpy as np
import pytest
from tests.report.chromium import Browser, needs_chromium

from lodestar.report.html import (
    Axis,
    Bars,
    Chart,
    Details,
    Line,
    Notes,
    ReferenceLine,
    Scatter,
    Section,
    Shades,
    Shading,
    Table,
    Text,
    XSpan,
    histogram,
    write_page,
)

pytestmark = needs_chromium
EVIL = "<script>alert(1)</script><img src=x onerror=alert(2)>"
STEPS = np.arange(1, 51)


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    one = Browser(tmp_path_factory.mktemp("profile"))
    yield one
    one.close()


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    many = [Line(f"{EVIL} {i}", STEPS, 1.0 / STEPS + i, group=EVIL if i % 2 else "even", faint=True) for i in range(20)]
    few = [Shading("band", STEPS, STEPS - 5, STEPS + 5, colour=0), Line("line", STEPS, STEPS, colour=0)]
    charts = [
        Chart(
            "few",
            few,
            Axis("step"),
            Axis("value"),
            spans=[XSpan(0, 10, "seen")],
            rules=[ReferenceLine(20, "y", "rule")],
        ),
        Chart("many", many, Axis("step", log=True), Axis("value", log=True), wide=True),
        Chart(
            "dots",
            [Scatter(EVIL, [1, 2], [1, 2], [EVIL, "b"], [0, 1], [2, 3], [0.1, 0.9])],
            shades=Shades("lr", 1e-4, 1),
        ),
        Chart("bars", [Bars("height", [0, 1], [3, 5])], Axis(categories=["a", EVIL])),
        Chart("lying", [Bars("width", [0, 1], [3, 5], [2, 4], [4, 6])], y=Axis(categories=["a", "b"])),
        Chart("bins", [histogram("all", [1, 2, 2, 3, 9])], y=Axis("count", style="count")),
        Chart("empty", [Line("nothing", [1, 2], [np.nan, np.nan])], y=Axis(log=True)),
    ]
    table = Table(("name", ">value"), [["a", "3"], [EVIL, "20"], ["c", "1e-5"]])
    blocks = [Text(EVIL), *charts, table, Details("more", [charts[0]])]
    sections = [Section("Charts", blocks), Section("Notes", [Notes([("tag", EVIL, EVIL)])])]
    return write_page(tmp_path_factory.mktemp("page") / "page.html", EVIL, sections, lead=EVIL)


@pytest.fixture
def opened(browser, path):
    browser.open(path, height=4000)
    browser.js("localStorage.clear()")
    browser.open(path, height=4000)
    browser.wait("document.querySelectorAll('figure[data-drawn]').length >= 7")
    yield browser
    assert browser.problems == []


def plot(number: int) -> str:
    return f"figure.chart:nth-of-type({number}) .plot"


def ink(browser: Browser, number: int) -> int:
    """How many pixels of a chart are drawn on."""
    return browser.js(
        f"(() => {{const c = document.querySelector('{plot(number)} canvas'), copy = document.createElement('canvas');"
        "copy.width = c.width; copy.height = c.height; const d = copy.getContext('2d', {willReadFrequently: true});"
        "d.drawImage(c, 0, 0);"
        "return d.getImageData(0, 0, c.width, c.height).data.filter((v, i) => i % 4 === 3 && v).length})()"
    )


def test_every_chart_in_view_is_drawn_and_none_in_a_closed_fold(opened):
    assert all(ink(opened, number) > 500 for number in range(1, 8))
    assert opened.js("document.querySelector('details figure').dataset.drawn === undefined")


def test_a_fold_draws_when_it_opens(opened):
    opened.js("document.querySelector('details').open = true")
    opened.wait("document.querySelector('details figure').dataset.drawn === 'yes'")


def test_hover_shows_the_values_of_every_line(opened):
    x, y = opened.middle(plot(1))
    opened.move(x, y)
    opened.wait("!document.querySelector('#tip').hidden")
    text = opened.js("document.querySelector('#tip').innerText")
    step = int(text.split("\n")[0].removeprefix("step "))
    assert f"line: {step}" in text
    assert f"band: {step - 5} to {step + 5}" in text


def test_hover_leaves_when_the_pointer_does(opened):
    opened.move(*opened.middle(plot(1)))
    opened.wait("!document.querySelector('#tip').hidden")
    opened.move(2, 2)
    opened.wait("document.querySelector('#tip').hidden")


def test_among_many_lines_hover_names_the_nearest_as_text(opened):
    opened.move(*opened.middle(plot(2)))
    opened.wait("!document.querySelector('#tip').hidden")
    assert opened.js("document.querySelector('#tip b').textContent").startswith(EVIL)
    assert opened.js("document.querySelectorAll('#tip img, #tip script').length") == 0


@pytest.mark.parametrize(("number", "text"), [(4, "height: 5"), (5, "width: 5 (4 to 6)"), (6, "all: ")])
def test_hover_on_a_bar_tells_its_value(opened, number, text):
    x, y = opened.middle(plot(number))
    opened.move(x + 60, y + 30)
    opened.wait(f"document.querySelector('#tip').innerText.includes({text!r})")


def test_a_click_in_the_legend_hides_and_shows(opened):
    whole = ink(opened, 2)
    button = "figure.chart:nth-of-type(2) .legend button"
    opened.click(button)
    opened.wait(f"document.querySelector('{button}').getAttribute('aria-pressed') === 'false'")
    assert ink(opened, 2) < 0.9 * whole
    opened.click(button)
    opened.wait(f"document.querySelector('{button}').getAttribute('aria-pressed') === 'true'")
    assert ink(opened, 2) == whole


def test_the_button_turns_the_page_dark_and_back(opened):
    light = opened.js("getComputedStyle(document.body).backgroundColor")
    opened.click("#theme")
    assert opened.js("document.documentElement.dataset.theme") == "dark"
    assert opened.js("getComputedStyle(document.body).backgroundColor") != light
    opened.click("#theme")
    assert opened.js("getComputedStyle(document.body).backgroundColor") == light


def test_the_page_follows_the_system_until_told_otherwise(opened, path):
    opened.open(path, dark=True)
    assert opened.js("document.documentElement.dataset.theme") == "dark"
    opened.click("#theme")
    opened.wait("document.documentElement.dataset.theme === 'light'")
    opened.open(path, dark=True)
    assert opened.js("document.documentElement.dataset.theme") == "light"


def test_texts_are_texts(opened):
    assert opened.js("document.querySelectorAll('img').length") == 0
    assert opened.js("document.querySelector('h1').textContent") == EVIL
    assert opened.js("document.querySelector('figure.chart:nth-of-type(2) .legend').innerText").count(EVIL) == 1


def test_a_heading_sorts_by_number(opened):
    opened.click("th:nth-child(2) button")
    assert opened.js("[...document.querySelectorAll('td:nth-child(2)')].map((c) => c.textContent)") == [
        "1e-5",
        "3",
        "20",
    ]


def test_nothing_is_wider_than_a_phone(opened, path):
    opened.open(path, width=390, height=844, phone=True)
    assert opened.js("document.documentElement.scrollWidth") == 390


def test_charts_below_the_fold_wait(opened, path):
    opened.open(path, width=390, height=500, phone=True)
    opened.wait("document.querySelector('figure').dataset.drawn === 'yes'")
    assert opened.js("document.querySelector('figure.chart:nth-of-type(7)').dataset.drawn === undefined")
