"""A checkpoint: a state, and who saved it. What `Scheduler.state_dict()` gives and `load_state_dict` takes.

Comes in: a saved dict. Goes out: the same, checked: a foreign, newer or ill-fitting one is refused with its cure.
"""

import dataclasses
import hashlib
from collections.abc import Iterator, Mapping
from typing import Any

from lodestar._extras import update_line
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
    if not isinstance(version, int) or version > VERSION:
        raise ValueError(
            f"the state has version {version!r}, this Lodestar reads up to {VERSION}. Fix: {update_line()}"
        )
    if data.get("forecaster") != owner.forecaster:
        raise ValueError(
            "the state was saved with another forecaster, and its plan would mean nothing here. "
            "Fix: build the scheduler with the forecaster file the run was started with"
        )
    if not isinstance(data.get("built_for"), int):
        raise ValueError(
            f"the scheduler's state is damaged: built_for is {data.get('built_for')!r}, not a number of steps. "
            "Fix: resume from another checkpoint"
        )


def changes(data: Mapping[str, Any], owner: Owner) -> Iterator[tuple[str, str]]:
    """What is not as it was when the state was saved, each with a sentence."""
    for name in ("settings", "seed", "mode"):
        was, now = data.get(name), getattr(owner, name)
        if was != now:
            yield name, f"the state was saved with {name} {was!r}, this scheduler has {now!r}, which holds now"


def fingerprint(forecaster: Forecaster) -> str:
    """Tells forecasters apart; the same before and after a forecaster is written and read."""
    digest = hashlib.sha256(forecaster.spread.tobytes())
    for array in (forecaster.references.merit, forecaster.ranges.low, forecaster.ranges.high):
        digest.update(array.tobytes())
    return digest.hexdigest()[:16]
