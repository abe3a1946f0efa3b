"""Which settings of the runs tell their scale: guessed from the names over all runs, or as the user says.

Comes in: listed runs and the user's choices. Goes out: what was taken for the size, the batch and so on, to be shown
before anything is stored, and the facts as the user states them. The names are in `runs/fact_names.py`.
"""

import collections
import dataclasses
import difflib
from collections.abc import Mapping, Sequence

from lodestar.importers.choices import Choices
from lodestar.importers.reader import AbstractReader, ListedRun
from lodestar.importers.roles import NONE, listed_names
from lodestar.runs.fact_names import OURS
from lodestar.runs.run import Scalar
from lodestar.runs.scale import read_facts

_SHOWN = 6  # different values of a fact


@dataclasses.dataclass(frozen=True)
class FactGuess:
    """One fact of the scale: the keys it was read from, its values in order, and how many runs have it."""

    fact: str
    keys: tuple[str, ...]
    values: tuple[Scalar, ...]
    runs: int


@dataclasses.dataclass(frozen=True)
class ScaleGuess:
    """What was taken for the scale of all runs; `unclear` are sentences, with the number of runs each is true of."""

    facts: tuple[FactGuess, ...]
    unclear: Mapping[str, int]
    runs: int

    @property
    def line(self) -> str:
        """In one line: "size: width (16, 32, 64), batch: batch_size (64)"; empty where nothing is known."""
        taken = {guess.fact: guess for guess in self.facts}
        if "width" in taken:
            taken.pop("parameters", None)
        return ", ".join(self._said(guess) for guess in taken.values())

    def as_dict(self) -> dict[str, object]:
        known = {guess.fact: dataclasses.asdict(guess) for guess in self.facts}
        return {"facts": known, "unclear": dict(self.unclear)}

    def _said(self, guess: FactGuess) -> str:
        name = {"width": "size", "parameters": "size", "batch_size": "batch"}.get(guess.fact, guess.fact)
        values = [f"{value:g}" if isinstance(value, float) else str(value) for value in guess.values]
        listed = ", ".join(values[:_SHOWN]) + (f", ... {len(values)} values" if len(values) > _SHOWN else "")
        some = f"; {guess.runs} of {self.runs} runs" if guess.runs < self.runs else ""
        return f"{name.replace('_', ' ')}: {' or '.join(guess.keys)} ({listed}{some})"


def guess_scale(runs: Sequence[ListedRun], choices: Choices) -> ScaleGuess:
    """What the configs of the runs say of their scale."""
    values: dict[str, list[Scalar]] = {}
    keys: dict[str, dict[str, None]] = {}
    unclear: collections.Counter[str] = collections.Counter()
    for run in runs:
        reading = read_facts({**run.config, **stated_scale(run.config, choices)})
        unclear.update(reading.sentences)
        for fact, key in reading.sources.items():
            values.setdefault(fact, []).append(getattr(reading.scale, fact))
            said = (choices.facts or {}).get(fact, key) if key == OURS + fact else key
            keys.setdefault(fact, {})[said] = None
    order = ("width", "parameters", "batch_size", "samples", "optimizer", "weight_decay")
    found = [
        FactGuess(fact, tuple(keys[fact]), tuple(sorted(set(values[fact]), key=_order)), len(values[fact]))
        for fact in order
        if fact in values
    ]
    return ScaleGuess(tuple(found), unclear, len(runs))


def stated_scale(config: Mapping[str, Scalar], choices: Choices) -> dict[str, Scalar]:
    """The facts as the user says: of the key named, or the value itself; "none" says there is none."""
    stated = {OURS + fact: config.get(key, None if _of_config(key) else key) for fact, key in _said(choices)}
    return {name: value for name, value in stated.items() if value is not None}


def check_facts(runs: Sequence[ListedRun], choices: Choices, reader: AbstractReader) -> None:
    """Refuse a key that no run has."""
    there = list(dict.fromkeys(key for run in runs for key in run.config))
    for fact, key in _said(choices):
        if key not in there and _of_config(key):
            near = difflib.get_close_matches(key, there, n=1)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            raise reader.error(
                f"no run in {reader.address} states {key!r} (--fact {fact}={key}).{hint} Stated are: "
                f"{listed_names(there)}. Fix: name one of these, a number, or {NONE!r}"
            )


def _said(choices: Choices) -> list[tuple[str, str]]:
    return list((choices.facts or {}).items())


def _of_config(key: str) -> bool:
    """Whether that names a key, and is no value itself."""
    if key.lower() == NONE:
        return False
    try:
        float(key)
    except ValueError:
        return True
    return False


def _order(value: Scalar) -> tuple[bool, float, str]:
    number = isinstance(value, int | float)
    return (not number, float(value) if number else 0.0, str(value))
