"""The training job of a sweep: which function or command, and what its metric means. Plain data."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Job:
    """The training job: `function` is "module:name" (importable where the trial runs) or `command` a shell line.

    `cut_diverged` ends a trial early once its loss is lost; it is kept as diverged either way.
    """

    function: str | None = None
    command: str | None = None
    metric_name: str = "metric"
    direction: str = "max"
    task: str | None = None
    cut_diverged: bool = True
