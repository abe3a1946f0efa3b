"""The scheduler's state as plain data: what goes into a checkpoint and comes back from one.

Comes in: a scheduler, or a dict. Goes out: str, int, float, bool, None, list and dict only, so that it passes JSON and
`torch.load(weights_only=True)`. A state that does not fit is refused before anything is changed.
"""

import hashlib
from typing import TYPE_CHECKING, Any

from lodestar._extras import update_line
from lodestar.scheduler.clock import Clock
from lodestar.scheduler.course import Course
from lodestar.scheduler.curve import Curve
from lodestar.scheduler.history import History
from lodestar.scheduler.records.decision import Decision
from lodestar.scheduler.safety.guard import Cut

if TYPE_CHECKING:
    from lodestar.scheduler.scheduler import Scheduler

FORMAT = "lodestar-scheduler"
VERSION = 1


def save(scheduler: "Scheduler") -> dict[str, Any]:
    """Everything needed to go on."""
    return {
        "format": FORMAT,
        "version": VERSION,
        "forecaster": _fingerprint(scheduler),
        "settings": scheduler.settings.to_dict(),
        "seed": scheduler.seed,
        "mode": scheduler.mode,
        "built_for": scheduler._built_for,
        "total_steps": scheduler.total_steps,
        "last_step": scheduler._last,
        "settled": scheduler._settled,
        "revision": scheduler._revision,
        "closed": scheduler._rates.closed,
        "gear": scheduler._gear,
        "gears": list(scheduler._gears),
        "cut": [scheduler._cut.factor, scheduler._cut.until],
        "course": scheduler._course.to_dict(),
        "curve": {"knots": list(scheduler._rates.curve.knots), "lr": list(scheduler._rates.curve.lr)},
        "history": scheduler._history.to_dict(),
        "decisions": [decision.to_dict() for decision in scheduler.decisions],
        "warnings": list(scheduler.warnings),
        "warned": sorted(scheduler._journal.warned),
    }


def restore(scheduler: "Scheduler", saved: dict[str, Any]) -> None:
    """Put a saved state into a scheduler built with the same arguments."""
    _check(scheduler, saved)
    try:
        parts = _parts(scheduler, saved)
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        raise ValueError(f"the scheduler's state is damaged: {error!r}. Fix: resume from another checkpoint") from error
    journal, rates = scheduler._journal, scheduler._rates
    journal.decisions, journal.warnings, journal.warned = parts.pop("journal")
    rates.curve, rates.closed = parts.pop("rates")
    for name, value in parts.items():
        setattr(scheduler, name, value)
    clock = scheduler._clock
    scheduler._next = clock.end(scheduler._settled) if scheduler._settled < clock.points else clock.total_steps
    has = {"settings": scheduler.settings.to_dict(), "seed": scheduler.seed, "mode": scheduler.mode}
    for name, now in has.items():
        if saved.get(name) != now:
            scheduler._warn(
                f"other {name}",
                f"the state was saved with {name} {saved.get(name)!r}, this scheduler has {now!r}, which holds now",
            )


def _parts(scheduler: "Scheduler", saved: dict[str, Any]) -> dict[str, Any]:
    closed, _ = saved["closed"], int(saved["built_for"])
    factor, until = saved["cut"]
    return {
        "_clock": Clock(int(saved["total_steps"]), scheduler._clock.points, scheduler._clock.window),
        "_last": int(saved["last_step"]),
        "_settled": int(saved["settled"]),
        "_revision": int(saved["revision"]),
        "_gear": float(saved.get("gear", 1.0)),  # states of before gears have none
        "_gears": [float(gear) for gear in saved.get("gears", ())],
        "_cut": Cut(float(factor), int(until)),
        "_course": Course.from_dict(saved["course"]),
        "rates": (
            Curve(list(map(float, saved["curve"]["knots"])), list(map(float, saved["curve"]["lr"]))),
            None if closed is None else int(closed),
        ),
        "_history": History.from_dict(saved["history"]),
        "journal": (
            [Decision.from_dict(one) for one in saved["decisions"]],
            [str(one) for one in saved["warnings"]],
            {str(one) for one in saved["warned"]},
        ),
    }


def _check(scheduler: "Scheduler", saved: dict[str, Any]) -> None:
    if not isinstance(saved, dict) or saved.get("format") != FORMAT:
        raise ValueError("this is not a scheduler's state. Fix: pass what Scheduler.state_dict() returned")
    version = saved.get("version")
    if not isinstance(version, int) or version > VERSION:
        raise ValueError(
            f"the state has version {version!r}, this Lodestar reads up to {VERSION}. Fix: {update_line()}"
        )
    if saved.get("forecaster") != _fingerprint(scheduler):
        raise ValueError(
            "the state was saved with another forecaster, and its plan would mean nothing here. "
            "Fix: build the scheduler with the forecaster file the run was started with"
        )


def _fingerprint(scheduler: "Scheduler") -> str:
    """Tells forecasters apart; the same before and after a forecaster is written and read."""
    forecaster = scheduler.forecaster
    digest = hashlib.sha256(forecaster.spread.tobytes())
    for array in (forecaster.references.merit, forecaster.ranges.low, forecaster.ranges.high):
        digest.update(array.tobytes())
    return digest.hexdigest()[:16]
