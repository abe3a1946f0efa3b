"""What was gathered about one run, made into a `Run`, with a note for every liberty taken.

Comes in: `Gathered` pieces. Goes out: a `Run`, or a `RunError` that says why not. Here resumed and duplicated steps are
merged (the last wins), rows are put in order, filler NaN are told from real ones, and the status is judged. Nothing is
done without a sentence in `Run.notes`.
"""

import math
import re
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from lodestar._errors import RunError
from lodestar.importers.tables.columns import CURVES, ColumnGuess
from lodestar.importers.tables.gather import Gathered
from lodestar.runs.run import Facts, Run, Series, Status

Curve = tuple[NDArray[np.float64], NDArray[np.float64]]
_FILLER_SHARE = 0.2
_DIVERGED = {"diverged", "nan", "exploded", "true", "1", "1.0", "yes"}
_CUT_SHORT = {
    *("cut short", "cut_short", "crashed", "killed", "failed", "running", "preempted", "stopped", "aborted"),
    *("fail", "pruned", "error", "preempting", "scheduled", "waiting"),
}


def assemble(gathered: Gathered, guess: ColumnGuess, task: str | None = None) -> Run:
    """The run, validated. `task` stands in where the table names none."""
    notes: list[str] = []
    if gathered.rows_without_step:
        notes.append(f"{gathered.rows_without_step} rows have no step and were left out")
    if len(gathered.sources) > 1:
        notes.append(f"rows come from {len(gathered.sources)} files ({', '.join(gathered.sources[:3])})")
    curves = _merged_curves(gathered, notes)
    if not len(curves["loss"][0]):
        raise RunError(f"run {gathered.name!r} has no training loss. Fix: log the loss, or name its column (--loss)")
    _check_steps(gathered.name, curves, guess)
    curves = _without_filler(curves, notes)
    curves = _epochs_from_one(curves, guess, notes)
    for role in ("metric", "lr"):
        if not len(curves[role][0]):
            notes.append(f"no {'learning rate' if role == 'lr' else 'metric'} was logged")
    last = max(int(steps[-1]) for steps, _ in curves.values() if len(steps))
    total = _total(gathered, last, notes)
    notes += [f"column {column!r} has several values, the first was kept" for column in gathered.several.values()]
    return Run(
        name=gathered.name,
        loss=Series(*curves["loss"]),
        metric=Series(*curves["metric"]),
        lr=Series(*curves["lr"]),
        direction=guess.direction,
        status=_status(gathered.facts.get("status"), curves, total),
        total_steps=max(total or 0, last),
        metric_name=guess["metric"] or "metric",
        facts=_facts(gathered, task, notes),
        notes=tuple(notes),
    )


def _check_steps(name: str, curves: Mapping[str, Curve], guess: ColumnGuess) -> None:
    """Steps are whole numbers; fractions of an epoch are not."""
    for steps, _ in curves.values():
        odd = steps[(steps != np.round(steps)) | (np.abs(steps) > 2.0**62)]
        if len(odd):
            raise RunError(
                f"run {name!r}: column {guess['step']!r} holds {odd[0]:g}, but steps are whole numbers. "
                "Fix: name the column of optimizer steps (--step COLUMN; 'none' counts the rows)"
            )


def _merged_curves(gathered: Gathered, notes: list[str]) -> dict[str, Curve]:
    """Each curve on increasing steps, with one note where the same happened to several of them."""
    curves: dict[str, Curve] = {}
    happened: dict[str, list[str]] = {}
    for role in CURVES:
        curves[role], what = _merged(gathered.curves[role])
        if what:
            happened.setdefault(what, []).append(role)
    notes += [f"{', '.join(roles)}: {what}" for what, roles in happened.items()]
    return curves


def _merged(pieces: list[Curve]) -> tuple[Curve, str | None]:
    """One curve in step order; of several values at one step the last logged stays. And what was done, if anything."""
    if not pieces:
        return (np.zeros(0), np.zeros(0)), None
    steps = np.concatenate([piece[0] for piece in pieces])
    values = np.concatenate([piece[1] for piece in pieces])
    if np.all(np.diff(steps) > 0):
        return (steps, values), None
    backwards = bool(np.any(np.diff(steps) < 0))
    order = np.argsort(steps, kind="stable")
    steps, values = steps[order], values[order]
    last = np.append(steps[1:] != steps[:-1], True)
    twice = steps[~last]
    if len(twice):
        why = "the run was resumed" if backwards else "duplicated rows"
        what = f"steps {_span(twice)} logged more than once ({why}); the last value of each was kept"
    else:
        what = "rows were not in the order of steps, and were sorted"
    return (steps[last], values[last]), what


def _without_filler(curves: Mapping[str, Curve], notes: list[str]) -> dict[str, Curve]:
    """Take NaN that only mean 'not logged here' out: they are many, and numbers follow. An lr is never really NaN.

    A NaN loss at the end is kept, since that is how a run diverges; so is a NaN metric beside it.
    """
    found = dict(curves)
    for role in CURVES:
        steps, values = curves[role]
        diverged = not math.isfinite(found["loss"][1][-1])
        filler = np.isnan(values) if role == "lr" else _filler(values, to_the_end=role == "metric" and not diverged)
        if filler.any():
            notes.append(f"{role}: {int(filler.sum())} NaN were taken as 'not logged there'")
        found[role] = (steps[~filler], values[~filler])
    return found


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


def _epochs_from_one(curves: dict[str, Curve], guess: ColumnGuess, notes: list[str]) -> dict[str, Curve]:
    """An epoch's values stand at its end: epoch 0 becomes step 1."""
    if guess["step"] is None:
        notes.append("steps are row numbers: the table has no step column")
    if not guess.step_is_epoch:
        return curves
    if min(steps[0] for steps, _ in curves.values() if len(steps)) != 0:
        notes.append("steps are epochs")
        return curves
    notes.append("steps are epochs, counted from 1 (the table counts from 0)")
    return {role: (steps + 1, values) for role, (steps, values) in curves.items()}


def _total(gathered: Gathered, last: int, notes: list[str]) -> int | None:
    """The planned length if the table tells a sensible one."""
    text = gathered.facts.get("total")
    if text is None:
        return None
    total = _as_number(text)
    if total is None or total < last:
        notes.append(f"planned length {text!r} was set aside: steps go up to {last}")
        return None
    return int(total)


def _status(stated: str | None, curves: Mapping[str, Curve], total: int | None) -> Status:
    word = (stated or "").strip().lower()
    if word in _DIVERGED or not math.isfinite(curves["loss"][1][-1]):
        return Status.DIVERGED
    if word in _CUT_SHORT:
        return Status.CUT_SHORT
    last = max(steps[-1] for steps, _ in curves.values() if len(steps))
    steps = curves["loss"][0]
    spacing = float(np.median(np.diff(steps))) if len(steps) > 1 else 0.0
    # The last log may fall one interval before the end (steps counted from 0, logged every tenth).
    return Status.CUT_SHORT if total is not None and last + spacing < total else Status.FINISHED


def _facts(gathered: Gathered, task: str | None, notes: list[str]) -> Facts:
    numbers: dict[str, float | None] = {}
    for role in ("seed", "peak_lr"):
        text = gathered.facts.get(role)
        numbers[role] = None if text is None else _as_number(text)
        if text is not None and numbers[role] is None:
            notes.append(f"{role} {text!r} is no number and was left out")
    seed = numbers["seed"]
    return Facts(
        task=gathered.facts.get("task", task),
        schedule=gathered.facts.get("schedule"),
        peak_lr=numbers["peak_lr"],
        seed=None if seed is None else int(gathered.facts["seed"]) if _is_whole(gathered.facts["seed"]) else int(seed),
        source=", ".join(gathered.sources[:3]) + (" ..." if len(gathered.sources) > 3 else ""),
        extra=gathered.extra,
    )


def _as_number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _is_whole(text: str) -> bool:
    return re.fullmatch(r"[+-]?\d+", text.strip()) is not None


def _span(steps: NDArray[np.float64]) -> str:
    first, last = int(steps.min()), int(steps.max())
    return f"{first}" if first == last else f"{first}-{last}"
