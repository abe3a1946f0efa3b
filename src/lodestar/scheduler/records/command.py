"""A command: what a person asks of a job under way, who asked and when; and the small file it waits in.

The file lies beside the job's log and holds one command at a time. Whoever commands writes it, whole; the job only
reads it, and puts what it did on record. Comes in: words and numbers, checked. Goes out: plain data. Nothing here acts.
"""

import dataclasses
import itertools
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lodestar import _disk
from lodestar._extras import update_line
from lodestar._plain import from_json, number, shown, whole

FORMAT = "lodestar-control"
VERSION = 1
WORDS = ("pause", "resume", "scale", "take", "extend", "stop")
_MOST_KNOTS = 1000
_MOST_TEXT = 200
_LARGEST = 1 << 20  # bytes of a file that can be one of ours

Knots = tuple[tuple[float, float], ...]  # (step, lr), in order


@dataclasses.dataclass(frozen=True)
class Command:
    """One command. `value` is the factor of "scale", the length of "extend", the knots of "take", else None."""

    do: str
    value: float | int | Knots | None
    by: str
    at: str  # when it was sent, in UTC
    id: str

    def __str__(self) -> str:
        if self.do == "take":
            return "take a schedule drawn by hand"
        return self.do if self.value is None else f"{self.do} {self.value:g}"

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return dataclasses.asdict(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "Command":
        """Back from `to_dict`; a ValueError, TypeError or KeyError if it is no command."""
        texts = {name: data[name] for name in ("do", "by", "at", "id")}
        for name, text in texts.items():
            if not isinstance(text, str) or not 0 < len(text) <= _MOST_TEXT:
                raise ValueError(f"a command's {name} must be a text of 1 to {_MOST_TEXT} signs, got {shown(text)}")
        return cls(value=checked_value(texts["do"], data["value"]), **texts)


def checked_value(do: str, value: Any) -> float | int | Knots | None:
    """What a command takes, as it should be, or a ValueError with the fix."""
    if do not in WORDS:
        raise ValueError(f"there is no command {shown(do)}. Fix: one of {', '.join(WORDS)}")
    if do == "scale":
        factor = number(value, "the factor of scale")
        if not 0 < factor <= 1e6:
            raise ValueError(f"the factor of scale must be above 0 and at most 1e6, got {factor:g}. Fix: 0.5 halves it")
        return factor
    if do == "extend":
        return whole(value, "the new length of extend", 1, 10**12)
    if do == "take":
        return _knots(value)
    if value is not None:
        raise ValueError(f"{do} takes no value, got {shown(value)}. Fix: leave it out")
    return None


def _knots(value: Any) -> Knots:
    if not isinstance(value, list | tuple) or not 1 <= len(value) <= _MOST_KNOTS:
        raise ValueError(f"a schedule to take must be 1 to {_MOST_KNOTS} pairs of step and lr, got {shown(value)}")
    if not all(isinstance(pair, list | tuple) and len(pair) == 2 for pair in value):
        raise ValueError(f"a schedule to take must be pairs of step and lr, got {shown(value)}")
    knots = tuple((number(step, "a step", 0), number(lr, "an lr", 0)) for step, lr in value)
    if any(b[0] <= a[0] for a, b in itertools.pairwise(knots)):
        raise ValueError("the steps of a schedule to take must rise. Fix: sort the pairs by step")
    return knots


def control_path(log: Path) -> Path:
    """The file beside a log in which a command waits."""
    return log.with_name(f"{log.stem}.control.json")


def read_waiting(path: Path) -> tuple[str | None, Command] | None:
    """The job a command is for and the command; None where there is no file. A ValueError says what is wrong."""
    try:
        if path.stat().st_size > _LARGEST:
            raise ValueError("it is larger than any command")
        content = from_json(_disk.read_whole(path), finite=True)
    except FileNotFoundError:
        return None
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise ValueError("it holds no command of Lodestar's")
    version = content.get("version")
    if version != VERSION:
        raise ValueError(f"it has version {shown(version)}, this Lodestar reads {VERSION}: {update_line()}")
    try:
        return content.get("job"), Command.from_dict(content["command"])
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"its command lacks something: {shown(error)}") from error
