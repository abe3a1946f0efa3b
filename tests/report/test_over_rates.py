"""How the best rate moves, drawn: as a picture, a page, and a section of the report."""

import dataclasses

import pytest
from tests.responding import drawn, responding_forecaster
from tests.sized import sized_forecaster, sized_run, sized_runs

from lodestar.planning.over_rates import over_rates
from lodestar.report.html import Chart, Scatter, Text
from lodestar.report.over_rates import Ended, draw_rates, rate_charts
from lodestar.report.sections.whole import build_report
from lodestar.runs.run import OUR_MODE

SECTION = "How the best rate moves"


@pytest.mark.parametrize(
    ("name", "begins"), [("a.png", b"\x89PNG"), ("a.svg", b"<?xml"), ("a.html", b"<!doctype html>")]
)
def test_it_is_written_as_its_name_says(tmp_path, name, begins):
    found = over_rates(sized_forecaster(), {"width": 256.0})
    assert found is not None
    draw_rates(tmp_path / name, found, "accuracy", "How it moves", ["a note"])
    assert (tmp_path / name).read_bytes().lower().startswith(begins.lower())


def test_each_size_has_its_runs_and_the_job_stands_where_it_was_run():
    found = over_rates(sized_forecaster(), {"width": 256.0})
    assert found is not None
    past = [Ended(17.0, 3e-3, 0.4, "small"), Ended(64.0, 2e-3, 0.5, "large")]
    over_rate, over_size = rate_charts(found, "accuracy", past, [Ended(256.0, 1.5e-3, 0.52, "job")])
    labels = {mark.name: list(mark.labels) for mark in over_rate.series if isinstance(mark, Scatter)}
    assert labels["width 16: runs"] == ["small"] and labels["width 64: runs"] == ["large"]
    assert labels["where the job was run: runs"] == ["job"]
    assert over_rate.spans[0].low < over_rate.spans[0].high
    assert "in your runs the best rate falls as width^" in over_size.caption.lower()


def test_the_report_has_it_where_runs_differ_in_size():
    runs = sized_runs(each=5)
    steered = sized_run(drawn(77), 256.0, 77, facts={"width": 256.0, "batch_size": 64, OUR_MODE: "steer"}, name="mine")
    page = build_report([*runs, steered], forecaster=sized_forecaster(), most=4)
    section = next(section for section in page.sections if section.title == SECTION)
    words, over_rate, _ = section.blocks
    assert isinstance(words, Text) and "from 3 widths" in words.text
    assert isinstance(over_rate, Chart)
    shown = [label for mark in over_rate.series for label in getattr(mark, "labels", ())]
    assert "mine" in shown and runs[0].name in shown


def test_the_report_of_runs_of_one_size_has_no_such_section():
    plain = dataclasses.replace(sized_forecaster(), law=None)
    page = build_report(sized_runs((32.0,), each=6), forecaster=plain, most=4)
    assert SECTION not in [section.title for section in page.sections]
    assert responding_forecaster().law is None
