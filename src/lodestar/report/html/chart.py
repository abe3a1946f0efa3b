"""A chart: series on two axes, with what explains them. Plain data, and how it becomes JSON for the page's renderer.

Comes in: series. Goes out: a dictionary that JSON can hold: numbers to five digits, NaN as null. Computes nothing.
"""

import dataclasses
import math
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from lodestar.report.html.series import Bars, Histogram, Line, Mark, Scatter, Shading

DIGITS = 5
KINDS = {Line: "line", Shading: "band", Scatter: "points", Bars: "bars", Histogram: "histogram"}
ARRAYS = ("x", "y", "low", "high", "at", "values", "edges", "counts", "shades")


@dataclasses.dataclass(frozen=True)
class Axis:
    """One axis: its label, whether it is logarithmic, limits where the data should not set them, or categories.

    A category stands at its number: 0, 1, 2, ... `style` "percent" shows 0.93 as 93 %, "count" has whole ticks only.
    """

    label: str = ""
    log: bool = False
    low: float | None = None
    high: float | None = None
    categories: Sequence[str] = ()
    style: Literal["number", "percent", "count"] = "number"


@dataclasses.dataclass(frozen=True)
class XSpan:
    """A shaded stretch of x, such as the part of a run that was seen."""

    low: float
    high: float
    label: str = ""


@dataclasses.dataclass(frozen=True)
class ReferenceLine:
    """A straight line across the chart at a value of x or y, or the diagonal x = y."""

    at: float = 0.0
    axis: Literal["x", "y", "diagonal"] = "y"
    label: str = ""


@dataclasses.dataclass(frozen=True)
class Shades:
    """What the scale of colours means: the values of shade 0 and shade 1."""

    label: str
    low: float
    high: float
    log: bool = False


@dataclasses.dataclass(frozen=True, eq=False)
class Chart:
    """A drawing. `caption` stands below it; `wide` takes the page's whole width; `height` is in pixels."""

    title: str
    series: Sequence[Mark]
    x: Axis = Axis()
    y: Axis = Axis()
    caption: str = ""
    spans: Sequence[XSpan] = ()
    rules: Sequence[ReferenceLine] = ()
    shades: Shades | None = None
    wide: bool = False
    height: int = 280

    def as_data(self) -> dict[str, Any]:
        """What the renderer reads."""
        return {
            "title": self.title,
            "x": _axis(self.x),
            "y": _axis(self.y),
            "spans": [dataclasses.asdict(span) for span in self.spans],
            "rules": [dataclasses.asdict(rule) for rule in self.rules],
            "shades": None if self.shades is None else dataclasses.asdict(self.shades),
            "series": [_series(one) for one in self.series],
        }


def _axis(axis: Axis) -> dict[str, Any]:
    return {**dataclasses.asdict(axis), "categories": list(axis.categories)}


def _series(series: Mark) -> dict[str, Any]:
    """Only what differs from nothing, so that a hundred runs stay small."""
    found: dict[str, Any] = {"kind": KINDS[type(series)]}
    for field in dataclasses.fields(series):
        value = getattr(series, field.name)
        if field.name in ARRAYS and value is not None:
            found[field.name] = numbers(value)
        elif field.name == "labels":
            found |= {"labels": list(value)} if value else {}
        elif value is not None and value != "" and value is not False:
            found[field.name] = value
    return found


def numbers(values: ArrayLike) -> list[float | int | None]:
    """Short numbers for JSON: five digits, whole ones without a point, null where there is none."""
    return [_short(value) for value in np.asarray(values, float).ravel().tolist()]


def _short(value: float) -> float | int | None:
    if not math.isfinite(value):
        return None
    if value == int(value) and abs(value) < 1e15:
        return int(value)
    return float(f"{value:.{DIGITS}g}")
