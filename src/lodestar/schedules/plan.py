"""`Plan`: what release one called a `Schedule` through knots. Its name, its arguments and its files still work."""

from collections.abc import Sequence
from typing import Any

from lodestar.schedules.schedule import Schedule
from lodestar.schedules.schedule import read_polyline as read_polyline


class _OldName(type):
    """`Plan(...)` makes a `Schedule`, and every `Schedule` is a `Plan`."""

    def __call__(cls, first_step: int, last_step: int, knots: Sequence[float], lr: Sequence[float]) -> Any:
        return Schedule("plan", lr, knots=knots, first_step=first_step, last_step=last_step)

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, Schedule)


class Plan(Schedule, metaclass=_OldName):
    """A schedule through knots, by its old name."""
