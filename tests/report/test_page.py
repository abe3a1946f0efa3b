"""The evaluation's page: self-contained, safe against names, complete; its figures: real files."""

import base64
import dataclasses
import json
import re
import subprocess
import sys
from html import unescape
from html.parser import HTMLParser
from xml.etree import ElementTree

import pytest
from tests.curves import diverged_run, toy_run, toy_runs
from tests.report.chromium import Browser, needs_chromium

from lodestar._errors import StoreError
from lodestar.evaluate import evaluate
from lodestar.report import page, save_figures, save_page
from lodestar.report.page import figures
from lodestar.runs import Series
from lodestar.testing import random_forecaster

EVIL = '<script>alert("x")</script>&$\\frac{'


@pytest.fixture(scope="module")
def found():
    runs = [run.replace(name=f"{EVIL} {i} 学習", metric_name=EVIL) for i, run in enumerate(toy_runs(seeds=1))]
    excluded = diverged_run(name="</table><b>").replace(metric_name=EVIL)
    return evaluate(random_forecaster(seed=1, points=60), [*runs, excluded], tolerances=(1e-4,))


@pytest.fixture(scope="module")
def html(found):
    return page(found)


class Links(HTMLParser):
    """Every address a page points to, every tag, and the kind of every script."""

    def __init__(self, html: str):
        super().__init__()
        self.links, self.tags, self.scripts = [], [], []
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.links += [value for key, value in attrs if key in ("src", "href", "xlink:href", "data", "action")]
        if tag == "script":
            self.scripts.append(dict(attrs).get("type", "renderer"))


def test_nothing_comes_from_elsewhere(html):
    links = Links(html)
    assert all(link.startswith(("#", "data:application/json")) for link in links.links)
    assert not re.search(r"@import|url\((?!#)", html)


def test_the_only_script_that_runs_is_the_renderer(html):
    assert sorted(set(Links(html).scripts)) == ["application/json", "renderer"]
    assert Links(html).scripts.count("renderer") == 1
    assert re.search(r"default-src 'none'.*script-src 'sha256-", html)


def test_names_are_escaped(html):
    assert "<script>alert" not in html
    assert "</table><b>" not in html
    assert "&lt;script&gt;" in html
    assert "&lt;/table&gt;&lt;b&gt;" in html


def test_every_figure_is_on_it(found, html):
    charts = [chart for part in figures(found).values() for chart in part]
    assert Links(html).tags.count("figure") == len(charts)
    titles = [unescape(title) for title in re.findall(r'role="img" aria-label="([^"]*)"', html)]
    assert sorted(titles) == sorted(chart.title for chart in charts)


def test_colours_are_the_pages_own_in_light_and_dark(found, html):
    series = [one for part in figures(found).values() for chart in part for one in chart.series]
    assert all(one.colour in ("ink", "faint") or isinstance(one.colour, int) for one in series)
    assert "prefers-color-scheme:dark" in html


@needs_chromium
def test_it_is_drawn_without_an_error_and_fits_a_phone(found, tmp_path):
    save_page(found, tmp_path / "page.html")
    browser = Browser(tmp_path / "profile")
    try:
        browser.open(tmp_path / "page.html", width=390, height=30_000, phone=True)
        browser.js("document.querySelectorAll('details').forEach((fold) => { fold.open = true; })")
        browser.wait("document.querySelectorAll('figure:not([data-drawn])').length === 0")
        assert browser.js("document.documentElement.scrollWidth") == 390
        assert browser.problems == []
    finally:
        browser.close()


def test_the_same_is_inside_as_json(found, html):
    data = re.search(r'data:application/json;base64,([^"]+)', html)
    assert data
    assert json.loads(base64.b64decode(data[1])) == json.loads(found.to_json())


def test_figures_are_real_files(found, tmp_path):
    few = dataclasses.replace(
        found, examples=found.examples[:1], finals=found.finals[:1], coverage=found.coverage[:4], ablation=()
    )
    files = save_figures(few, tmp_path / "new" / "folder")
    assert {path.suffix for path in files} == {".png", ".svg"}
    assert {path.stem for path in files} == set(figures(few))
    for path in files:
        if path.suffix == ".png":
            assert path.read_bytes().startswith(b"\x89PNG")
        else:
            ElementTree.parse(path)


def test_a_page_that_cannot_be_written_is_an_error_with_a_cure(found, tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match=r"part of that path is a file|that path is a file"):
        save_page(found, tmp_path / "file" / "page.html")
    with pytest.raises(StoreError, match="Fix:"):
        save_figures(found, tmp_path / "file")


def test_a_run_without_a_forecast_leaves_gaps_not_warnings(tmp_path):
    run = toy_run("late")
    cut = {name: getattr(run, name) for name in ("loss", "metric", "lr")}
    late = run.replace(**{name: Series(one.steps[20:], one.values[20:]) for name, one in cut.items()})
    found = evaluate(random_forecaster(seed=1, points=60), [late], tolerances=(), fractions=(0.05,))
    shown = re.sub(r"base64,[^\"]*|<script>.*?</script>", "", page(found), flags=re.DOTALL)
    assert not re.search(r"\bnan\b", shown, re.IGNORECASE)
    save_figures(found, tmp_path)


def test_importing_it_draws_nothing():
    code = "import sys, lodestar.report; print({'matplotlib', 'jax'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
