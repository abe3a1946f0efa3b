"""The clock: optimizer steps, points of the grid and windows, and how they turn into one another.

Point i ends at step floor((i + 1) x total_steps / points); window w ends where point w x window - 1 does. Whole-number
arithmetic, the same as for stored runs. Comes in and goes out: numbers.
"""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Clock:
    """A run of `total_steps` on a grid of `points`, decided every `window` points."""

    total_steps: int
    points: int
    window: int

    def __post_init__(self):
        if isinstance(self.total_steps, bool) or not isinstance(self.total_steps, int) or self.total_steps < 1:
            raise ValueError(
                f"total_steps must be a whole number of optimizer steps, got {self.total_steps!r}. "
                "Fix: epochs x batches per epoch / gradient accumulation"
            )
        windows = -(-self.points // self.window)
        if windows < 2:
            raise ValueError(
                f"window must leave room for a second one, got {self.window} of {self.points} points. "
                "Fix: window=0.05 decides every 5 % of the run"
            )
        if self.total_steps < windows:
            raise ValueError(
                f"total_steps must be at least one for each of the {windows} windows, got {self.total_steps}: a window "
                "would be shorter than a step. Fix: a longer window, or steer longer runs"
            )

    def end(self, point: int) -> int:
        """The last step of a point."""
        return (point + 1) * self.total_steps // self.points

    def open_until(self, settled: int) -> int:
        """The last step before more than `settled` points have ended."""
        return self.end(settled) if settled < self.points else self.total_steps

    def window_end(self, settled: int) -> int:
        """The last step of the window that is open after `settled` points."""
        return self.end(min((settled // self.window + 1) * self.window, self.points) - 1)

    def at(self, node: float) -> float:
        """Where a node stands, in steps: node n is n points into the run."""
        return node * self.total_steps / self.points

    def complete(self, step: int) -> int:
        """How many points are complete after a step."""
        return min(step * self.points // self.total_steps, self.points)
