"""The scheduler's state: everything that changes during a run, in one dataclass that is saved and restored.

Goes out and comes in: str, int, float, bool, None, list and dict only, so that it passes JSON and
`torch.load(weights_only=True)`. The keys are those of release one, whose states are read; they keep its words ("gear"
is the rescaling, "course" the planned run, "curve" the schedule). Knows nothing of how decisions are made.
"""

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

from lodestar._plain import number, numbers, shown, texts, whole
from lodestar.scheduler.clock import Clock
from lodestar.scheduler.history import History
from lodestar.scheduler.planned_run import PlannedRun
from lodestar.scheduler.records.decision import Decision
from lodestar.scheduler.records.journal import Entries
from lodestar.scheduler.safety.guard import Cut
from lodestar.schedules.schedule import Schedule

_LEAST_FACTOR = 1e-9  # rates are divided by these


@dataclasses.dataclass
class State:
    """Where one run stands."""

    clock: Clock
    history: History
    planned: PlannedRun  # what is followed, as it was forecast
    schedule: Schedule  # the rate of every step so far and to come; never rewritten behind the present
    entries: Entries = dataclasses.field(default_factory=Entries)
    last_step: int = 0  # the highest step asked for
    settled: int = 0  # points whose end has been passed
    revision: int = 0  # how often the run's length was changed
    closed: int | None = None  # the gate closed after this step; None while it is open
    rescale: float = 1.0  # the job's rate times this is the rate the forecaster sees
    rescales: list[float] = dataclasses.field(default_factory=list)  # as found, one a window; their mean is `rescale`
    cut: Cut = dataclasses.field(default_factory=Cut)
    paused: bool = False  # by hand: the plan stays as it is
    ends_after: int | None = None  # the update after which a command ends the run

    def extend(self, clock: Clock, used: Callable[[int], float]) -> None:
        """Put the run on a clock of another length; `used` is the rate of any step so far."""
        old, here = self.clock, self.last_step
        place = here * old.points / old.total_steps - self.planned.start
        self.history = self.history.rebinned(clock.total_steps, used, here)
        self.clock, self.settled = clock, clock.complete(here)
        self.revision += 1
        self.planned = self.planned.stretched(self.settled, clock.points, place)
        self.cut = Cut(self.cut.factor, round(self.cut.until * old.total_steps / clock.total_steps))

    @property
    def _by_hand(self) -> bool:
        return self.paused or self.ends_after is not None

    def to_dict(self) -> dict[str, Any]:
        """Plain data; what a person commanded only where there is something, which release one did not know."""
        return {
            "total_steps": self.clock.total_steps,
            "last_step": self.last_step,
            "settled": self.settled,
            "revision": self.revision,
            "closed": self.closed,
            "gear": self.rescale,
            "gears": list(self.rescales),
            "cut": [self.cut.factor, self.cut.until],
            **({"paused": self.paused, "ends_after": self.ends_after} if self._by_hand else {}),
            "course": self.planned.to_dict(),
            "curve": {"knots": list(self.schedule.knots), "lr": list(self.schedule.lr)},
            "history": self.history.to_dict(),
            "decisions": [decision.to_dict() for decision in self.entries.decisions],
            "warnings": list(self.entries.warnings),
            "warned": sorted(self.entries.warned),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], clock: Clock) -> "State":
        """Back from `to_dict`, on the grid of `clock`; a ValueError if a part is missing or does not fit."""
        try:
            state = cls._read(data, dataclasses.replace(clock, total_steps=data["total_steps"]))
            state._check()
        except Exception as error:
            raise ValueError(
                f"the scheduler's state is damaged: {shown(error)}. Fix: resume from another checkpoint"
            ) from error
        return state

    @classmethod
    def _read(cls, data: Mapping[str, Any], clock: Clock) -> "State":
        factor, until = data["cut"]
        curve, gears = data["curve"], data.get("gears", [])  # the first states had none
        if not isinstance(data["decisions"], list):
            raise ValueError(f"decisions must be a list, got {shown(data['decisions'])}")
        return cls(
            clock=clock,
            history=History.from_dict(data["history"], clock.points),
            planned=PlannedRun.from_dict(data["course"]),
            schedule=Schedule(
                "steered",
                numbers(curve["lr"], "curve's lr"),
                knots=numbers(curve["knots"], "curve's knots"),
                last_step=clock.total_steps,
            ),
            entries=Entries(
                [Decision.from_dict(decision) for decision in data["decisions"]],
                texts(data["warnings"], "warnings"),
                set(texts(data["warned"], "warned")),
            ),
            last_step=whole(data["last_step"], "last_step"),
            settled=whole(data["settled"], "settled"),
            revision=whole(data["revision"], "revision"),
            closed=None if data["closed"] is None else whole(data["closed"], "closed"),
            rescale=number(data.get("gear", 1.0), "gear", _LEAST_FACTOR),
            rescales=numbers(gears, "gears", _LEAST_FACTOR),
            cut=Cut(number(factor, "cut", _LEAST_FACTOR), whole(until, "cut")),
            paused=bool(whole(int(data.get("paused", False)), "paused", 0, 1)),
            ends_after=None if data.get("ends_after") is None else whole(data["ends_after"], "ends_after"),
        )

    def _check(self) -> None:
        clock, history, planned = self.clock, self.history, self.planned
        rules = {
            f"history of a run of {clock.total_steps} steps": history.total_steps == clock.total_steps,
            "course to the run's end": planned.start + len(planned.lr) - 1 == clock.points,
            f"settled of 0 to {clock.points}": 0 <= self.settled <= clock.points,
            f"last_step of 0 to {clock.total_steps}": 0 <= self.last_step <= clock.total_steps,
        }
        for rule, holds in rules.items():
            if not holds:
                raise ValueError(f"it must have a {rule}")
