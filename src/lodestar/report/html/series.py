"""What a chart can hold: lines, shadings, points, bars, histograms. Plain data; a missing value is NaN and makes a gap.

`name` is what the reader sees. Series with the same `group` share one entry in the legend, which hides and shows them
together; without a group each has its own. `colour` is a number of the palette, "ink" or "faint"; by default each
legend entry takes the next one. `shade` (0 to 1) colours along a scale instead, which `Chart.shades` explains. Knows
nothing of axes or pixels.
"""

import dataclasses
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

Colour = int | str | None


@dataclasses.dataclass(frozen=True, eq=False)
class Line:
    """y over x, in the order given. `faint`: one of many, drawn thin and half transparent. `width` in pixels."""

    name: str
    x: ArrayLike
    y: ArrayLike
    group: str = ""
    colour: Colour = None
    shade: float | None = None
    faint: bool = False
    dashed: bool = False
    width: float = 1.8

    def __post_init__(self) -> None:
        _same_length(self, "x", "y")


@dataclasses.dataclass(frozen=True, eq=False)
class Shading:
    """A filled stretch between `low` and `high`: the spread of a group, a forecast's interval. Draw fans as several."""

    name: str
    x: ArrayLike
    low: ArrayLike
    high: ArrayLike
    group: str = ""
    colour: Colour = None
    strength: float = 0.2  # how opaque

    def __post_init__(self) -> None:
        _same_length(self, "x", "low", "high")


@dataclasses.dataclass(frozen=True, eq=False)
class Scatter:
    """Single marks, each with a text of its own on hover, and a whisker from `low` to `high` where those are given.

    `shades` colours each one along `Chart.shades`. `size` in pixels.
    """

    name: str
    x: ArrayLike
    y: ArrayLike
    labels: Sequence[str] = ()
    low: ArrayLike | None = None
    high: ArrayLike | None = None
    shades: ArrayLike | None = None
    group: str = ""
    colour: Colour = None
    size: float = 4.0

    def __post_init__(self) -> None:
        given = ["x", "y", *(name for name in ("low", "high", "shades") if getattr(self, name) is not None)]
        _same_length(self, *given, *(["labels"] if self.labels else []))


@dataclasses.dataclass(frozen=True, eq=False)
class Bars:
    """A bar for each category (`at` is its number on the axis that has categories), from zero, with whiskers if given.

    Several `Bars` in a chart stand beside each other. They lie down where the y axis has the categories.
    """

    name: str
    at: ArrayLike
    values: ArrayLike
    low: ArrayLike | None = None
    high: ArrayLike | None = None
    group: str = ""
    colour: Colour = None

    def __post_init__(self) -> None:
        _same_length(self, "at", "values", *(name for name in ("low", "high") if getattr(self, name) is not None))


@dataclasses.dataclass(frozen=True, eq=False)
class Histogram:
    """Counts between edges (one edge more than counts). `histogram` makes one from values."""

    name: str
    edges: ArrayLike
    counts: ArrayLike
    group: str = ""
    colour: Colour = None

    def __post_init__(self) -> None:
        edges, counts = len(np.atleast_1d(self.edges)), len(np.atleast_1d(self.counts))
        if edges != counts + 1:
            raise ValueError(
                f"edges of the histogram {self.name!r} must be one more than its counts ({counts}), got {edges}"
            )


Mark = Line | Shading | Scatter | Bars | Histogram


def histogram(name: str, values: ArrayLike, bins: int = 20, group: str = "", colour: Colour = None) -> Histogram:
    """Count values that are finite."""
    counts, edges = np.histogram(_finite(values), bins=bins)
    return Histogram(name, edges, counts, group, colour)


def density(name: str, values: ArrayLike, grid: int = 120, group: str = "", colour: Colour = None) -> Line:
    """A smooth density of the finite values (Gaussian kernel, Scott's rule), each as heavy as the others."""
    found = _finite(values)
    spread = float(found.std(ddof=1)) if len(found) > 1 else 0.0
    width = spread * len(found) ** -0.2 if spread > 0 else max(abs(float(found[0])) * 0.01, 1e-9)
    x = np.linspace(found.min() - 3 * width, found.max() + 3 * width, grid)
    bells = np.exp(-0.5 * ((x[:, None] - found) / width) ** 2) / (width * np.sqrt(2 * np.pi))
    return Line(name, x, bells.mean(axis=1), group, colour)


def _finite(values: ArrayLike) -> NDArray[np.float64]:
    found = np.asarray(values, float).ravel()
    found = found[np.isfinite(found)]
    if not len(found):
        raise ValueError("values must hold a finite number, got none. Fix: leave the series out")
    return found


def _same_length(series: object, *names: str) -> None:
    lengths = {name: len(getattr(series, name)) for name in names}
    if len(set(lengths.values())) > 1:
        told = ", ".join(f"{name} {count}" for name, count in lengths.items())
        kind, name = type(series).__name__, getattr(series, "name", "")
        raise ValueError(f"{kind} {name!r} must have as many of each, got {told}. Fix: one value for each point")
