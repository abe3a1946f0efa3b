"""Item 5: ablations. Samples x noise, horizon, volume and diversity of the sweep, and each part of ours switched off.

Comes in: what `lodestar bench arena --ablate ...` judged (its results lie beside the bench's runs). Goes out: a row for
each variant, held against the study's reference on the same seeds; every final result; and for the horizon, curves of
loss, metric and rate as means over seeds. A study that was not run is left out, and said so.
"""

import dataclasses
import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from lodestar.runs import Direction, Run, RunSet
from lodestar.scheduler.settings import PRESETS
from lodestar_bench._errors import BenchError
from lodestar_bench.arena.contestant import Sweep, Variant
from lodestar_bench.arena.home import FOLDER, ArenaHome
from lodestar_bench.arena.result import Result, mark_of
from lodestar_bench.arena.standings import Standing, standings
from lodestar_bench.arena.study import STUDIES, study
from lodestar_bench.optimizers.forms import FORMS
from lodestar_bench.paper import draw_ablations, tell_ablations
from lodestar_bench.paper.context import ItemContext
from lodestar_bench.paper.item import AbstractItem, Findings, Made, Picture
from lodestar_bench.paper.sheet import Sheet

if TYPE_CHECKING:
    from lodestar.report.html import Block

ROW = (
    "study", "preset", "variant", "reference", "samples", "noise", "horizon", "runs", "count", "mean", "std", "worst",
    "difference", "lower", "upper", "p", "diverged", "code",
)  # fmt: skip
CURVE = ("preset", "variant", "horizon", "at", "loss", "metric", "lr")
PLACES = np.linspace(0.02, 1.0, 50)


@dataclasses.dataclass(frozen=True)
class Judged:
    """A variant of a study with its result."""

    study: str
    variant: Variant
    result: Result


class Ablations(AbstractItem):
    """The paper's ablations and ours."""

    name = "ablations"
    title = "5. Ablations: samples and noise, horizon, the sweep, and each part switched off"
    needs = "what lodestar bench arena --ablate ... judged"

    def inputs(self, context: ItemContext) -> Iterator[str]:
        """What the arena judged so far."""
        return (one.mark for one in ArenaHome(context.home.path / FOLDER).results())

    def make(self, context: ItemContext) -> Findings:
        """Rows, results, curves."""
        home = ArenaHome(context.home.path / FOLDER)
        results = home.results()
        found = [one for name in STUDIES for preset in PRESETS for one in judged(name, preset, results)]
        if not found:
            raise BenchError(
                f"no study was judged in {home.path} with the settings as they are now. Fix: lodestar bench arena "
                f"--task {context.spec} --scale {context.facts.scale} --out {home.path.parents[1]} --ablate parts"
            )
        lines = list(_lines(found, context.facts.direction))
        curves = list(_curves(home, [one for one in found if one.study == "horizon"]))
        absent = [name for name in STUDIES if name not in {one.study for one in found}]
        return Findings(
            (
                Sheet.of("variants", ROW, (line for line, _ in lines)),
                Sheet.of("results", ("study", "preset", "variant", "seed", "test"), _tests(lines)),
                *((Sheet.of("curves", CURVE, curves),) if curves else ()),
            ),
            seeds=tuple(sorted({seed for one in found for seed in one.result.seeds})),
            notes=tuple(f"the study {name!r} was not run" for name in absent),
        )

    def draw(self, made: Sequence[Made]) -> list[Picture]:
        """A figure for each study, and the curves of the horizon."""
        return draw_ablations.pictures(made)

    def words(self, made: Sequence[Made]) -> str:
        """Tables and the gist."""
        return tell_ablations.words(made)

    def charts(self, made: Sequence[Made]) -> "list[Block]":
        """The same to hover over."""
        return draw_ablations.charts(made)


def judged(name: str, preset: str, results: Sequence[Result]) -> list[Judged]:
    """The variants of a study that were judged as they are now: the newest result, on the most seeds.

    Those with the form of the optimizer of which more were judged: the recipe's own, or with averaged weights.
    """
    by_mark: dict[str, Result] = {}
    for one in results:
        key = mark_of(one.identity)
        if key not in by_mark or len(one.seeds) >= len(by_mark[key].seeds):
            by_mark[key] = one
    found = max((_there(name, preset, form, by_mark) for form in FORMS), key=len)
    most = max((len(one.result.seeds) for one in found), default=0)
    same = [one for one in found if len(one.result.seeds) == most]
    return same if len(same) > 1 else []  # one alone (the preset itself) is no study


def _there(name: str, preset: str, form: str, by_mark: dict[str, Result]) -> list[Judged]:
    """A study's variants with one form of the optimizer, as far as they were judged."""
    variants = study(name, Variant(preset=preset, sweep=Sweep(form=form)))
    pairs = ((variant, by_mark.get(mark_of(variant.identity()))) for variant in variants)
    return [Judged(name, variant, result) for variant, result in pairs if result is not None]


def reference(found: Sequence[Judged]) -> Judged:
    """What the others of a study are held against: the setting that the paper or the preset has."""
    wanted = {
        "samples-noise": lambda one: (one.settings().samples, one.settings().noise) == (30, 0.15),
        "horizon": lambda one: one.settings().horizon is None,
        "volume": lambda one: one.sweep.seeds == 5,
    }.get(found[0].study, lambda one: False)
    return next((one for one in found if wanted(one.variant)), found[0])


def _lines(found: Sequence[Judged], direction: Direction) -> Iterator[tuple[tuple[object, ...], Standing]]:
    for name, preset in dict.fromkeys((one.study, one.variant.preset) for one in found):
        here = [one for one in found if (one.study, one.variant.preset) == (name, preset)]
        against = reference(here)
        for one in here:
            row = _standing(one.result, against.result, direction)
            yield _line(one, against, row), row


def _standing(one: Result, other: Result, direction: Direction) -> Standing:
    """Of one result against another, which stands in for the baseline."""
    base = dataclasses.replace(other, ours=False)
    both = [base] if one.mark == other.mark else [dataclasses.replace(one, ours=True), base]
    return next(row for row in standings(both, direction).rows if row.result.mark == one.mark)


def _line(one: Judged, against: Judged, row: Standing) -> tuple[object, ...]:
    settings, sweep = one.variant.settings(), one.variant.sweep
    runs = sweep.runs if sweep.kind == "sobol" else 5 * len(sweep.shapes) * sweep.seeds
    horizon = math.nan if settings.horizon is None else settings.horizon
    return (
        one.study, one.variant.preset, one.variant.name, int(one is against), settings.samples, settings.noise, horizon,
        runs, row.finals.count, row.finals.mean, row.finals.std, row.worst, row.paired.mean, row.paired.lower,
        row.paired.upper, row.welch.p, row.diverged, one.result.code,
    )  # fmt: skip


def _tests(lines: Sequence[tuple[tuple[Any, ...], Standing]]) -> Iterator[tuple[object, ...]]:
    for line, row in lines:
        for seed, test in zip(row.result.seeds, row.tests, strict=True):
            yield (*line[:3], seed, test)


def _curves(home: ArenaHome, found: Sequence[Judged]) -> Iterator[tuple[object, ...]]:
    there = {one.name for one in home.runs.list()} if home.runs.exists() else set()
    for one in found:
        names = [f"final/{one.result.mark}/{seed}" for seed in one.result.seeds]
        runs = home.runs.read([name for name in names if name in there]) if there & set(names) else RunSet([])
        if len(runs):
            horizon = one.variant.settings().horizon
            series = np.mean([_on_grid(run) for run in runs], axis=0)
            for at, values in zip(PLACES, series.T, strict=True):
                told = math.nan if horizon is None else horizon
                yield (one.variant.preset, one.variant.name, told, float(at), *map(float, values))


def _on_grid(run: Run) -> np.ndarray:
    """Loss, metric and rate of a run at even places."""
    parts = (run.loss, run.metric, run.lr)
    return np.array([np.interp(PLACES * run.total_steps, part.steps, part.values) for part in parts])


ITEM = Ablations()
