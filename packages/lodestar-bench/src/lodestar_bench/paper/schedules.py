"""Item 2: the schedules Lodestar generated in five runs, against the best plain schedule of the same task.

Comes in: final runs. Goes out: the learning rate of every run shown, and how far each generated schedule g is from all
it learned from: the distance |g - s| / |g| over the run to the nearest past schedule s as it was, and to the nearest of
their shapes at its best-fitting rate. Judges no result: see table1.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from lodestar.runs import Run, RunSet
from lodestar.schedules import SHAPES
from lodestar_bench.paper import draw_schedules
from lodestar_bench.paper.context import ItemContext
from lodestar_bench.paper.item import AbstractItem, Findings, Made, Picture
from lodestar_bench.paper.sheet import Sheet
from lodestar_bench.paper.tell_schedules import words

if TYPE_CHECKING:
    from lodestar.report.html import Block

SHOWN_SEEDS = 5
PLACES = 200  # at which two schedules are compared


class Schedules(AbstractItem):
    """Generated against plain."""

    name = "schedules"
    title = "2. Generated schedules against the best plain one"
    needs = "final runs of Lodestar"

    def make(self, context: ItemContext) -> Findings:
        """Rates of five seeds, and distances."""
        context.ours()
        ours = context.there()
        best = next(row.entrant.name for row in context.table.rows if row.entrant.name in SHAPES and row.finals.count)
        shown = {name: context.runs(context.finals(name)[:SHOWN_SEEDS]) for name in ours}
        plain = context.runs(context.finals(best)[:1])
        past = context.sources()
        rates = [line for name in ours for run in shown[name] for line in _rates(name, "ours", run)]
        rates += [line for run in plain for line in _rates(best, "plain", run)]
        near = [(name, run.facts.seed, *_nearest(run, past)) for name in ours for run in shown[name]]
        alike = [(name, *_spread(shown[name])) for name in ours]
        return Findings(
            (
                Sheet.of("rates", ("method", "kind", "seed", "step", "part", "lr"), rates),
                Sheet.of("nearest", ("method", "seed", "schedule", "distance", "shape", "shape_distance"), near),
                Sheet.of("spread", ("method", "runs", "spread", "peak_at", "peak", "end"), alike),
            ),
            seeds=tuple(sorted({int(run.facts.seed or 0) for runs in shown.values() for run in runs})),
        )

    def draw(self, made: Sequence[Made]) -> list[Picture]:
        """A panel for each task."""
        return draw_schedules.pictures(made)

    def words(self, made: Sequence[Made]) -> str:
        """The paper's three observations, checked."""
        return words(made)

    def charts(self, made: Sequence[Made]) -> "list[Block]":
        """A chart for each task."""
        return draw_schedules.charts(made)


def _rates(method: str, kind: str, run: Run) -> list[tuple[object, ...]]:
    return [
        (method, kind, run.facts.seed, step, step / run.total_steps, lr)
        for step, lr in zip(run.lr.steps.tolist(), run.lr.values.tolist(), strict=True)
    ]


def on_grid(run: Run) -> NDArray[np.float64]:
    """The rate at evenly spaced places of the run."""
    places = np.linspace(0, 1, PLACES) * run.total_steps
    return np.interp(places, run.lr.steps, run.lr.values)


def distance(made: NDArray[np.float64], other: NDArray[np.float64], *, free_rate: bool = False) -> float:
    """|made - other| / |made|; with `free_rate` the other is first scaled to fit best."""
    if free_rate:
        other = other * float(made @ other) / max(float(other @ other), 1e-300)
    return float(np.linalg.norm(made - other) / np.linalg.norm(made))


def _nearest(run: Run, past: RunSet) -> tuple[str, float, str, float]:
    made = on_grid(run)
    there = [one for one in past if one.last_step >= one.total_steps]
    curves = {f"{one.facts.schedule} {one.peak_lr:.3g}": on_grid(one) for one in there}
    shapes = {str(one.facts.schedule): on_grid(one) for one in there}
    as_it_was = {name: distance(made, curve) for name, curve in curves.items()}
    scaled = {name: distance(made, curve, free_rate=True) for name, curve in shapes.items()}
    nearest, shape = min(as_it_was, key=as_it_was.__getitem__), min(scaled, key=scaled.__getitem__)
    return nearest, as_it_was[nearest], shape, scaled[shape]


def _spread(runs: RunSet) -> tuple[int, float, float, float, float]:
    """How much seeds differ (standard deviation over the mean rate, run average); the mean curve's peak and end."""
    curves = np.stack([on_grid(run) for run in runs])
    mean = curves.mean(axis=0)
    found = float(curves.std(axis=0).mean() / mean.mean())
    return len(curves), found, float(mean.argmax() / (PLACES - 1)), float(mean.max()), float(mean[-1])


ITEM = Schedules()
