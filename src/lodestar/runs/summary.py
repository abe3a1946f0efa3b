"""`RunSummary`: what a listing shows of a run, without its curves."""

import dataclasses
import math

from lodestar.runs.note import Note
from lodestar.runs.run import Direction, Facts, Status


@dataclasses.dataclass(frozen=True)
class RunSummary:
    """A run in one line: `points` counts logged losses; `final_metric` and `peak_lr` are NaN where not logged."""

    name: str
    status: Status
    direction: Direction
    metric_name: str
    total_steps: int
    last_step: int
    points: int
    metric_points: int
    lr_points: int
    final_metric: float
    peak_lr: float
    facts: Facts
    notes: tuple[Note, ...]

    @property
    def task(self) -> str | None:
        return self.facts.task

    @property
    def schedule(self) -> str | None:
        return self.facts.schedule

    @property
    def seed(self) -> int | None:
        return self.facts.seed

    @property
    def source(self) -> str | None:
        return self.facts.source

    def as_dict(self) -> dict[str, object]:
        """Plain data for JSON: NaN becomes None, facts lie flat."""
        row = dataclasses.asdict(self)
        facts = row.pop("facts")
        stated = facts.pop("peak_lr")
        row |= facts | {"stated_peak_lr": stated, "notes": list(self.notes)}
        return {key: None if isinstance(v, float) and not math.isfinite(v) else v for key, v in row.items()}
