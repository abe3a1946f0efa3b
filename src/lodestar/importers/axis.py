"""The x axis of a run: which optimizer step each logged value belongs to, with a note for every choice made.

A quantity named as the step is joined by the source's clock; values without a partner are left out and counted. A clock
that stands still (everything logged at step 0) is replaced by epochs if they were logged, else by counting.
"""

import dataclasses

import numpy as np

from lodestar._errors import RunError
from lodestar.importers import words
from lodestar.importers.plan import FetchPlan
from lodestar.importers.reader import Curves, ListedRun, LoggedCurve
from lodestar.runs.note import Note, NoteKind


@dataclasses.dataclass
class Placed:
    """Curves by role on steps; `step` names what the steps are."""

    curves: dict[str, LoggedCurve]
    step: str
    notes: list[Note] = dataclasses.field(default_factory=list)


def stands_still(plan: FetchPlan, logged: Curves) -> bool:
    """Whether the tracker's clock says nothing: many values, all at one step."""
    if plan.step is not None or plan.mapped.clock_is_column:
        return False
    curves = [logged[name] for name in plan.quantities.values() if name in logged]
    steps = np.concatenate([curve.steps for curve in curves]) if curves else np.zeros(0)
    return len(steps) > len(curves) and len(np.unique(steps)) == 1


def epochs_of(run: ListedRun) -> str | None:
    """The quantity in which the run logged its epochs."""
    return next((name for name in run.quantities if words.plain(name) in words.EPOCHS), None)


def place(plan: FetchPlan, logged: Curves, clock: str) -> Placed:
    """Put each curve of the plan on steps."""
    curves = {role: logged[name] for role, name in plan.quantities.items() if name in logged}
    if plan.step is not None:
        return _joined(plan, curves, logged.get(plan.step))
    if stands_still(plan, logged):
        return _counted(plan, curves, logged)
    return Placed(curves, clock)


def _joined(plan: FetchPlan, curves: Curves, axis: LoggedCurve | None) -> Placed:
    """Each value at the step that was logged at the same tick of the clock; of several, the last."""
    if axis is None or plan.step is None:
        raise RunError(
            f"run {plan.run.name!r} never logged {plan.step!r}, which is to be its step. "
            "Fix: leave --step out to take the tracker's own"
        )
    axis = axis.last_of_each_step()
    placed = Placed({}, plan.step, [Note(f"steps are {plan.step!r}, joined by the tracker's clock", NoteKind.STEPS)])
    without = 0
    for role, curve in curves.items():
        at = np.clip(np.searchsorted(axis.steps, curve.steps), 0, len(axis) - 1)
        known = (axis.steps[at] == curve.steps) & np.isfinite(axis.values[at])
        without += int((~known).sum())
        placed.curves[role] = LoggedCurve(axis.values[at][known], curve.values[known], curve.notes)
    if without:
        placed.notes.append(Note(f"{without} rows have no step and were left out", NoteKind.LEFT_OUT))
    return placed


def _counted(plan: FetchPlan, curves: Curves, logged: Curves) -> Placed:
    """Values in the order of logging, where the clock stands still. Curves of different lengths cannot be aligned."""
    lengths = {role: len(curve) for role, curve in curves.items()}
    if len(set(lengths.values())) > 1:
        counts = ", ".join(f"{count} of {role}" for role, count in lengths.items())
        raise RunError(
            f"run {plan.run.name!r} was logged without steps (all stand at one): there are {counts}, and nothing tells "
            "which belong together. Fix: log with the step, or name a quantity that holds it (--step QUANTITY)"
        )
    length = next(iter(lengths.values()))
    epoch = epochs_of(plan.run)
    epochs = logged[epoch].values if epoch is not None and epoch in logged else np.zeros(0)
    step, steps, how = "step", np.arange(1.0, length + 1), "values were counted from 1"
    if epoch is not None and len(epochs) == length and np.all(np.diff(epochs) > 0):
        step, steps, how = epoch, epochs, f"steps are {epoch!r}"
    note = Note(f"logged without steps (all stand at one): {how}", NoteKind.STEPS)
    return Placed({role: LoggedCurve(steps, curve.values, curve.notes) for role, curve in curves.items()}, step, [note])
