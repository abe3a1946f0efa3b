"""`RunSummary`: what a listing shows of a run, without its curves."""

import dataclasses
import math

from lodestar.runs.note import Note
from lodestar.runs.run import Direction, Facts, Run, Status


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

    @classmethod
    def of(cls, run: Run) -> "RunSummary":
        """The summary of a run in memory."""
        return cls(
            name=run.name,
            status=run.status,
            direction=run.direction,
            metric_name=run.metric_name,
            total_steps=run.total_steps,
            last_step=run.last_step,
            points=len(run.loss),
            metric_points=len(run.metric),
            lr_points=len(run.lr),
            final_metric=run.final_metric,
            peak_lr=run.peak_lr,
            facts=run.facts,
            notes=run.notes,
        )

    @property
    def task(self) -> str | None:
        """The task, if known."""
        return self.facts.task

    @property
    def schedule(self) -> str | None:
        """The schedule's name, if known."""
        return self.facts.schedule

    @property
    def seed(self) -> int | None:
        """The seed, if known."""
        return self.facts.seed

    @property
    def source(self) -> str | None:
        """Where the run came from, if known."""
        return self.facts.source

    def as_dict(self) -> dict[str, object]:
        """Plain data for JSON: NaN becomes None, facts lie flat."""
        row = dataclasses.asdict(self)
        facts = row.pop("facts")
        stated = facts.pop("peak_lr")
        row |= facts | {"stated_peak_lr": stated, "notes": list(self.notes)}
        return {key: None if isinstance(v, float) and not math.isfinite(v) else v for key, v in row.items()}
