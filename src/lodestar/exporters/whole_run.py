"""A whole run, written at once under names that `lodestar import` understands."""

from collections.abc import Mapping

from lodestar.exporters.writer import AbstractWriter
from lodestar.runs.run import OUR_DIRECTION, OUR_METRIC, OUR_TASK, Direction, Run, Scalar


def write_run(run: Run, writer: AbstractWriter) -> None:
    """Write it, from begin to end; raises what the writer raises."""
    writer.begin(run.name, settings_of(run))
    rows: dict[int, dict[str, float]] = {}
    for name, series in (("loss", run.loss), (metric_name(run.metric_name), run.metric), ("lr", run.lr)):
        for step, value in zip(series.steps.tolist(), series.values.tolist(), strict=True):
            rows.setdefault(step, {})[name] = value
    for step in sorted(rows):
        writer.log(step, rows[step])
    writer.end(run.status)


def metric_name(name: str) -> str:
    """The metric's own name, unless the loss or the learning rate is called so."""
    return "metric" if name in ("", "loss", "lr") else name


def told(metric: str, direction: Direction, task: str | None) -> dict[str, Scalar]:
    """Settings by which an import knows our metric and task again, whatever they and their experiment are called."""
    return {OUR_METRIC: metric, OUR_DIRECTION: str(direction), **({OUR_TASK: task} if task else {})}


def settings_of(run: Run) -> Mapping[str, Scalar]:
    """What is known of a run besides its curves."""
    facts = run.facts
    stated = {"task": facts.task, "schedule": facts.schedule, "peak_lr": facts.peak_lr, "seed": facts.seed}
    stated |= {"total_steps": run.total_steps, **told(metric_name(run.metric_name), run.direction, facts.task)}
    return {**facts.extra, **{name: value for name, value in stated.items() if value is not None}}
