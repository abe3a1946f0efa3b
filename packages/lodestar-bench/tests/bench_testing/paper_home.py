"""A bench's home without any training: made-up curves for every run of the plan, a random forecaster as learned."""

import dataclasses
from pathlib import Path

from bench_testing.curves import toy_run
from bench_testing.played import GRID, LEARNER, OURS, SHAPES, good
from lodestar.runs import Direction, Run
from lodestar.testing import random_forecaster
from lodestar_bench.entrant import Entrant, Piece
from lodestar_bench.home import BenchFacts, Home
from lodestar_bench.plan import TablePlan

OTHERS = tuple(Entrant(name, name, name, "paper", "nothing", GRID) for name in ("hypergradient", "schedule-free"))
PLAN = TablePlan((*SHAPES, *OTHERS, LEARNER, OURS), SHAPES, tune_values=2, tune_seeds=2, seeds=6)
TASK, SCALE = "digits-mlp", "smoke"


def curve(piece: Piece) -> Run:
    """The run of a piece: the shape's curve, or OneCycle's for whoever has none, and the figures that `good` gives."""
    name = piece.entrant.name
    shape = name if name in {entrant.name for entrant in SHAPES} else "onecycle"
    peak = piece.value if piece.value == piece.value else 3e-3
    run = toy_run(piece.name, shape, peak, piece.seed, total=200, every=2, metric_every=4)
    figure = good(piece)
    extra = {
        "best_metric": figure, "test_metric": figure - 0.01, "test_metric_at_end": figure - 0.02, "first_metric": 0.1,
        "epochs": 4.0, "seconds": 6.0, "seconds_train": 4.0, "seconds_controller": 0.5 + 0.01 * (piece.seed % 3),
        "training_runs": piece.allowed_runs,
    }  # fmt: skip
    return run.replace(facts=dataclasses.replace(run.facts, schedule=name, extra=extra))


def played_home(out: Path, *, seeds: int = 6) -> Home:
    """Everything that the plan asks for, kept as a bench keeps it."""
    home = Home(out / f"{TASK}-{SCALE}")
    plan = dataclasses.replace(PLAN, seeds=seeds)
    facts = home.remember(BenchFacts(TASK, "a made-up task", SCALE, "accuracy", Direction.MAX, {}, plan))
    while due := facts.plan.due(home.results(facts)):
        home.runs.add_many([curve(piece) for piece in due if piece.stage != "learn"])
        for piece in due:
            if piece.stage == "learn":
                home.learnings.add(curve(piece))
                path = home.knowledge(piece.name)
                path.parent.mkdir(parents=True)
                forecaster = random_forecaster(seed=0, points=40, members=2)
                held = {"names": list(piece.sources), "held_out": [piece.sources[::5], piece.sources[2::5]]}
                dataclasses.replace(forecaster, facts={**forecaster.facts, **held}).save(path)
    return home
