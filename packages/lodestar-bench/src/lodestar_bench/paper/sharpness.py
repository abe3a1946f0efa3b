"""Item 4: sharpness at the end of training for every method, and along one run of ours and of the best plain schedule.

Comes in: a bench's final runs, of which the first seeds are made again (the bench keeps no weights). Goes out: the
largest Hessian eigenvalue at the end of each, by power iteration and by Lanczos; and along training the loss, the rate,
the sharpness, rate x sharpness / 2, the test metric. AdamW divides each step by sqrt(v), so the sharpness that bounds
its rate is that of the preconditioned Hessian: given as well, with its own line. Resumes: each run's figures are a file
in the scratch folder. The home is only read: what a method learned is copied before a run is made with it.
"""

import json
import math
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lodestar.runs import Scalar
from lodestar.schedules import SHAPES
from lodestar.sweep import Done, Failed, Job, Trial
from lodestar_bench._errors import BenchError
from lodestar_bench.curvature import stability
from lodestar_bench.entrant import Piece
from lodestar_bench.paper import draw_sharpness
from lodestar_bench.paper.context import OURS, ItemContext
from lodestar_bench.paper.item import AbstractItem, Findings, Made, Picture
from lodestar_bench.paper.sheet import Sheet
from lodestar_bench.paper.tell_sharpness import words

if TYPE_CHECKING:
    from lodestar.report.html import Block
    from lodestar_bench.problem import TrainingRecipe

FUNCTION = "lodestar_bench.paper.probe_sharpness:train"
SEEDS, EXAMPLES, PLACES = 3, 256, 30  # 256 examples as in the paper
END = (
    "sharpness", "residual", "converged", "products", "lanczos_sharpness", "lanczos_converged", "lowest",
    "preconditioned_sharpness", "preconditioned_converged", "loss", "lr", "parameters",
)  # fmt: skip
ALONG = ("step", "loss", "lr", "sharpness", "converged", "preconditioned_sharpness", "preconditioned_converged", "test")


class SharpnessItem(AbstractItem):
    """How flat the minima are, and how near the edge of stability a run goes."""

    name = "sharpness"
    title = "4. Sharpness at the end of training and along it"
    needs = f"final runs; {SEEDS} seeds of each method are trained again"

    def make(self, context: ItemContext) -> Findings:
        """Train again, measure, tabulate."""
        pieces = _pieces(context)
        if not pieces:
            raise context.missing("there is no final run")
        shown, failed = _shown(context), _carry_out(context, pieces, _shown(context))
        told = [(piece, json.loads(_file(context, piece).read_text())) for piece in pieces if piece.name not in failed]
        if not told:
            raise BenchError(f"no run could be made again: {next(iter(failed.values()))}")
        along = [line for piece, found in told if piece.name in shown for line in _along(context, piece, found)]
        heads = ("method", "group", "seed", "part", "stability", "preconditioned_stability", *ALONG)
        return Findings(
            (
                Sheet.of(
                    "end", ("method", "title", "group", "seed", "status", "test", *END), (_end(*one) for one in told)
                ),
                Sheet.of("along", heads, along),
                Sheet.of("lines", ("quantity", "optimiser", "line"), _lines(context.problem.recipe)),
            ),
            seeds=tuple(sorted({piece.seed for piece, _ in told})),
            notes=(_again(context, told), *(f"{name} could not be made again: {why}" for name, why in failed.items())),
        )

    def draw(self, made: Sequence[Made]) -> list[Picture]:
        """The end, a panel a task; five panels along training, a figure a task."""
        return draw_sharpness.pictures(made)

    def words(self, made: Sequence[Made]) -> str:
        """Flatter, as the paper says, or not."""
        return words(made)

    def charts(self, made: Sequence[Made]) -> "list[Block]":
        """The same to hover over."""
        return draw_sharpness.charts(made)


def _pieces(context: ItemContext) -> list[Piece]:
    """The first final runs of every method that has any; published ones only if they need nothing that was learned."""
    found = (context.plan.finals(row.entrant, context.results) for row in context.table.rows if row.finals.count)
    first = [piece for pieces in found for piece in (pieces or [])[: context.seeds or SEEDS]]
    return [one for one in first if one.learned is None or context.home.knowledge(one.learned).is_file()]


def _shown(context: ItemContext) -> set[str]:
    """The runs to be followed all along: the first seed of ours and of the best plain schedule."""
    there = [row.entrant.name for row in context.table.rows if row.finals.count]
    plain = [name for name in there if name in SHAPES][:1]
    wanted = {*plain, *(name for name in there if name in OURS)}
    first: dict[str, str] = {}
    for piece in _pieces(context):
        if piece.entrant.name in wanted:
            first.setdefault(piece.entrant.name, piece.name)
    return set(first.values())


def _carry_out(context: ItemContext, pieces: Sequence[Piece], shown: set[str]) -> dict[str, str]:
    """Make every run again whose figures are not there; the runs that failed, and why."""
    due = [piece for piece in pieces if not _file(context, piece).is_file()]
    done, failed = len(pieces) - len(due), {}
    job = Job(
        function=FUNCTION,
        metric_name=context.facts.metric_name,
        direction=str(context.facts.direction),
        task=context.facts.task,
        cut_diverged=False,
    )
    context.tell(done, len(pieces), "runs made again")
    with context.place() as place:
        for event in place.run(job, [_trial(context, piece, piece.name in shown) for piece in due]):
            if isinstance(event, Failed):
                failed[event.trial.name] = event.reason
            if isinstance(event, Done | Failed):
                done += 1
                context.tell(done, len(pieces), f"runs made again: {event.trial.name}")
    return failed


def _trial(context: ItemContext, piece: Piece, shown: bool) -> Trial:
    file = _file(context, piece)
    file.parent.mkdir(parents=True, exist_ok=True)
    settings: dict[str, Scalar] = {
        "task": context.spec,
        "scale": context.facts.scale,
        "method": piece.entrant.spec,
        "examples": EXAMPLES,
        "gauge_seed": context.seed,
        "places": PLACES if shown else 1,
        "file": str(file.resolve()),
    }
    if math.isfinite(piece.value):
        settings["value"] = piece.value
    if piece.learned is not None:
        copy = file.with_suffix("") / "knowledge"
        copy_learned(context.home.knowledge(piece.learned), copy)
        settings["knowledge"] = str(copy.resolve())
    return Trial(piece.name, piece.seed, context.problem.total_steps, settings=settings)


def copy_learned(kept: Path, copy: Path) -> None:
    """The file that a method left when it learned, and what it left beside it under that name (`knowledge.plan`)."""
    copy.parent.mkdir(parents=True, exist_ok=True)
    for part in kept.parent.glob(f"{kept.name}*"):
        if part.is_file():
            shutil.copyfile(part, copy.with_name(part.name.replace(kept.name, copy.name, 1)))


def _file(context: ItemContext, piece: Piece) -> Path:
    return context.scratch / "measured" / f"{piece.entrant.name}-{piece.seed}.json"


def _end(piece: Piece, found: dict[str, Any]) -> tuple[object, ...]:
    """The last place of a run, if it got there."""
    last = found["points"][-1] if found["points"] and found["status"] == "finished" else {}
    who = (piece.entrant.name, piece.entrant.title, piece.entrant.group, piece.seed, found["status"], found["test"])
    return (*who, *(_number(last.get(name)) for name in END))


def _along(context: ItemContext, piece: Piece, found: dict[str, Any]) -> Iterator[tuple[object, ...]]:
    for point in found["points"]:
        lr = _number(point.get("lr"))
        edges = [lr * _number(point.get(name)) / 2 for name in ("sharpness", "preconditioned_sharpness")]
        who = (piece.entrant.name, piece.entrant.group, piece.seed, point["step"] / context.problem.total_steps)
        yield (*who, *edges, *(_number(point.get(name)) for name in ALONG))


def _number(value: Any) -> float:
    return math.nan if value is None else float(value)


def _lines(recipe: "TrainingRecipe") -> list[tuple[str, str, float]]:
    """What rate x sharpness / 2 is held against: the paper's line, and that of the optimizer at hand."""
    found = [("plain", "gradient descent", stability.gradient_descent())]
    if recipe.optimizer == "sgd":
        return [*found, ("plain", f"Nesterov momentum {recipe.momentum:g}", stability.nesterov(recipe.momentum))]
    return [*found, ("preconditioned", f"{recipe.optimizer}, b1 {recipe.b1:g}", stability.adam(recipe.b1))]


def _again(context: ItemContext, told: Sequence[tuple[Piece, dict[str, Any]]]) -> str:
    """Whether the runs made again are the ones the bench had."""
    known = [(found["test"], context.results.records.get(piece.name)) for piece, found in told]
    same = sum(record is not None and _same(record.test, test) for test, record in known)
    return f"{same} of {len(told)} runs made again ended with the very test metric that the bench had kept"


def _same(kept: float, now: float | None) -> bool:
    return (math.isnan(kept) and now is None) or kept == now


ITEM = SharpnessItem()
