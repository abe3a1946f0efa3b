"""Schedules are recognised by their curve, however densely they were logged."""

import numpy as np
import pytest

from lodestar.runs import Series
from lodestar.schedules import OTHER, UNKNOWN, Shape, recognise

PLAIN = ("constant", "cosine", "linear", "step", "exponential", "inverse-sqrt", "onecycle", "wsd")
WARMED = ("constant", "cosine", "linear", "step")
SHAPES = [*map(Shape, PLAIN), *(Shape(family, warmup=True) for family in WARMED), OTHER]


def shape_of(lr: Series, total_steps: int) -> Shape:
    return recognise(lr.steps, lr.values, total_steps)


@pytest.mark.parametrize("points", [30, 100, 1000])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_a_schedule_is_recognised(make_run, shape, points):
    run = make_run(shape=str(shape), points=points)
    assert shape_of(run.lr, run.total_steps) == shape


@pytest.mark.parametrize("shape", [Shape("cosine"), Shape("linear"), Shape("constant")])
def test_a_run_cut_short_is_recognised_by_its_planned_length(make_run, shape):
    run = make_run(shape=str(shape), points=100)
    assert shape_of(run.lr.until(600), run.total_steps) == shape


def test_a_floor_does_not_matter(make_run):
    lr = make_run(shape="cosine").lr
    assert shape_of(Series(lr.steps, lr.values + 1e-3), 500) == Shape("cosine")


def test_single_precision_does_not_matter(make_run):
    lr = make_run(shape="constant").lr
    assert shape_of(Series(lr.steps, lr.values.astype(np.float32)), 500) == Shape("constant")


@pytest.mark.parametrize("lr", [Series.empty(), Series([1], [0.1]), Series(range(9), [0.0] * 9)])
def test_too_little_to_say(lr):
    assert shape_of(lr, 100) == UNKNOWN
