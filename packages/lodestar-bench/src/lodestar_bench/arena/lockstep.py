"""Runs many controllers side by side, from their seeds to their test figures: what `train` does for one, for a crowd.

Comes in: a problem, an optimizer, a controller for each seed. Goes out: a `TrainingOutcome` for each, the same that
`lodestar_bench.train.train` gives for that seed. Tuning, fitting and tables are not known here.
"""

import math
import time
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from lodestar.runs import Facts, Run, Scalar, Series, Status
from lodestar_bench.arena.crowd import Crowd
from lodestar_bench.method import AbstractController, AbstractLook, Optimizer
from lodestar_bench.problem import AbstractProblem, Figures
from lodestar_bench.train import NOTHING, TrainingOutcome
from lodestar_bench.training import Seconds, logged_rates, points

Tell = Callable[[int, int], None]
"""Told of progress: updates made, updates in all."""


class CrowdLook(AbstractLook):
    """One run of a crowd as it stands. Weights are fetched when they are asked for."""

    def __init__(self, crowd: Crowd, run: int):
        self._crowd, self._run = crowd, run

    def __getattr__(self, name: str):
        if name not in ("params", "state"):
            raise AttributeError(name)
        self.params, self.state = self._crowd.judged(self._run)
        return getattr(self, name)

    def validation(self) -> Figures:
        """Loss and metric on the validation split."""
        return self._crowd.problem.evaluate(self.params, self.state, "validation")

    def outputs(self) -> NDArray:
        """Probabilities on a fixed part of the validation split."""
        return self._crowd.problem.outputs(self.params, self.state)


def play(
    problem: AbstractProblem,
    optimizer: Optimizer,
    controllers: Sequence[AbstractController],
    seeds: Sequence[int],
    names: Sequence[str],
    *,
    facts: Sequence[dict[str, Scalar]] | None = None,
    tell: Tell = lambda done, of: None,
    lanes: int | None = None,
    side_by_side: bool | None = None,
) -> list[TrainingOutcome]:
    """Make the runs. `facts` are kept with them; runs that diverge are outcomes like any other."""
    if not len(controllers) == len(seeds) == len(names) >= 1:
        raise ValueError(
            f"need as many controllers, seeds and names, got {len(controllers)}, {len(seeds)}, {len(names)}"
        )
    began = time.perf_counter()
    first_rates = [float(controller.rates(1, 1)[0]) for controller in controllers]
    crowd = Crowd(problem, optimizer, seeds, first_rates, lanes=lanes, side_by_side=side_by_side)
    try:
        while crowd.step < problem.total_steps and not crowd.lost.all():
            _go_on(crowd, controllers)
            tell(crowd.step, problem.total_steps)
        return _outcomes(crowd, controllers, names, facts, began)
    finally:
        crowd.close()


def _go_on(crowd: Crowd, controllers: Sequence[AbstractController]) -> None:
    """Up to the next place where anyone looks, and the look."""
    problem, step = crowd.problem, crowd.step
    due = min((step // problem.evaluate_every + 1) * problem.evaluate_every, problem.total_steps)
    wishes = [(step // c.every + 1) * c.every for c in controllers if c.every is not None]
    count = min([due, *wishes]) - step
    rates = np.stack([_rates(crowd, run, one, count) for run, one in enumerate(controllers)])
    losses = crowd.advance(rates)
    metrics = crowd.measure() if crowd.step == due else [None] * len(controllers)
    for run, controller in enumerate(controllers):
        made = int(crowd.made[run]) - step
        if made > 0:
            controller.observe(step + 1, losses[run, :made], metrics[run], CrowdLook(crowd, run))


def _rates(crowd: Crowd, run: int, controller: AbstractController, count: int) -> NDArray[np.float64]:
    """What the controller says; a run that is lost is asked nothing more."""
    if crowd.lost[run]:
        return np.zeros(count)
    rates = np.asarray(controller.rates(crowd.step + 1, count), float)
    if rates.shape != (count,) or not np.all(np.isfinite(rates) & (rates >= 0)):
        raise ValueError(f"rates({crowd.step + 1}, {count}) must give as many finite numbers >= 0, got {rates}")
    return rates


def _outcomes(crowd: Crowd, controllers, names, facts, began: float) -> list[TrainingOutcome]:
    at_best = crowd.figures("test", [None if best is None else (best.params, best.state) for best in crowd.best])
    ends = [
        None if crowd.lost[run] or (best is not None and best.step == crowd.step) else crowd.judged(run)
        for run, best in enumerate(crowd.best)
    ]
    at_end = crowd.figures("test", ends)
    share = Seconds(train=(time.perf_counter() - began) / len(names))
    found = []
    for run, name in enumerate(names):
        test = at_best[run][1] or NOTHING
        last = NOTHING if crowd.lost[run] else at_end[run][1] or test
        best = crowd.best[run]
        kept = {**(facts[run] if facts else {}), **controllers[run].facts()}
        made = _run(crowd, run, name, kept, test, last, share)
        figures = best.figures if best else NOTHING
        found.append(TrainingOutcome(made, best.step if best else 0, figures, test, last, share))
    return found


def _run(
    crowd: Crowd, run: int, name: str, kept: dict[str, Scalar], test: Figures, last: Figures, share: Seconds
) -> Run:
    problem, best, made = crowd.problem, crowd.best[run], int(crowd.made[run])
    loss, metric, lr = _series(crowd, run, made)
    schedule = str(kept.pop("schedule", "steered"))
    extra: dict[str, Scalar] = {
        "scale": problem.scale, **kept, "test_metric": test.metric, "test_loss": test.loss,
        "test_metric_at_end": last.metric, "best_metric": best.figures.metric if best else math.nan,
        "best_step": best.step if best else 0, "seconds": share.total,
    }  # fmt: skip
    if len(metric):
        extra["first_metric"] = float(metric.values[0])
    finite = {key: item for key, item in extra.items() if not isinstance(item, float) or math.isfinite(item)}
    return Run(
        name=name,
        loss=loss,
        metric=metric,
        lr=lr,
        direction=problem.direction,
        status=Status.DIVERGED if crowd.lost[run] else Status.FINISHED,
        total_steps=problem.total_steps,
        metric_name=problem.metric_name,
        facts=Facts(task=problem.task, schedule=schedule, seed=crowd.seeds[run], source="lodestar arena", extra=finite),
    )


def _series(crowd: Crowd, run: int, made: int) -> tuple[Series, Series, Series]:
    """Loss (mean since the point before), metric, rate: as `Training.series` gives them."""
    ends = points(crowd.problem.total_steps)
    ends = np.unique(np.minimum(ends[ends < made + ends[0]], made))
    starts = np.concatenate([[0], ends[:-1]])
    means = [crowd.losses[run, a:b].mean() for a, b in zip(starts, ends, strict=True)]
    known = np.unique(np.concatenate([[1], ends]))
    steps, metrics = zip(*crowd.metrics[run], strict=True) if crowd.metrics[run] else ((), ())
    return Series(ends, means), Series(steps, metrics), logged_rates(known, crowd.rates[run, known - 1])
