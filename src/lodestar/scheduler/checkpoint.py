"""A checkpoint: a state, and who saved it. What `Scheduler.state_dict()` gives and `load_state_dict` takes.

Comes in: a saved dict. Goes out: the same, checked: a foreign, newer or ill-fitting one is refused with its cure.
"""

import dataclasses
import hashlib
from collections.abc import Iterator, Mapping
from typing import Any

from lodestar._extras import update_line
from lodestar._plain import shown
from lodestar.forecaster import Forecaster
from lodestar.scheduler.state import State

FORMAT = "lodestar-scheduler"
VERSION = 1


@dataclasses.dataclass(frozen=True)
class Owner:
    """The scheduler a state belongs to."""

    forecaster: str  # its fingerprint
    settings: dict[str, Any]
    seed: int
    mode: str
    built_for: int  # total_steps as given when it was built


def saved(owner: Owner, state: State) -> dict[str, Any]:
    """Everything needed to go on, as plain data."""
    return {"format": FORMAT, "version": VERSION, **dataclasses.asdict(owner), **state.to_dict()}


def check(data: Mapping[str, Any], owner: Owner) -> None:
    """Refuse what is not a state of such a scheduler."""
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise ValueError("this is not a scheduler's state. Fix: pass what Scheduler.state_dict() returned")
    version = data.get("version")
    if type(version) is not int or not 1 <= version <= VERSION:
        raise ValueError(
            f"the state has version {shown(version)}, this Lodestar reads up to {VERSION}. Fix: {update_line()}"
        )
    if data.get("forecaster") != owner.forecaster:
        raise ValueError(
            "the state was saved with another forecaster, and its plan would mean nothing here. "
            "Fix: build the scheduler with the forecaster file the run was started with"
        )
    for name, kind in {"settings": dict, "seed": int, "mode": str, "built_for": int}.items():
        if not isinstance(data.get(name), kind):
            raise ValueError(
                f"the scheduler's state is damaged: {name} is {shown(data.get(name))}. "
                "Fix: resume from another checkpoint"
            )


def changes(data: Mapping[str, Any], owner: Owner) -> Iterator[tuple[str, str]]:
    """What is not as it was when the state was saved, each with a sentence."""
    for name in ("settings", "seed", "mode"):
        was, now = data[name], getattr(owner, name)
        if was == now:
            continue
        if isinstance(now, dict):
            other = [key for key in {**now, **was} if was.get(key) != now.get(key)]
            was, now = ({key: part.get(key) for key in other} for part in (was, now))
        yield name, f"the state was saved with {name} {shown(was)}, this scheduler has {shown(now)}, which holds now"


def fingerprint(forecaster: Forecaster) -> str:
    """Tells forecasters apart; the same before and after a forecaster is written and read."""
    digest = hashlib.sha256(forecaster.spread.tobytes())
    for array in (forecaster.references.merit, forecaster.ranges.low, forecaster.ranges.high):
        digest.update(array.tobytes())
    return digest.hexdigest()[:16]
