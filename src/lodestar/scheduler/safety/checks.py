"""Checks of a run under way: slips that would ruin it in silence, each found early and said once.

Comes in: the state of a run and what the forecaster knows, or an adapter's own counts. Goes out: findings, a kind and
a sentence each; the caller says each kind once, loudly. Called at the end of a window, not of a step. Pure.
"""

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from lodestar.forecaster import Forecaster
from lodestar.forecaster.preprocessing.normaliser import LOSS, METRIC
from lodestar.scheduler.safety.gate import Gate
from lodestar.scheduler.safety.job import Finding
from lodestar.scheduler.state import State

FIRST, SECOND = 0.02, 0.05  # of the run: when adapters count; a loss and a metric are due after the second
_EARLY = Gate(margin=1.0, stretch=0.05, until=0.12)
_SUMMED = 5.0  # times above any past run's loss at this point
_OFTEN = 4.0  # times as many validations as a typical past run, in as much of the run
_FEW, _MANY = 0.5, 1.25  # calls of step() for an update that are no accident


def look(state: State, forecaster: Forecaster) -> Iterator[Finding]:
    """Everything that can be seen in what was observed so far."""
    yield from _nothing_observed(state, forecaster)
    yield from _pace(state, forecaster)
    causes = [*_other_unit(state, forecaster), *_summed(state, forecaster)]
    yield from causes or _unlike(state, forecaster)


def _nothing_observed(state: State, forecaster: Forecaster) -> Iterator[Finding]:
    seen, history = slice(0, state.settled), state.history
    share = state.settled / state.clock.points
    if share < SECOND:
        return
    if not (history.losses.any() or history.blown.any()):
        yield (
            "no loss",
            f"no loss was observed in the first {share:.0%} of the run: nothing can be decided without one, and the "
            "initial plan is followed. Fix: observe(step, loss=...), some values in every 1 % of the run",
        )
    due = _metric_due(forecaster)
    if share >= 2 * due and not (history.metric_step[seen] >= 0).any():
        yield (
            "no metric",
            f"no metric was observed in the first {share:.0%} of the run; the past runs had theirs after {due:.1%}. "
            "Fix: observe(step, metric=...) after each validation; validate more often if this was too early",
        )


def _metric_due(forecaster: Forecaster) -> float:
    """The share of the run after which a typical past run had its first metric."""
    seen = forecaster.references.mask[..., METRIC]
    first = np.where(seen.any(axis=1), seen.argmax(axis=1) + 1, seen.shape[1])
    return float(np.median(first)) / seen.shape[1]


def _pace(state: State, forecaster: Forecaster) -> Iterator[Finding]:
    """Validations far more often than in the past runs: is the run really that long? Asked once, after 5 %."""
    share, total = state.settled / state.clock.points, state.clock.total_steps
    if not SECOND <= share <= 2 * SECOND:
        return
    usual = float(np.median(forecaster.references.mask[..., METRIC].mean(axis=1)))  # of the points that have a metric
    times = len(_seen(state, METRIC)[0]) / state.settled / max(usual, 1e-9)
    if times >= _OFTEN and usual > 0:
        yield (
            "updates pace",
            f"the metric comes {times:.2g} times as often as in the past runs, or more. If you validate as they did, "
            f"the run ends after some {total / times:,.0f} of total_steps={total:,} updates, long before the rate has "
            "fallen. Fix: count the optimizer updates this job makes in total_steps, if it is not so long",
        )


def _other_unit(state: State, forecaster: Forecaster) -> Iterator[Finding]:
    """Per cent where the forecaster knows shares, or the other way round."""
    values, where = _seen(state, METRIC)
    unit, far = forecaster.job.metric_unit, 1.05
    if len(values) and unit == "share" and np.median(values) > far:
        yield (
            "metric unit",
            f"the metric is {values[-1]:.4g}, but the forecaster was fitted to shares in 0 to 1: per cent? "
            f"Fix: observe(metric=value / 100)",
        )
    elif len(values) and unit == "percent" and values.max() <= 1.0:
        low = forecaster.recipe.normaliser.metric.inverse(forecaster.ranges.low[where, METRIC])
        if (low > far).all():
            yield (
                "metric unit",
                f"the metric is {values[-1]:.4g}, but the forecaster was fitted to per cent, {float(low.min()):.3g} or "
                "more at this point: a share? Fix: observe(metric=100 * value)",
            )


def _summed(state: State, forecaster: Forecaster) -> Iterator[Finding]:
    values, where = _seen(state, LOSS)
    if not len(values) or forecaster.job.loss[0] < 0:
        return
    high = forecaster.recipe.normaliser.loss.inverse(forecaster.ranges.high[where, LOSS])
    times = float(np.median(values / np.maximum(high, 1e-30)))
    if times > _SUMMED:
        yield (
            "loss summed",
            f"the loss is {times:.3g} times the highest that any past run had at this point: is it summed over the "
            "batch, or over accumulated batches? Fix: observe the mean",
        )


def _unlike(state: State, forecaster: Forecaster) -> Iterator[Finding]:
    """After 5 and 10 %: the ranges of the past runs, and whether any candidate comes near."""
    if state.settled > _EARLY.until * state.clock.points:
        return
    points = state.history.on_grid(forecaster.recipe, state.settled)
    values, mask = forecaster.recipe.normalised(points)[: state.settled], points.mask[: state.settled]
    fix = "Fix: a forecaster fitted to runs of such a job, if they are not alike"
    if (reason := _EARLY.range_reason(values, mask, forecaster.ranges, forecaster.direction)) is not None:
        yield "out of range", f"{reason}. {fix}"
    found = [decision.accepted for decision in state.entries.decisions if decision.samples]
    if len(found) == 2 and not any(found):
        yield "none accepted", f"neither of the first two decisions found a candidate near this run's loss. {fix}"


def _seen(state: State, channel: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """What was observed of a channel in the points that have ended, and in which."""
    history = state.history
    has, values = (history.losses > 0, history.loss) if channel == LOSS else (history.metric_step >= 0, history.metric)
    where = np.flatnonzero(has[: state.settled])
    return values[where], where


def behind(asked: int, observed: int, total: int) -> Finding | None:
    """Observations run ahead of the rates that were asked for."""
    if observed - asked <= max(SECOND * total, 10):
        return None
    return (
        "rate not asked",
        f"step {observed} was observed, but the rate was last asked for at step {asked}: the job does not follow the "
        "plan. Fix: ask lr_at(step) before every update, and use its answer",
    )


def counted(updates: int, calls: int, total: int) -> Finding | None:
    """An adapter's counts of updates made and of calls of its `step()`, after 2 and 5 % of the planned updates."""
    if calls <= _FEW * updates:
        times = "has not been called" if calls == 0 else f"was called only {calls} times"
        return (
            "step not called",
            f"the optimizer made {updates} updates, but the scheduler's step() {times}: the rate does not follow the "
            "plan. Fix: scheduler.step() after every optimizer.step(), not after every epoch",
        )
    if calls >= _MANY * updates:
        ratio = calls / updates
        return (
            "updates fewer",
            f"step() was called {calls} times for {updates} updates, {ratio:.2g} times for each: at this pace the run "
            f"makes {math.ceil(total / ratio):,} updates if total_steps={total:,} counts batches. Gradients are "
            "accumulated, or a GradScaler skips updates. Fix: count optimizer updates in total_steps",
        )
    return None


def overruled(rate: float, planned: float, step: int, applied: bool) -> Finding:
    """The optimizer's rate is not the one that was set; `applied`: and update `step` is made at it."""
    where = f"the rate applied at update {step} is" if applied else f"before update {step} the rate was set to"
    return (
        "rate overruled",
        f"{where} {rate:.4g}, the rate planned {planned:.4g}: something else sets it as well, another scheduler on the "
        "same optimizer? Fix: take the other one out, or detach() this one",
    )
