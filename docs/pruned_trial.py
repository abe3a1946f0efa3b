"""Draws a trial that other pruners stop and ours does not: `make pictures`, or `python docs/pruned_trial.py`.

Comes in: nothing. A sweep is made on the spot: a real network on scikit-learn's digits, `TRIALS` schedules. Goes out:
docs/pictures/pruned_trial.png, and a line for each pruner: in how many of `ORDERS` orders it stops the eventual winner.

The pruners are real: the recorded trials are told to Optuna studies one after another, in a random order, and a pruner
knows only what it let through. Drawn is the first order in which both others stop the winner and ours does not.
"""

import argparse
import dataclasses
import math
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import optuna
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter
from PIL import Image

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from examples import digits

from lodestar.integrations.optuna import LodestarPruner, report
from lodestar.pruning.background import GROWTH
from lodestar.runs import Facts, Run, Series
from lodestar.schedules import Schedule

OUT = Path(__file__).parent / "pictures" / "pruned_trial.png"
TRIALS, ORDERS, REPORTS, SEED = 40, 10, 20, 6
ORANGE, RED, GREY, INK = "#d9822b", "#c23b3b", "#d5d8e0", "#2a2d3a"


@dataclasses.dataclass
class Replay:
    """What one pruner did in one order: the step at which it stopped the winner; our forecast of it, then."""

    stopped: int | None
    forecasts: dict[int, tuple[float, float, float]]
    best: float | None


def record(trials: int) -> list[Run]:
    """The sweep: every trial trained to its end."""
    rng = np.random.default_rng(SEED)
    rates = np.stack([digits.random_schedule(rng) for _ in range(trials)])
    seeds = list(range(trials))
    loss, val, _ = digits.train(rates, seeds)
    names = [f"trial-{number}" for number in seeds]
    facts = [Facts(seed=number, peak_lr=float(rate.max())) for number, rate in zip(seeds, rates, strict=True)]
    return [smooth(run) for run in digits.as_runs(names, facts, rates, loss, val)]


def smooth(run: Run) -> Run:
    """Validated less often than trained: twenty reports a trial."""
    at = np.linspace(0, len(run.metric) - 1, REPORTS + 1).round().astype(int)[1:]
    return run.replace(metric=Series(run.metric.steps[at], run.metric.values[at]))


def replay(runs: Sequence[Run], order: Sequence[int], pruner: optuna.pruners.BasePruner, winner: Run) -> Replay:
    """Tell a study of the runs, in that order, and stop those that the pruner stops."""
    study = optuna.create_study(direction="maximize", pruner=pruner)
    if isinstance(pruner, LodestarPruner):
        pruner._background._next = math.inf  # the replay says when it learns
    found = Replay(None, {}, None)
    for run in (runs[place] for place in order):
        if isinstance(pruner, LodestarPruner):
            learn(pruner, study)
        if run is winner:
            done = [each.value for each in study.trials if each.state is optuna.trial.TrialState.COMPLETE]
            found.best = max((value for value in done if value is not None), default=None)
        stopped = follow(study, run, found if run is winner else None)
        if run is winner:
            found.stopped = stopped
    return found


def learn(pruner: LodestarPruner, study: optuna.Study) -> None:
    """As often as the thread would: when a tenth more trials have ended."""
    finished = sum(trial.state is optuna.trial.TrialState.COMPLETE for trial in study.trials)
    if finished > GROWTH * pruner.pruner.learned.finished:
        pruner.learn(study)


def follow(study: optuna.Study, run: Run, found: Replay | None) -> int | None:
    """One trial, report after report; the step at which it was stopped."""
    trial = study.ask()
    trial.set_user_attr("schedule", rates_of(run))
    for step, value in zip(run.metric.steps.tolist(), run.metric.values.tolist(), strict=True):
        report(trial, step, loss=float(run.loss.until(step).values[-5:].mean()), metric=value)
        if found is not None and isinstance(study.pruner, LodestarPruner):
            remember(found, study.pruner, run, step)
        if trial.should_prune():
            study.tell(trial, state=optuna.trial.TrialState.PRUNED)
            return step
    study.tell(trial, run.final_metric)
    return None


def remember(found: Replay, pruner: LodestarPruner, run: Run, step: int) -> None:
    """What our pruner forecasts of the run at a step."""
    seen = run.replace(loss=run.loss.until(step), metric=run.metric.until(step), total_steps=digits.STEPS)
    verdict = pruner.pruner.judge(seen, Schedule("planned", rates_of(run)))
    if verdict.forecast is not None:
        final = verdict.forecast
        found.forecasts[step] = (final.centre, final.lower, final.upper)


def rates_of(run: Run) -> list[float]:
    """A rate for each step, from those logged."""
    return np.interp(np.arange(1, digits.STEPS + 1), run.lr.steps, run.lr.values).tolist()


def pruners() -> dict[str, optuna.pruners.BasePruner]:
    """Fresh ones, with their defaults; ours with no limit on its share of an instant's work."""
    told: dict[str, Any] = {"total_steps": digits.STEPS, "overhead": 1.0}
    return {
        "the median pruner": optuna.pruners.MedianPruner(),
        "successive halving": optuna.pruners.SuccessiveHalvingPruner(),
        "Lodestar": LodestarPruner(**told),
    }


def draw(runs: Sequence[Run], winner: Run, found: Mapping[str, Replay]) -> Figure:
    """The winner among the others, where each pruner stops it, and what ours forecast there."""
    figure = Figure(figsize=(9, 4.6), layout="constrained")
    axes = figure.subplots()
    for run in runs:
        axes.plot(run.metric.steps, run.metric.values, color=GREY, linewidth=0.6, zorder=0)
    axes.plot([], [], color=GREY, label=f"the other {len(runs) - 1} trials")
    axes.plot(winner.metric.steps, winner.metric.values, color=INK, linewidth=2, label="the trial that ends best")
    ours = found["Lodestar"].forecasts
    stops = [(name, replayed.stopped) for name, replayed in found.items() if replayed.stopped is not None]
    for place, ((name, step), colour) in enumerate(zip(stops, (RED, ORANGE), strict=False)):
        value, beside = winner.metric.until(step).values[-1], digits.STEPS + 5 + 8 * place
        axes.plot(step, value, "X", color=colour, markersize=12, zorder=5, label=f"stopped by {name} at step {step}")
        if step in ours:
            centre, lower, upper = ours[step]
            axes.vlines(beside, lower, upper, color=colour, linewidth=4, alpha=0.45)
            axes.plot(
                beside, centre, "o", color=colour, markersize=7, label=f"our forecast at step {step}, 90 % interval"
            )
    best = found["Lodestar"].best
    if best is not None:
        axes.axhline(best, color=INK, linewidth=0.8, linestyle=":", label="best of the trials before it")
    axes.set(xlabel="step", ylabel="validation accuracy", xlim=(0, digits.STEPS + 22), ylim=(0.65, 1.0))
    axes.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(loc="lower right", frameon=False, fontsize=9)
    return figure


def main() -> None:
    """Make the sweep, replay it, draw."""
    parser = argparse.ArgumentParser(description="Draw a trial that other pruners stop and ours does not.")
    parser.add_argument("--orders", type=int, default=ORDERS)
    parser.add_argument("--trials", type=int, default=TRIALS)
    given = parser.parse_args()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    runs = record(given.trials)
    winner = max(runs, key=lambda run: run.final_metric)
    stops, drawn = dict.fromkeys(pruners(), 0), None
    for seed in range(given.orders):
        print(f"order {seed + 1} of {given.orders}", file=sys.stderr)
        order = np.random.default_rng(seed).permutation(len(runs)).tolist()
        found = {name: replay(runs, order, pruner, winner) for name, pruner in pruners().items()}
        for name, replayed in found.items():
            stops[name] += replayed.stopped is not None
        others = [replayed.stopped is not None for name, replayed in found.items() if name != "Lodestar"]
        if drawn is None and all(others) and found["Lodestar"].stopped is None and found["Lodestar"].forecasts:
            drawn = found
    for name, count in stops.items():
        print(f"{name}: stops the winner in {count} of {given.orders} orders")
    if drawn is None:
        raise SystemExit("in no order is the winner stopped by both others and not by ours")
    canvas = FigureCanvasAgg(draw(runs, winner, drawn))
    canvas.draw()
    picture = Image.fromarray(np.asarray(canvas.buffer_rgba())).convert("RGB")
    picture.quantize(64).save(OUT, optimize=True)


if __name__ == "__main__":
    main()
