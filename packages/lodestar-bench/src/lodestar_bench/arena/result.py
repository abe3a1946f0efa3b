"""What a contestant came to: test and validation figures seed by seed, as plain data that is one line of a file.

Comes in: outcomes of its final runs. Goes out: a `Result`, and a line of JSON. Averages and tests: see `standings`.
"""

import dataclasses
import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from lodestar.runs import Status
from lodestar_bench.train import TrainingOutcome

VERSION = 1


@dataclasses.dataclass(frozen=True)
class Result:
    """`tests` and `validations` by seed, NaN for a run that diverged; `floor` is the worst first metric of any run.

    `identity` says what it was, `code` which code steered, `settings` all of the scheduler's settings then.
    """

    name: str
    ours: bool
    identity: Mapping[str, Any]
    code: str
    seeds: tuple[int, ...]
    tests: tuple[float, ...]
    validations: tuple[float, ...]
    floor: float
    seconds: float
    when: str
    facts: Mapping[str, float] = dataclasses.field(default_factory=dict)

    @property
    def mark(self) -> str:
        """The same for the same contestant, seeds and code."""
        return mark_of({"identity": self.identity, "code": self.code, "seeds": list(self.seeds)})

    def to_line(self) -> str:
        """One line of JSON; NaN is null."""
        data = {"version": VERSION, **dataclasses.asdict(self)}
        return json.dumps(_without_nan(data), allow_nan=False)

    @classmethod
    def from_line(cls, line: str) -> "Result":
        """What `to_line` wrote; `ValueError` if it is not that."""
        data = json.loads(line)
        if not isinstance(data, dict) or not isinstance(version := data.pop("version", None), int):
            raise ValueError("not a result of the arena")
        if version > VERSION:
            raise ValueError(f"it has version {version}, this Lodestar reads up to {VERSION}; upgrade")
        numbers = {key: tuple(_number(one) for one in data[key]) for key in ("tests", "validations")}
        data |= numbers | {"seeds": tuple(data["seeds"]), "floor": _number(data["floor"])}
        return cls(**data)


def mark_of(data: Mapping[str, Any]) -> str:
    """A short word for plain data."""
    text = json.dumps(_without_nan(data), sort_keys=True, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def figures(outcomes: Sequence[TrainingOutcome], *, smaller: bool) -> dict[str, Any]:
    """The parts of a `Result` that come from runs."""
    complete = [outcome.status is Status.FINISHED and math.isfinite(outcome.test.metric) for outcome in outcomes]
    firsts = [float(outcome.run.metric.values[0]) for outcome in outcomes if len(outcome.run.metric)]
    pairs = list(zip(outcomes, complete, strict=True))
    return {
        "tests": tuple(outcome.test.metric if fine else math.nan for outcome, fine in pairs),
        "validations": tuple(outcome.validation.metric if fine else math.nan for outcome, fine in pairs),
        "floor": (max if smaller else min)(firsts, default=math.nan),
    }


def _without_nan(data: Any) -> Any:
    if isinstance(data, Mapping):
        return {str(key): _without_nan(value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [_without_nan(value) for value in data]
    return None if isinstance(data, float) and not math.isfinite(data) else data


def _number(value: float | None) -> float:
    return math.nan if value is None else float(value)
