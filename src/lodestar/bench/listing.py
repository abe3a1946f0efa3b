"""The tasks and methods that come with the bench, a line each: for lists.

Comes in: nothing. Goes out: plain data. No data set is loaded, no model built.
"""

import dataclasses

from lodestar.bench import methods, tasks

BUDGETS = {
    "nothing": "25 runs to tune",
    "by training": "25 runs to train",
    "from runs": "fits 100 runs",
}


@dataclasses.dataclass(frozen=True)
class TaskLine:
    """A task; `missing` says what data are not here, and where they come from."""

    name: str
    title: str
    missing: tuple[str, ...]

    def as_dict(self) -> dict[str, object]:
        """Plain data."""
        return {**dataclasses.asdict(self), "missing": list(self.missing)}


@dataclasses.dataclass(frozen=True)
class MethodLine:
    """A method."""

    name: str
    title: str
    group: str
    budget: str

    def as_dict(self) -> dict[str, object]:
        """Plain data."""
        return dataclasses.asdict(self)


def list_tasks() -> list[TaskLine]:
    """Every task by name."""
    found = (tasks.task(name) for name in tasks.names())
    return [TaskLine(task.name, task.title, tuple(str(source.name) for source in task.missing())) for task in found]


def list_methods() -> list[MethodLine]:
    """Every method by name."""
    found = (methods.method(name) for name in methods.names())
    return [MethodLine(one.name, one.title, one.group, BUDGETS[one.learns]) for one in found]
