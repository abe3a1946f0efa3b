"""The tasks and methods that come with the bench, a line each: for lists.

Comes in: nothing. Goes out: plain data. No data set is loaded, no weights are made.
"""

import dataclasses

from lodestar_bench import methods, tasks

BUDGETS = {
    "nothing": "25 runs to tune",
    "by training": "25 runs to train",
    "from runs": "fits 100 runs",
}


@dataclasses.dataclass(frozen=True)
class TaskLine:
    """A task. `parameters` are the weights at each scale; `missing` tells of data that are not here, size included."""

    name: str
    title: str
    parameters: dict[str, int]
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
    return [_line(tasks.task(name)) for name in tasks.names()]


def _line(task: tasks.Task) -> TaskLine:
    sizes = {} if task.model is None else {scale: task.model(scale).parameters() for scale in task.scales}
    missing = tuple(
        source.size.partition(";")[0] + (", fetched at first use" if source.remotes else ", not here")
        for source in task.missing()
    )
    return TaskLine(task.name, task.title, sizes, missing)


def list_methods() -> list[MethodLine]:
    """Every method by name."""
    found = (methods.method(name) for name in methods.names())
    return [MethodLine(one.name, one.title, one.group, BUDGETS[one.learns]) for one in found]
