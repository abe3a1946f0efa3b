"""A run's curves made clean: one value a step, in order, without blanks written as NaN; a note for every liberty taken.

Resumed and duplicated steps are merged (the last wins), filler NaN are told from real ones, epochs count from 1.
"""

import math

import numpy as np
from numpy.typing import NDArray

from lodestar._errors import RunError
from lodestar.importers import words
from lodestar.importers.reader import Curves, LoggedCurve
from lodestar.importers.roles import CURVES
from lodestar.runs.note import Note, NoteKind

_NOTHING = LoggedCurve(np.zeros(0), np.zeros(0))
_FILLER_SHARE = 0.2


def merge(name: str, logged: Curves, step: str) -> tuple[Curves, list[Note]]:
    """All three curves of run `name`; one that was not logged is empty. `step` says what the steps are."""
    notes: list[Note] = []
    curves = _merged_curves(logged, notes)
    if not len(curves["loss"]):
        raise RunError(f"run {name!r} has no training loss. Fix: log the loss, or name its column (--loss)")
    _check_steps(name, curves, step)
    curves = _without_filler(curves, notes)
    return _epochs_from_one(curves, step, notes), notes


def _check_steps(name: str, curves: Curves, step: str) -> None:
    """Steps are whole numbers; fractions of an epoch are not."""
    for curve in curves.values():
        odd = curve.steps[(curve.steps != np.round(curve.steps)) | (np.abs(curve.steps) > 2.0**62)]
        if len(odd):
            raise RunError(
                f"run {name!r}: column {step!r} holds {odd[0]:g}, but steps are whole numbers. "
                "Fix: name the column of optimizer steps (--step COLUMN; 'none' counts the rows)"
            )


def _merged_curves(logged: Curves, notes: list[Note]) -> Curves:
    """Each curve on increasing steps, with one note where the same happened to several of them."""
    curves: dict[str, LoggedCurve] = {}
    happened: dict[Note, list[str]] = {}
    for role in CURVES:
        curves[role], what = _merged(logged.get(role, _NOTHING))
        if what:
            happened.setdefault(what, []).append(role)
    notes += [Note(f"{', '.join(roles)}: {what}", what.kind) for what, roles in happened.items()]
    return curves


def _merged(curve: LoggedCurve) -> tuple[LoggedCurve, Note | None]:
    """In step order; of several values at one step the last logged stays. And what was done, if anything."""
    gaps = np.diff(curve.steps)
    if np.all(gaps > 0):
        return curve, None
    steps, counts = np.unique(curve.steps, return_counts=True)
    twice = steps[counts > 1]
    if len(twice):
        why = "the run was resumed" if np.any(gaps < 0) else "duplicated rows"
        what = f"steps {_span(twice)} logged more than once ({why}); the last value of each was kept"
        note = Note(what, NoteKind.REPEATED_STEPS)
    else:
        note = Note("rows were not in the order of steps, and were sorted", NoteKind.SORTED)
    return curve.last_of_each_step(), note


def _without_filler(curves: Curves, notes: list[Note]) -> Curves:
    """Take NaN that only mean 'not logged here' out: they are many, and numbers follow. An lr is never really NaN.

    A NaN loss at the end is kept, since that is how a run diverges; so is a NaN metric beside it.
    """
    kept = dict(curves)
    for role in CURVES:
        values = curves[role].values
        diverged = not math.isfinite(kept["loss"].values[-1])
        filler = np.isnan(values) if role == "lr" else _filler(values, to_the_end=role == "metric" and not diverged)
        if filler.any():
            notes.append(Note(f"{role}: {int(filler.sum())} NaN were taken as 'not logged there'", NoteKind.FILLER))
            kept[role] = curves[role].where(~filler)
    return kept


def _filler(values: NDArray[np.float64], *, to_the_end: bool) -> NDArray[np.bool_]:
    """Which NaN stand for blanks. Those after the last number do if they are no more than an ordinary gap."""
    nan = np.isnan(values)
    numbers = np.flatnonzero(~nan)
    gaps = np.diff(numbers, prepend=-1) - 1
    if gaps.sum() <= _FILLER_SHARE * len(values):
        return np.zeros(len(values), bool)
    if not to_the_end and len(values) - 1 - numbers[-1] > gaps.max():
        nan[numbers[-1] :] = False
    return nan


def _epochs_from_one(curves: Curves, step: str, notes: list[Note]) -> Curves:
    """An epoch's values stand at its end: epoch 0 becomes step 1."""
    if "epoch" not in words.tokens(step):
        return curves
    if min(curve.steps[0] for curve in curves.values() if len(curve)) != 0:
        notes.append(Note("steps are epochs", NoteKind.STEPS))
        return curves
    notes.append(Note("steps are epochs, counted from 1 (the table counts from 0)", NoteKind.STEPS))
    return {role: LoggedCurve(curve.steps + 1, curve.values) for role, curve in curves.items()}


def _span(steps: NDArray[np.float64]) -> str:
    first, last = int(steps.min()), int(steps.max())
    return f"{first}" if first == last else f"{first}-{last}"
