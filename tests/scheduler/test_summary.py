"""The line at the end of a run."""

import dataclasses
import math

from tests.scheduler.live import train

from lodestar.scheduler import Decision, Outcome, Scheduler, read_log
from lodestar.scheduler.records.summary import summary_of
from lodestar.testing import random_forecaster

BEGAN = Decision(outcome=Outcome.INITIAL_PLAN, predicted=0.8)
KEPT = Decision(outcome=Outcome.KEPT, predicted=0.878, interval=(0.872, 0.884), forecast=0.7, step=20)


def test_the_initial_plan_throughout():
    assert summary_of([BEGAN, KEPT], 0.884, 300, 3000) == (
        "followed the initial plan throughout; 0 replans; final 0.884, forecast 0.878 (0.872 to 0.884); "
        "300 of 3,000 planned updates made"
    )


def test_what_changed_is_counted():
    changed = [BEGAN, *(dataclasses.replace(KEPT, outcome=o) for o in (Outcome.REPLANNED, Outcome.CUT, Outcome.CUT))]
    assert summary_of(changed, math.nan, 10, 10).startswith(
        "followed the plan as it was changed; 1 replan; 2 x cut; no metric observed, forecast 0.878"
    )


def test_a_closed_gate_and_shadow_mode_are_named():
    gated = Decision(outcome=Outcome.GATED, step=1200)
    assert summary_of([BEGAN, gated], 0.5, 10, 10).startswith("followed the plain schedule from step 1,201: the gate")
    shadow = summary_of([BEGAN, KEPT], 0.5, 10, 10, shadow=True)
    assert shadow.startswith("shadow mode: followed the base schedule throughout; 0 replans; final 0.5, forecast 0.7;")


def test_nothing_to_forecast():
    assert "final 0.5, no forecast; 10 of" in summary_of([], 0.5, 10, 10)


def test_closing_writes_it_once_into_the_log(tmp_path):
    one = Scheduler(random_forecaster(seed=5, points=40), 400, log=tmp_path / "log.jsonl", tolerance=20.0)
    one.close()  # nothing was asked for yet: nothing to say
    train(one, 1, 100)
    one.close()
    one.close()
    assert (tmp_path / "log.jsonl").read_text().count('"kind": "end"') == 1
    assert read_log(tmp_path / "log.jsonl").summary == one.summary()
