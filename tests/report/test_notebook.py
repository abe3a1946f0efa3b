"""What a notebook shows of an object: a picture from the report's charts, names as text."""

import base64

import pytest
from tests.made_runs import made_run
from tests.responding import responding_forecaster

from lodestar import RunSet, plan
from lodestar.scheduler import Decision, Scheduler
from lodestar.schedules import parse
from lodestar.testing import random_forecaster

EVIL = "<script>alert(1)</script>"


def svg(html: str) -> str:
    return base64.b64decode(html.split("base64,")[1].split('"')[0]).decode()


def test_a_schedule_is_drawn_under_its_words():
    shown = parse("linear:3e-3", 500)._repr_html_()
    assert shown is not None
    assert "<svg" in svg(shown)
    assert "learning rate" in svg(shown)


def test_a_plan_shows_its_forecast_and_its_rates():
    shown = plan(responding_forecaster(), 400)._repr_html_()
    assert shown is not None
    assert "forecast to end at" in shown
    assert "forecast metric" in svg(shown)


def test_a_decision_shows_what_is_planned_and_why():
    decision = Scheduler(random_forecaster(seed=1), 300).decisions[0]
    shown = decision._repr_html_()
    assert shown is not None
    assert "After step 0" in shown
    assert "learning rate" in svg(shown)


def test_a_decision_of_an_old_log_has_no_picture_but_its_words():
    shown = Decision(step=3, note=EVIL)._repr_html_()
    assert shown is not None
    assert "<img" not in shown
    assert "&lt;script&gt;" in shown


def test_runs_and_a_forecaster_are_drawn():
    for thing in (RunSet([made_run(name="a"), made_run(name="b")]), random_forecaster(seed=1)):
        shown = thing._repr_html_()
        assert shown is not None
        assert "training loss" in svg(shown)
    assert (RunSet()._repr_html_() or "").startswith("<div>")


def test_without_matplotlib_a_notebook_falls_back_to_plain_text(monkeypatch: pytest.MonkeyPatch):
    import sys

    monkeypatch.setitem(sys.modules, "lodestar.report.notebook", None)
    assert parse("linear:3e-3", 500)._repr_html_() is None
