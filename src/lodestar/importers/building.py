"""What was fetched about a run, made into a `Run`.

Comes in: a `Plan` and what the tracker `Logged`. Goes out: a `Run` that knows where it came from, or a `RunError` that
says why not. Merging, order and status are decided where tables decide them (`runs/assemble.py`); here values are put
on steps, and a missing learning rate is rebuilt from the config where that is certain.
"""

import dataclasses
from collections.abc import Mapping

from lodestar.importers.axis import Placed, place
from lodestar.importers.plan import Plan
from lodestar.importers.tables.assemble import assemble
from lodestar.importers.tables.columns import ColumnGuess
from lodestar.importers.tables.gather import Gathered
from lodestar.importers.tracker import Logged
from lodestar.runs import Run, Series
from lodestar.runs.run import Scalar
from lodestar.schedules import reconstruct

TRACKER, KEY, STAMP, REBUILT = "tracker", "tracker_key", "tracker_stamp", "lr_rebuilt"
"""Names among a run's extra facts that tell where it came from."""


def build(plan: Plan, name: str, logged: Mapping[str, Logged], *, identity: str, source: str, clock: str) -> Run:
    """The run, named `name` in the store."""
    placed = place(plan, logged, clock)
    odd = dict.fromkeys(note for key in plan.wanted if key in logged for note in logged[key].notes)
    gathered = Gathered(name, facts=dict(plan.facts), sources=[source], rows_without_step=placed.without_step)
    gathered.extra = {key: value for key, value in plan.run.config.items() if key not in plan.guess.columns.values()}
    gathered.extra |= {TRACKER: identity, KEY: plan.run.key, STAMP: plan.stamp}
    for role, curve in placed.curves.items():
        gathered.curves[role].append(curve)
    run = assemble(gathered, _guess(plan, placed))
    own = plan.run.name.strip()
    if own and name.startswith(f"{own} ("):
        odd[f"another run is called {own!r}: this one carries its id"] = None
    elif own and name != own:
        odd[f"it is called {own!r} in the tracker by now: the store keeps its first name"] = None
    run = run.replace(notes=(*plan.notes, *placed.notes, *odd, *run.notes))
    return run if len(run.lr) or not plan.rebuild_lr else _with_lr(run, plan, placed)


def _guess(plan: Plan, placed: Placed) -> ColumnGuess:
    """The guess as it holds for this run."""
    metric = plan.quantities.get("metric", plan.guess["metric"])
    columns = {**plan.guess.columns, "step": placed.step, "metric": metric}
    return dataclasses.replace(plan.guess, columns=columns)


def without_loss(plan: Plan) -> str:
    """Why a run that logged no loss is left out."""
    logged = ", ".join(repr(name) for name in plan.run.quantities[:8]) or "nothing over time"
    return f"it has no training loss {plan.guess['loss']!r}; it logged {logged}. Fix: --loss QUANTITY names its loss"


def _with_lr(run: Run, plan: Plan, placed: Placed) -> Run:
    """The run with its learning rate rebuilt and marked so, or with a note on why it could not be."""
    in_epochs = "epoch" in placed.step
    rates, sentence = reconstruct(plan.run.config, run.loss.steps, in_epochs=in_epochs)
    notes = tuple(note for note in run.notes if note != "no learning rate was logged")
    if rates is None:
        return run.replace(notes=(*notes, f"no learning rate was logged, and it was not rebuilt: {sentence}"))
    extra: dict[str, Scalar] = {**run.facts.extra, REBUILT: True}
    facts = dataclasses.replace(run.facts, extra=extra)
    note = f"no learning rate was logged: it was rebuilt from the config ({sentence})"
    return run.replace(lr=Series(run.loss.steps, rates), facts=facts, notes=(*notes, note))
