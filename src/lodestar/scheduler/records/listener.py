"""Who may listen to a scheduler: told of what was observed and decided, in the training job's own thread.

A listener never waits and should not raise. Each method returns a sentence on what went wrong, or None; the scheduler
records it as a warning, as it does where one raises. `lodestar.exporters.follow` makes one.
"""

from typing import Protocol

from lodestar.scheduler.records.decision import Decision


class Listener(Protocol):
    """What a listener answers."""

    def observed(self, step: int, loss: float | None, metric: float | None, lr: float) -> str | None:
        """Something was measured at `step`, whose update had the rate `lr`."""
        ...

    def decided(self, decision: Decision) -> str | None:
        """A decision was made."""
        ...
