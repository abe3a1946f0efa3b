"""The x axis of a run: which optimizer step each logged value belongs to.

Comes in: what was fetched, on the tracker's own clock. Goes out: the same curves on steps, with a note for every choice
made. A quantity named as the step is joined by the clock; values without a partner are left out and counted. A clock
that stands still (everything logged at step 0) is replaced by epochs if they were logged, else by counting.
"""

import dataclasses
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from lodestar._errors import RunError
from lodestar.importers import words
from lodestar.importers.plan import Plan
from lodestar.importers.tracker import Listed, Logged

_EPOCHS = ("epoch", "epochs", "train_epoch")
Curve = tuple[NDArray[np.float64], NDArray[np.float64]]


@dataclasses.dataclass
class Placed:
    """Curves by role on steps; `step` names what the steps are."""

    curves: dict[str, Curve]
    step: str
    without_step: int = 0
    notes: list[str] = dataclasses.field(default_factory=list)


def stands_still(plan: Plan, logged: Mapping[str, Logged]) -> bool:
    """Whether the tracker's clock says nothing: many values, all at one step."""
    curves = [logged[name] for name in plan.quantities.values() if name in logged]
    steps = np.concatenate([curve.steps for curve in curves]) if curves else np.zeros(0)
    return plan.step is None and len(steps) > len(curves) and len(np.unique(steps)) == 1


def epochs_of(run: Listed) -> str | None:
    """The quantity in which the run logged its epochs."""
    return next((name for name in run.quantities if words.plain(name) in _EPOCHS), None)


def place(plan: Plan, logged: Mapping[str, Logged], clock: str) -> Placed:
    """Put each curve of the plan on steps."""
    found = {role: logged[name] for role, name in plan.quantities.items() if name in logged}
    if plan.step is not None:
        return _joined(plan, found, logged.get(plan.step))
    if stands_still(plan, logged):
        return _counted(plan, found, logged)
    return Placed({role: (curve.steps, curve.values) for role, curve in found.items()}, clock)


def _joined(plan: Plan, found: Mapping[str, Logged], axis: Logged | None) -> Placed:
    """Each value at the step that was logged at the same tick of the clock; of several, the last."""
    if axis is None or plan.step is None:
        raise RunError(
            f"run {plan.run.name!r} never logged {plan.step!r}, which is to be its step. "
            "Fix: leave --step out to take the tracker's own"
        )
    ticks, steps = _last_of_each(axis.steps, axis.values)
    placed = Placed({}, plan.step)
    for role, curve in found.items():
        at = np.clip(np.searchsorted(ticks, curve.steps), 0, len(ticks) - 1)
        known = (ticks[at] == curve.steps) & np.isfinite(steps[at])
        placed.without_step += int((~known).sum())
        placed.curves[role] = (steps[at][known], curve.values[known])
    placed.notes.append(f"steps are {plan.step!r}, joined by the tracker's clock")
    return placed


def _counted(plan: Plan, found: Mapping[str, Logged], logged: Mapping[str, Logged]) -> Placed:
    """Values in the order of logging, where the clock stands still. Curves of different lengths cannot be aligned."""
    lengths = {role: len(curve.values) for role, curve in found.items()}
    epoch = epochs_of(plan.run)
    epochs = logged[epoch].values if epoch is not None and epoch in logged else None
    usable = epochs is not None and np.all(np.diff(epochs) > 0) and set(lengths.values()) == {len(epochs)}
    if len(set(lengths.values())) > 1:
        told = ", ".join(f"{count} of {role}" for role, count in lengths.items())
        raise RunError(
            f"run {plan.run.name!r} was logged without steps (all stand at one): there are {told}, and nothing tells "
            "which belong together. Fix: log with the step, or name a quantity that holds it (--step QUANTITY)"
        )
    steps = epochs if usable and epochs is not None else np.arange(1.0, next(iter(lengths.values())) + 1)
    placed = Placed(
        {role: (steps, curve.values) for role, curve in found.items()}, epoch if usable and epoch else "step"
    )
    how = f"steps are {epoch!r}" if usable else "values were counted from 1"
    placed.notes.append(f"logged without steps (all stand at one): {how}")
    return placed


def _last_of_each(ticks: NDArray[np.float64], values: NDArray[np.float64]) -> Curve:
    order = np.argsort(ticks, kind="stable")
    ticks, values = ticks[order], values[order]
    last = np.append(ticks[1:] != ticks[:-1], True)
    return ticks[last], values[last]
