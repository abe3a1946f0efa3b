"""What to fetch for one run: its quantity for each role, and the facts its config states.

A run that lacks the usual loss or lr may have its own name for it; a metric is never swapped for another one, since a
mean over different metrics means nothing.
"""

import dataclasses
import hashlib
import json
from collections.abc import Mapping

from lodestar.importers import words
from lodestar.importers.mapping import FROM_CONFIG, Mapped, natural
from lodestar.importers.reader import ListedRun
from lodestar.importers.roles import CURVES, RoleGuess, guess_roles
from lodestar.runs.note import Note, NoteKind
from lodestar.runs.run import OUR_TASK

VERSION = 1
"""Of the way runs are read: when it changes, runs are imported again."""


@dataclasses.dataclass(frozen=True)
class FetchPlan:
    """One run's roles: `quantities` by role (only those the run logged), `step` (None: the source's own clock)."""

    run: ListedRun
    mapped: Mapped
    quantities: Mapping[str, str]
    facts: Mapping[str, str]
    notes: tuple[Note, ...] = ()

    @property
    def step(self) -> str | None:
        return self.mapped.step

    @property
    def guess(self) -> RoleGuess:
        return self.mapped.guess

    @property
    def wanted(self) -> list[str]:
        return list(dict.fromkeys([*self.quantities.values(), *([self.step] if self.step else [])]))

    @property
    def stamp(self) -> str:
        """Changes when the run, or what is taken from it, changes."""
        said = [VERSION, self.run.version, dict(self.quantities), self.step, dict(self.facts)]
        said += [dict(self.mapped.choices.facts)] if self.mapped.choices.facts else []
        text = json.dumps(
            [*said, self.mapped.choices.rebuild_lr, str(self.guess.direction)], sort_keys=True, default=str
        )
        return hashlib.sha256(text.encode()).hexdigest()[:16]


def plan(run: ListedRun, mapped: Mapped) -> FetchPlan:
    notes: list[Note] = []
    quantities = {role: name for role in CURVES if (name := _quantity(role, run, mapped, notes))}
    return FetchPlan(run, mapped, quantities, _facts(run, mapped), (*run.notes, *notes))


def _quantity(role: str, run: ListedRun, mapped: Mapped, notes: list[Note]) -> str | None:
    usual = mapped.guess[role]
    if usual is None or usual in run.quantities or getattr(mapped.choices, role) is not None:
        return usual if usual in run.quantities else None
    own = _own(role, run, usual)
    if own is not None:
        notes.append(Note(f"its {role} is {own!r} (other runs have {usual!r})", NoteKind.ORIGIN))
    return own


def _own(role: str, run: ListedRun, usual: str) -> str | None:
    """The run's own name for what others call `usual`."""
    for name in run.quantities:
        if words.plain(name).replace("_", "") == words.plain(usual).replace("_", ""):
            return name
    if role == "metric" or not run.quantities:
        return None
    names = sorted(run.quantities, key=natural)
    return guess_roles(names, overrides={"metric": "none"}, required=())[role]


def _facts(run: ListedRun, mapped: Mapped) -> dict[str, str]:
    """What the config states, as texts; the task is as our exporters left it, or the tracker's group, or the user's."""
    guess = mapped.guess
    found = {role: str(run.config[key]) for role in FROM_CONFIG if (key := guess[role]) in run.config and key}
    if found.get("total", "").strip().startswith("-"):  # Transformers' way to say: not stated
        del found["total"]
    total = guess["total"]
    if total and total.isdigit() and total not in run.config:
        found["total"] = total
    task = mapped.choices.task
    key = guess["task"]
    in_config = str(run.config[key]) if key and key in run.config else None
    stated = in_config if task is not None and task == key else task
    named = stated or str(run.config.get(OUR_TASK, "")) or run.group or in_config
    return {**found, **({"task": named} if named else {}), **({"status": run.state} if run.state else {})}
