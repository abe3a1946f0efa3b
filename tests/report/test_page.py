"""The page: self-contained, safe against names, complete; the figures: real files."""

import base64
import dataclasses
import json
import re
import subprocess
import sys
from html.parser import HTMLParser
from xml.etree import ElementTree

import pytest
from tests.curves import diverged_run, toy_run, toy_runs

from lodestar._errors import StoreError
from lodestar.evaluate import evaluate
from lodestar.report import page, save_figures, save_page
from lodestar.report.gallery import gallery
from lodestar.report.ink import svg_for_page
from lodestar.runs import Series
from lodestar.testing import random_forecaster

EVIL = '<script>alert("x")</script>&$\\frac{'


@pytest.fixture(scope="module")
def found():
    runs = [run.replace(name=f"{EVIL} {i} 学習", metric_name=EVIL) for i, run in enumerate(toy_runs(seeds=1))]
    aside = diverged_run(name="</table><b>").replace(metric_name=EVIL)
    return evaluate(random_forecaster(seed=1, points=60), [*runs, aside], tolerances=(1e-4,))


@pytest.fixture(scope="module")
def html(found):
    return page(found)


class Links(HTMLParser):
    """Every address a page points to, and every tag."""

    def __init__(self):
        super().__init__()
        self.links, self.tags = [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.links += [value for key, value in attrs if key in ("src", "href", "xlink:href", "data", "action")]


def test_nothing_comes_from_elsewhere(html):
    links = Links()
    links.feed(html)
    assert all(link.startswith(("#", "data:application/json")) for link in links.links)
    assert not re.search(r"@import|url\((?!#)", html)
    assert "script" not in links.tags


def test_names_are_escaped(html):
    assert "<script" not in html
    assert "</table><b>" not in html
    assert "&lt;script&gt;" in html
    assert "&lt;/table&gt;&lt;b&gt;" in html


def test_every_figure_is_on_it(found, html):
    panels = [panel.name for part in gallery(found).values() for panel in part]
    assert len(panels) == len(set(panels)) == html.count("<svg ")
    assert all(f'aria-label="{name}"' in html for name in panels)


def test_ink_follows_the_page_in_light_and_dark(found, html):
    svg = svg_for_page(gallery(found)["solver"][0])
    assert "var(--ink)" in svg
    assert "#1b1b1f" not in svg
    assert "prefers-color-scheme:dark" in html


def test_it_fits_a_phone(html):
    assert 'name="viewport"' in html
    assert not re.search(r"<svg [^>]*width=", html)


def test_the_same_is_inside_as_json(found, html):
    data = re.search(r'data:application/json;base64,([^"]+)', html)
    assert data
    assert json.loads(base64.b64decode(data[1])) == json.loads(found.to_json())


def test_a_figure_is_the_same_twice(found):
    panel = gallery(found)["ranks"][0]
    assert svg_for_page(panel) == svg_for_page(panel)


def test_figures_are_real_files(found, tmp_path):
    few = dataclasses.replace(found, examples=(), finals=found.finals[:1], coverage=found.coverage[:4])
    files = save_figures(few, tmp_path / "new" / "folder")
    assert {path.suffix for path in files} == {".png", ".svg"}
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


def test_a_run_without_a_forecast_leaves_gaps_not_warnings():
    run = toy_run("late")
    cut = {name: getattr(run, name) for name in ("loss", "metric", "lr")}
    late = run.replace(**{name: Series(one.steps[20:], one.values[20:]) for name, one in cut.items()})
    html = page(evaluate(random_forecaster(seed=1, points=60), [late], tolerances=(), fractions=(0.05,)))
    assert "nan" not in re.sub(r"<svg.*?</svg>|base64,[^\"]*", "", html, flags=re.DOTALL)


def test_importing_it_draws_nothing():
    code = "import sys, lodestar.report; print({'matplotlib', 'jax'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
