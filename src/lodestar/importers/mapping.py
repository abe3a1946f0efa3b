"""Which logged quantity is the loss, the metric, the lr and the step: guessed once over all runs, or as the user says.

Judges names alone. A table's header is guessed as a whole (`roles.py`); what most runs of a tracker logged comes first.
"""

import collections
import dataclasses
import difflib
import re
from collections.abc import Iterable, Mapping, Sequence

from lodestar._errors import TrackerError
from lodestar.importers import words
from lodestar.importers.choices import Choices
from lodestar.importers.reader import AbstractReader, ListedRun
from lodestar.importers.roles import (
    CURVES,
    FACTS,
    NONE,
    RoleGuess,
    guess_roles,
    is_curve,
    judge_direction,
    listed_names,
)
from lodestar.runs.run import OUR_DIRECTION, OUR_METRIC

FROM_CONFIG = ("total", "schedule", "peak_lr", "seed")
_MOST = 0.5


@dataclasses.dataclass(frozen=True)
class Mapped:
    """The guess over all runs; `counts` says how many runs logged each quantity, `step` which one is the x axis.

    `step` is None where the source's own clock is the x axis; `clock_is_column` says that this clock is a column people
    filled in, so that equal steps are repeats, and no clock that stands still.
    """

    guess: RoleGuess
    counts: Mapping[str, int]
    runs: int
    step: str | None
    choices: Choices
    clock_is_column: bool = False

    def others(self, role: str) -> list[str]:
        """Further quantities that read like the one taken for `role`: other parameter groups of the lr, say."""
        taken = self.guess[role]
        if taken is None:
            return []
        like = _without_numbers(taken)
        return [name for name in self.counts if name != taken and _without_numbers(name) == like]


def map_header(guess: RoleGuess, runs: Sequence[ListedRun], choices: Choices) -> Mapped:
    """The mapping where the guess was made from a header, before it was known how many runs have each column."""
    counts = _counted(runs)
    stated = choices.stated(CURVES)
    free = [name for name in counts if name not in stated.values() and is_curve(name)]
    again = guess_roles(free, overrides=dict.fromkeys(stated, NONE), direction="min", required=(), counts=counts)
    for role in CURVES:
        if role not in stated and again[role] is not None:
            guess = guess.with_role(role, again[role], again.reasons[role])
    way, why = judge_direction(guess["metric"], choices.direction)
    guess = dataclasses.replace(guess, direction=way, reasons={**guess.reasons, "direction": why})
    guess = _with_counts(guess, counts, len(runs))
    return Mapped(guess, counts, len(runs), None, choices, clock_is_column=guess["step"] is not None)


def _with_counts(guess: RoleGuess, counts: Mapping[str, int], runs: int) -> RoleGuess:
    """Say so where a curve was taken that not all runs have."""
    for role in CURVES:
        name = guess[role]
        if name is not None and counts.get(name, 0) < runs:
            guess = guess.with_role(role, name, f"{guess.reasons[role]}; {counts.get(name, 0)} of {runs} runs have it")
    return guess


def map_runs(runs: Sequence[ListedRun], choices: Choices, reader: AbstractReader) -> Mapped:
    """Look at the names all runs use and settle who is who. Errors name the place and what there is."""
    clock, place = reader.clock, reader.address
    logging_runs = [run for run in runs if run.quantities]
    if not logging_runs:
        raise TrackerError(
            f"none of the {len(runs)} runs in {place} logged anything over time. Fix: check the address, and that the "
            "training job logs its loss at each step"
        )
    counts = _counted(logging_runs)
    _check_stated(choices, counts, clock, len(logging_runs), place)
    facts = list(dict.fromkeys(key for run in runs for key in run.config))
    _check_keys(choices, facts, place)
    step, why = _step(choices.step, counts, clock, reader.clock_counts_calls, len(logging_runs))
    known = _known({**reader.roles, **_written_by_us(logging_runs)}, choices, counts)
    guess = _guess(known.over(choices), counts, facts, step or clock, len(logging_runs))
    told = {role: "the tracker says so" for role in (*CURVES, "direction") if getattr(known, role)}
    reasons = {**guess.reasons, **told, "step": why}
    mapped = Mapped(dataclasses.replace(guess, reasons=reasons), counts, len(logging_runs), step, choices)
    _check_found(mapped, place)
    return _with_groups(mapped)


def _written_by_us(runs: Sequence[ListedRun]) -> dict[str, str]:
    """The metric and its direction, where our own writers made every run, and of one metric."""
    told = {(run.config.get(OUR_METRIC), run.config.get(OUR_DIRECTION)) for run in runs}
    metric, direction = told.pop() if len(told) == 1 else (None, None)
    return {} if metric is None or direction is None else {"metric": str(metric), "direction": str(direction)}


def _known(told: Mapping[str, str], choices: Choices, counts: Mapping[str, int]) -> Choices:
    """What the tracker itself knows and the user leaves open; its direction is that of its own metric."""
    roles = {role: name for role, name in told.items() if role in CURVES and name in counts}
    free = {role: name for role, name in roles.items() if getattr(choices, role) is None}
    same_metric = choices.metric in (None, roles.get("metric"))
    direction = told.get("direction") if same_metric and choices.direction is None else None
    return Choices(**free, direction=direction)  # pyright: ignore[reportArgumentType]


def _counted(runs: Sequence[ListedRun]) -> dict[str, int]:
    """How many runs logged each quantity; names in their natural order (group 2 before group 10)."""
    found = collections.Counter(name for run in runs for name in run.quantities)
    return dict(sorted(found.items(), key=lambda item: natural(item[0])))


def _step(stated: str | None, counts: Mapping[str, int], clock: str, calls: bool, runs: int) -> tuple[str | None, str]:
    own = f"the tracker's own {clock}"
    if stated is not None:
        return (None, f"as you said: {own}") if stated == clock and stated not in counts else (stated, "as you said")
    for wanted in words.OPTIMIZER_STEPS if calls else ():
        for name, count in counts.items():
            if words.plain(name) == wanted and count >= _MOST * runs:
                return name, f"the optimizer's count, which was logged (--step {clock}: {own})"
    return None, own


def _guess(choices: Choices, counts: Mapping[str, int], facts: list[str], step: str, runs: int) -> RoleGuess:
    """The guess over what all runs logged; what a run states once may be a fact."""
    stated = choices.stated((*CURVES, *FROM_CONFIG)) | {"step": step, "run": NONE, "status": NONE}
    if choices.task is not None and choices.task in facts:
        stated["task"] = choices.task
    named = [name for name in counts if is_curve(name) or name in stated.values()]
    guess = guess_roles(
        dict.fromkeys([step, *named]),
        facts,
        overrides=stated,
        direction="min",
        required=(),
        counts=counts,
        error=TrackerError,
    )
    columns = dict(guess.columns)
    # What a config states is never a quantity logged over time, whatever its name.
    columns |= {role: None for role in FACTS if columns[role] not in facts and role not in stated}
    reasons = {**guess.reasons} | {role: "nothing logged has such a name" for role in CURVES if columns[role] is None}
    direction, reasons["direction"] = judge_direction(columns["metric"], choices.direction, TrackerError)
    return _with_counts(RoleGuess(columns, reasons, direction, "tracker"), counts, runs)


def _with_groups(mapped: Mapped) -> Mapped:
    """Say so where the lr taken is the first of several parameter groups."""
    others = mapped.others("lr")
    if not others or mapped.choices.lr is not None:
        return mapped
    why = f"{mapped.guess.reasons['lr']}; the first of {len(others) + 1} groups (--lr {others[0]}: another)"
    guess = dataclasses.replace(mapped.guess, reasons={**mapped.guess.reasons, "lr": why})
    return dataclasses.replace(mapped, guess=guess)


def _check_stated(choices: Choices, counts: Mapping[str, int], clock: str, runs: int, place: str) -> None:
    for role in ("step", *CURVES):
        name = getattr(choices, role)
        allowed = {clock} if role == "step" else {NONE}
        if name is None or name in counts or name in allowed:
            continue
        also = f"{clock!r} for the tracker's own" if role == "step" else f"{NONE!r} if there is none"
        raise TrackerError(
            f"no run in {place} logged {name!r} (--{role}).{_hint(name, counts)} The {runs} runs logged: "
            f"{listed_counts(counts)}. Fix: name one of these, or {also}"
        )


def _check_keys(choices: Choices, facts: Sequence[str], place: str) -> None:
    for role in FROM_CONFIG:
        key = getattr(choices, role)
        if key is None or key in facts or key == NONE or (role == "total" and key.isdigit()):
            continue
        raise TrackerError(
            f"no run in {place} has {key!r} in its config ({role}).{_hint(key, facts)} Keys: {listed_names(facts)}. "
            f"Fix: name one of these, or {NONE!r}"
        )


def _hint(name: str, names: Iterable[str]) -> str:
    close = difflib.get_close_matches(name, [*names], n=1)
    return f" Did you mean {close[0]!r}?" if close else ""


def _check_found(mapped: Mapped, place: str) -> None:
    for role, what in (("loss", "the training loss"), ("metric", "a validation metric")):
        if mapped.guess[role] is None and getattr(mapped.choices, role) is None:
            cure = "; --metric none stores the runs without one" if role == "metric" else ""
            raise TrackerError(
                f"nothing that the {mapped.runs} runs in {place} logged reads like {what}. They logged: "
                f"{listed_counts(mapped.counts)}. Fix: --{role} QUANTITY names it{cure}"
            )
    if mapped.guess["loss"] is None:
        raise TrackerError("a run without a training loss cannot be stored. Fix: --loss QUANTITY names it")


def listed_counts(counts: Mapping[str, int], most: int = 20) -> str:
    """Quantities with the number of runs that logged each: likely ones first, then the common ones."""
    order = sorted(counts, key=lambda name: (not is_curve(name), -counts[name]))
    shown = ", ".join(f"{name[:60]!r} ({counts[name]} run{'s' * (counts[name] != 1)})" for name in order[:most])
    return shown if len(order) <= most else f"{shown} and {len(order) - most} more"


def natural(name: str) -> list[tuple[float, str]]:
    """A key that sorts group 2 before group 10."""
    return [(float(part), "") if part.isdecimal() else (-1, part) for part in re.split(r"(\d+)", name)]


def _without_numbers(name: str) -> str:
    return re.sub(r"\d+", "#", name)
