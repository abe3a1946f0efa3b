"""Methods as a user would bring them: one that works, one that raises, one that diverges, two that learn."""

import json
import math

import numpy as np

from lodestar.schedules import constant
from lodestar_bench.method import AbstractController, AbstractMethod
from lodestar_bench.methods import method
from lodestar_bench.methods.schedule import Scheduled


class Plain(AbstractMethod):
    """What they share: two values to tune over, the recipe's optimizer, the value as a constant rate."""

    title = "my own"
    group = "modern"

    def grid(self, problem) -> tuple[float, ...]:
        return (0.01, 0.03)

    def optimizer(self, problem, value):
        return method("constant").optimizer(problem, value)

    def controller(self, problem, value, *, seed, knowledge) -> AbstractController:
        return Scheduled(constant(value, problem.total_steps))


class Mine(Plain):
    name = "mine"


class Raises(Plain):
    name = "raises"

    def controller(self, problem, value, *, seed, knowledge):
        raise RuntimeError("no such layer")


class Diverges(Plain):
    """Goes up in smoke at its second value, and at the first with one seed in two."""

    name = "diverges"

    def controller(self, problem, value, *, seed, knowledge):
        return Scheduled(constant(1e30 if value > 0.02 or seed % 2 else value, problem.total_steps))


class Follows(AbstractController):
    """The rate that was learned."""

    def __init__(self, rate: float):
        self.rate = rate

    def rates(self, first, count):
        return np.full(count, self.rate)

    def facts(self):
        return {"learned_rate": self.rate}


class FromRuns(Plain):
    """Takes the peak rate of the best run it was shown."""

    name = "from-runs"
    learns = "from runs"

    def grid(self, problem):
        return ()

    def controller(self, problem, value, *, seed, knowledge):
        assert math.isnan(value)
        return Follows(json.loads(knowledge.read_text())["rate"])

    def learn(self, problem, path, *, seed, runs, allowed_runs):
        assert runs is not None
        path.write_text(json.dumps({"rate": runs.best().peak_lr}))
        return {"seconds": 0.0, "training_runs": 0, "runs_learned_from": len(runs)}


class FromAveragedRuns(FromRuns):
    """The same, from runs with averaged weights."""

    name = "from-averaged-runs"
    sweep_form = "averaged"


class ByTraining(FromRuns):
    """Claims to have trained."""

    name = "by-training"
    learns = "by training"

    def learn(self, problem, path, *, seed, runs, allowed_runs):
        assert runs is None
        path.write_text(json.dumps({"rate": 0.02}))
        return {"seconds": 0.0, "training_runs": allowed_runs}
