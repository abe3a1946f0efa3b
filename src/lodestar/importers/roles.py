"""Which name is which: a guess from the names alone, with its reasons, that any keyword overrides.

A person can follow every guess by reading the names. The words themselves are in `lodestar.importers.words`.
"""

import dataclasses
from collections.abc import Iterable, Mapping, Sequence

from lodestar._errors import LodestarError, TableError
from lodestar._keys import parts
from lodestar.importers import words
from lodestar.runs.metric_name import guess_direction
from lodestar.runs.run import Direction

CURVES = ("loss", "metric", "lr")
FACTS = ("run", "total", "schedule", "peak_lr", "seed", "task", "status")
ROLES = ("step", *CURVES, *FACTS)
NONE = "none"
"""An override that says: there is no such column."""
_MOST = 0.8  # of the runs that have the commonest column of a role: what has fewer is left, whatever its name


@dataclasses.dataclass(frozen=True)
class RoleGuess:
    """For each role the column taken (or None), and why; `direction` of the metric likewise."""

    columns: Mapping[str, str | None]
    reasons: Mapping[str, str]
    direction: Direction
    layout: str = "long"

    def __getitem__(self, role: str) -> str | None:
        return self.columns.get(role)

    def with_role(self, role: str, column: str | None, why: str) -> "RoleGuess":
        """The same with another column for a role."""
        columns, reasons = {**self.columns, role: column}, {**self.reasons, role: why}
        return dataclasses.replace(self, columns=columns, reasons=reasons)

    def as_dict(self) -> dict[str, object]:
        return {
            "layout": self.layout,
            "columns": dict(self.columns),
            "direction": str(self.direction),
            "reasons": dict(self.reasons),
        }


def guess_roles(
    columns: Iterable[str],
    facts: Iterable[str] = (),
    *,
    overrides: Mapping[str, str | None] | None = None,
    direction: Direction | str | None = None,
    layout: str = "long",
    required: Iterable[str] = ("loss", "metric"),
    counts: Mapping[str, int] | None = None,
    error: type[LodestarError] = TableError,
) -> RoleGuess:
    """Find each role among `columns` (and the per-run ones among `facts`); `overrides` come first.

    A `required` role that no column fits is an `error`; the others may be missing. With `counts`, of how many runs have
    each column, one that most have comes before one with a better name.
    """
    columns, facts = list(columns), list(facts)
    stated = _checked_overrides(overrides or {}, columns + facts, error)
    found: dict[str, str | None] = {}
    reasons: dict[str, str] = {}
    for role in ROLES:
        if role in stated:
            found[role], reasons[role] = stated[role], "as you said"
            continue
        taken = {name for name in (*found.values(), *stated.values()) if name}
        found[role], reasons[role] = _find(role, [c for c in columns if c not in taken], facts, found, counts or {})
    for role in required:
        if found[role] is None and role not in stated:
            raise error(_cannot_find(role, columns))
    way, reasons["direction"] = judge_direction(found["metric"], direction, error)
    return RoleGuess(found, reasons, way, layout)


def judge_direction(
    metric: str | None, stated: Direction | str | None, error: type[LodestarError] = TableError
) -> tuple[Direction, str]:
    """The direction and why: as stated, else going by the metric's name; an error if neither tells."""
    if stated is not None:
        if str(stated) not in ("max", "min"):
            raise error(f"direction must be 'max' or 'min', got {str(stated)!r}. Fix: --direction max")
        return Direction(stated), "as you said"
    if metric is None:
        return Direction.MIN, "no metric, so it does not matter"
    guess = guess_direction(metric)
    if guess is None:
        raise error(
            f"is a higher or a lower {metric!r} better? Its name does not tell. Fix: --direction max or --direction min"
        )
    return guess, f"a {'higher' if guess is Direction.MAX else 'lower'} {metric!r} is better, going by its name"


def is_curve(name: str) -> bool:
    """Whether a name reads like a loss, a metric or a learning rate."""
    return any(_score(role, name) > 0 for role in CURVES)


def is_step(name: str) -> bool:
    """Whether a name reads like a step or an epoch."""
    return words.plain(name) in words.EXACT["step"]


def run_columns(columns: Sequence[str]) -> list[str]:
    """The columns that are called a run, the likeliest first."""
    return [name for wanted in words.EXACT["run"] for name in columns if words.plain(name) == wanted]


def _find(
    role: str, columns: list[str], facts: list[str], found: Mapping[str, str | None], counts: Mapping[str, int]
) -> tuple[str | None, str]:
    if role in CURVES:
        fitting = [name for name in columns if _score(role, name) > 0]
        most = max((counts.get(name, 0) for name in fitting), default=0)
        common = [name for name in fitting if counts.get(name, 0) >= _MOST * most]
        best = max(common, key=lambda name: _score(role, name), default=None)
        return (None, "no column has such a name") if best is None else (best, _why(role, best))
    for wanted in _names_for(role, found):
        for name in columns:
            if words.plain(name) == wanted:
                return name, f"its name is {wanted!r}" if words.plain(name) == name else f"its name reads {wanted!r}"
    if role in FACTS and role != "run":
        for wanted in [*_names_for(role, found), *words.FACT_ONLY.get(role, [])]:
            for name in facts:
                if parts(name)[-1] == wanted:
                    return name, "stated once for each run"
    reasons = {"step": "none found: rows are counted from 1", "run": "none found: a file (or record) is a run"}
    return None, reasons.get(role, "no column has such a name")


def _names_for(role: str, found: Mapping[str, str | None]) -> Sequence[str]:
    if role == "total" and "epoch" in words.tokens(found.get("step") or ""):
        return words.EPOCH_TOTALS
    return words.EXACT[role]


def _score(role: str, name: str) -> float:
    """How well a name fits a curve's role; 0 or less: not at all. Short names win ties."""
    parts = words.tokens(name)
    short = -0.1 * len(parts)
    held_out, test, train = bool(parts & words.HELD_OUT), "test" in parts, bool(parts & {"train", "training", "trn"})
    if role == "lr":
        is_lr = "lr" in parts or {"learning", "rate"} <= parts or "learningrate" in parts
        return 10 + short if is_lr and not parts & words.NOT_THE_LR else 0
    if role == "loss":
        if held_out or test or not parts & words.LOSS or parts & (words.NOT_A_METRIC - {"step"}):
            return 0
        return 10 + 5 * train + 6 * (name.lower() == "loss") - ("epoch" in parts) + short
    if parts & words.NOT_A_METRIC or not parts & (words.HIGHER | words.LOWER):
        return 0
    if not (held_out or test) and parts & words.LOSS:
        return 0
    kind = 3 if parts & words.HIGHER else 2 if not parts & words.LOSS else 1
    return 10 + 100 * held_out + 50 * test - 5 * train + kind + short


def _why(role: str, name: str) -> str:
    if role != "metric":
        return "its name says so"
    parts = words.tokens(name)
    if parts & words.HELD_OUT:
        return "a validation figure"
    return "a test figure (no validation one)" if "test" in parts else "the only figure beside the loss"


def _checked_overrides(
    overrides: Mapping[str, str | None], names: list[str], error: type[LodestarError]
) -> dict[str, str | None]:
    stated: dict[str, str | None] = {}
    for role, name in overrides.items():
        if role not in ROLES:
            raise ValueError(f"{role!r} is no role of a column. Fix: use one of {', '.join(ROLES)}")
        if name is None:
            continue
        several = role == "run" and all(part in names for part in name.split(","))
        if name in names or several or (role == "total" and name.isdigit()):
            stated[role] = name
        elif name.lower() == NONE:
            stated[role] = None
        else:
            raise error(
                f"there is no column {name!r} for --{role.replace('_', '-')}. Columns: {listed_names(names)}. "
                f"Fix: name one of these, or {NONE!r} if there is none"
            )
    return stated


def _cannot_find(role: str, columns: list[str]) -> str:
    what = {"loss": "training loss", "metric": "validation metric"}[role]
    also = "; --metric none stores runs without one" if role == "metric" else ""
    return f"no column looks like the {what}. Columns: {listed_names(columns)}. Fix: --{role} COLUMN names it{also}"


def listed_names(names: Sequence[str]) -> str:
    """The first twenty names, for an error."""
    shown = ", ".join(repr(name[:60]) for name in names[:20]) or "none at all"
    return shown if len(names) <= 20 else f"{shown} and {len(names) - 20} more"
