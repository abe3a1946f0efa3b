"""What was fetched about a run, made into a `Run`: its status judged, facts made numbers, a missing lr rebuilt.

Values are put on steps by `axis.py` and made clean by `merging.py`.
"""

import dataclasses
import math
import re

import numpy as np

from lodestar.importers.axis import place
from lodestar.importers.ledger import origin
from lodestar.importers.merging import merge
from lodestar.importers.plan import FetchPlan
from lodestar.importers.reader import AbstractReader, Curves, clean
from lodestar.importers.scale_guess import stated_scale
from lodestar.runs.note import Note, NoteKind
from lodestar.runs.run import Facts, Run, Scalar, Series, Status
from lodestar.runs.scale import EPOCHS
from lodestar.schedules import reconstruct

REBUILT = "lr_rebuilt"
"""Among a run's extra facts: its learning rate was not logged."""
_WHOLE = re.compile(r"[+-]?\d+")
_DIVERGED = {"diverged", "nan", "exploded", "true", "1", "1.0", "yes"}
_CUT_SHORT = {
    *("cut short", "cut_short", "crashed", "killed", "failed", "running", "preempted", "stopped", "aborted"),
    *("fail", "pruned", "error", "preempting", "scheduled", "waiting"),
}


def build(plan: FetchPlan, name: str, logged: Curves, reader: AbstractReader) -> Run:
    """The run, named `name` in the store."""
    placed = place(plan, logged, reader.clock)
    curves, merging_notes = merge(name, placed.curves, placed.step)
    odd = dict.fromkeys(note for key in plan.wanted if key in logged for note in logged[key].notes)
    notes = [*plan.notes, *placed.notes, *odd, *_renamed(plan.run.name.strip(), name), *merging_notes]
    last = max(int(curve.steps[-1]) for curve in curves.values() if len(curve))
    total = _total(plan.facts.get("total"), last, notes)
    facts = _facts(plan, reader, notes)
    loss, metric, lr = (Series(curves[role].steps, curves[role].values) for role in ("loss", "metric", "lr"))
    in_epochs = "epoch" in placed.step
    if in_epochs:
        facts = dataclasses.replace(facts, extra={**facts.extra, EPOCHS: True})
    if not len(metric):
        notes.append(Note("no metric was logged", NoteKind.MISSING))
    if not len(lr):
        lr, facts = _missing_lr(plan, loss, facts, notes, in_epochs=in_epochs)
    return Run(
        name=name,
        loss=loss,
        metric=metric,
        lr=lr,
        direction=plan.guess.direction,
        status=_status(plan.facts.get("status"), curves, total),
        total_steps=max(total or 0, last),
        metric_name=clean(plan.quantities.get("metric", plan.guess["metric"]) or "metric"),
        facts=facts,
        notes=tuple(Note(clean(note), note.kind) for note in notes),
    )


def without_loss(plan: FetchPlan) -> str:
    """Why a run that logged no loss is left out."""
    logged = ", ".join(repr(name) for name in plan.run.quantities[:8]) or "nothing over time"
    return f"it has no training loss {plan.guess['loss']!r}; it logged {logged}. Fix: --loss QUANTITY names its loss"


def _renamed(own: str, name: str) -> list[Note]:
    """Why a run is not called in the store as it is called where it came from."""
    if not own or name == own:
        return []
    if name.startswith(f"{own} ("):
        return [Note(f"another run is called {own!r}: this one carries its id", NoteKind.ORIGIN)]
    return [Note(f"it is called {own!r} in the tracker by now: the store keeps its first name", NoteKind.ORIGIN)]


def _missing_lr(
    plan: FetchPlan, loss: Series, facts: Facts, notes: list[Note], *, in_epochs: bool
) -> tuple[Series, Facts]:
    """The learning rate rebuilt, and the facts marked so; or none, with a note on why not."""
    if not plan.mapped.choices.rebuild_lr:
        notes.append(Note("no learning rate was logged", NoteKind.MISSING))
        return Series.empty(), facts
    rates, sentence = reconstruct(plan.run.config, loss.steps, in_epochs=in_epochs)
    if rates is None:
        why = f"no learning rate was logged, and it was not rebuilt: {sentence}"
        notes.append(Note(why, NoteKind.MISSING))
        return Series.empty(), facts
    how = f"no learning rate was logged: it was rebuilt from the config ({sentence})"
    notes.append(Note(how, NoteKind.REBUILT_LR))
    return Series(loss.steps, rates), dataclasses.replace(facts, extra={**facts.extra, REBUILT: True})


def _total(text: str | None, last: int, notes: list[Note]) -> int | None:
    """The planned length if a sensible one is stated."""
    if text is None:
        return None
    total = _as_number(text)
    if total is None or total < last or total > 2.0**62:
        notes.append(Note(f"planned length {text!r} was excluded: steps go up to {last}", NoteKind.EXCLUDED))
        return None
    return int(total)


def _status(stated: str | None, curves: Curves, total: int | None) -> Status:
    word = (stated or "").strip().lower()
    if word in _DIVERGED or not math.isfinite(curves["loss"].values[-1]):
        return Status.DIVERGED
    if word in _CUT_SHORT:
        return Status.CUT_SHORT
    last = max(curve.steps[-1] for curve in curves.values() if len(curve))
    steps = curves["loss"].steps
    spacing = float(np.median(np.diff(steps))) if len(steps) > 1 else 0.0
    # The last log may fall one interval before the end (steps counted from 0, logged every tenth).
    return Status.CUT_SHORT if total is not None and last + spacing < total else Status.FINISHED


def _facts(plan: FetchPlan, reader: AbstractReader, notes: list[Note]) -> Facts:
    """What is known besides the curves; what the config states and no role took is kept as it is."""
    taken = plan.guess.columns.values()
    extra: dict[str, Scalar] = {key: value for key, value in plan.run.config.items() if key not in taken}
    seed = plan.facts.get("seed")
    number = _stated("seed", seed, notes)
    return Facts(
        task=plan.facts.get("task"),
        schedule=plan.facts.get("schedule"),
        peak_lr=_stated("peak_lr", plan.facts.get("peak_lr"), notes),
        seed=None if number is None or seed is None else int(seed) if _WHOLE.fullmatch(seed.strip()) else int(number),
        source=plan.run.place or f"{reader.kind} {reader.address}",
        extra={**extra, **stated_scale(plan.run.config, plan.mapped.choices), **origin(plan, reader)},
    )


def _stated(role: str, text: str | None, notes: list[Note]) -> float | None:
    number = None if text is None else _as_number(text)
    if text is not None and number is None:
        notes.append(Note(f"{role} {text!r} is no number and was left out", NoteKind.LEFT_OUT))
    return number


def _as_number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None
