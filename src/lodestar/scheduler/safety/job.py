"""The job against the forecaster, when the scheduler is built: is this the kind of job it was fitted to?

Comes in: what a user or an adapter says of the job, and what the forecaster knows. Goes out: a ValueError where the
metric goes the other way or is of another kind, and a finding for everything else that differs. Pure; what either side
does not know is not compared.
"""

import dataclasses
import difflib
import math
import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from lodestar.forecaster.job import KnownJob, Range
from lodestar.forecaster.scale_law import LENGTH, QUANTITIES
from lodestar.runs.metric_name import HIGHER, LOWER, guess_direction, tokens
from lodestar.runs.run import Direction
from lodestar.runs.scale import FACTS, optimizer_key
from lodestar.scheduler.inputs import number_of

Finding = tuple[str, str]  # kind, sentence
_SMALLEST = math.ulp(0.0)
_LEAST = {"batch_size": _SMALLEST, "parameters": _SMALLEST, "width": _SMALLEST, "weight_decay": 0.0}
_FAR = 2.0  # a batch or a size beyond the runs' by this factor is worth a word
_FAR_STEPS = 5.0  # so is a length, by this one
_UNITS = {"share": ", a share in 0 to 1", "percent": ", in per cent", "loss": ", loss-like"}
_RATES = "fit on runs nearer to it, or watch whether the plan's rates suit it"


@dataclasses.dataclass(frozen=True)
class Job:
    """What is said of a job; None where nothing is."""

    metric: str | None = None  # the name under which it is reported
    task: str | None = None
    optimizer: str | None = None
    batch_size: float | None = None
    parameters: float | None = None
    width: float | None = None
    weight_decay: float | None = None
    updates: float | None = None  # that the job will make by its own reckoning
    lr: float | None = None  # the optimizer's own, as the user made it

    @classmethod
    def of(cls, stated: Mapping[str, Any]) -> "Job":
        """From plain data, checked."""
        known = {field.name: field.type for field in dataclasses.fields(cls)}
        values: dict[str, Any] = {}
        for key, value in stated.items():
            if key not in known:
                near = difflib.get_close_matches(str(key), list(known), n=1)
                hint = f"did you mean {near[0]!r}?" if near else f"known are {', '.join(known)}"
                raise ValueError(f"job has no {key!r}, got {key!r}: {value!r}. Fix: {hint}")
            text = "str" in str(known[key])
            values[key] = value if text or value is None else number_of(value)
            least = _LEAST.get(key, -math.inf)
            wrong = not isinstance(values[key], str) if text else not _within(values[key], least)
            if value is not None and (values[key] is None or wrong):
                bound = {0.0: " >= 0", _SMALLEST: " above 0"}.get(least, "")
                rule = "a text" if text else f"a finite number{bound}"
                like = "'AdamW'" if key == "optimizer" else "'...'" if text else "0.1" if least == 0.0 else "64"
                raise ValueError(
                    f"job's {key} must be {rule}, got {value!r}. Fix: job={{{key!r}: {like}}}, or leave it out"
                )
        return cls(**values)

    def quantities(self, total_steps: float) -> dict[str, float | None]:
        """What a law over sizes asks of a job."""
        return {name: getattr(self, name, None) for name in QUANTITIES} | {LENGTH: float(total_steps)}

    def over(self, other: "Job") -> "Job":
        """This, with what `other` says where this says nothing."""
        return dataclasses.replace(other, **{key: value for key, value in vars(self).items() if value is not None})

    @property
    def scale(self) -> dict[str, Any]:
        """The facts that an import of the run would read its scale from; whole numbers as such."""
        known = {name: getattr(self, name) for name in FACTS if getattr(self, name, None) is not None}
        return {key: int(v) if isinstance(v, float) and v.is_integer() else v for key, v in known.items()}


def check_metric(job: Job, known: KnownJob, stated: str | None) -> None:
    """Refuse a metric of the other direction or of another kind, going by its name unless the direction is stated."""
    if job.metric is None or stated is not None or same_metric(job.metric, known.metric_name):
        return
    parts = tokens(job.metric)
    way = None if parts & HIGHER and parts & LOWER else guess_direction(job.metric)
    if way is None or way is known.direction:
        return
    fitted = f"{known.metric_name!r}" if known.metric_name else "a metric"
    unit = _UNITS.get(known.metric_unit, "")
    raise ValueError(
        f"the job's metric must be of the forecaster's kind and direction: it was fitted to {fitted}{unit}, where "
        f"{_more(known.direction)} is better; got {job.metric!r}, where {_more(way)} is better, going by its name. "
        f"Fix: report the metric it was fitted to, fit on runs with yours, or say direction={str(known.direction)!r} "
        "if the name misleads"
    )


def differences(job: Job, known: KnownJob, total_steps: int, covered: Collection[str] = ()) -> Iterator[Finding]:
    """What else is not as it was in the training runs; `covered`: quantities whose effect a law over sizes knows."""
    if job.metric and known.metric_name and not same_metric(job.metric, known.metric_name):
        yield (
            "job metric",
            _other("metric", job.metric, (known.metric_name,), "report that one, or fit anew"),
        )
    if job.optimizer and known.optimizers and optimizer_key(job.optimizer) not in map(optimizer_key, known.optimizers):
        yield "job optimizer", _other("optimizer", job.optimizer, known.optimizers, "fit on runs with this optimizer")
    if job.task and known.tasks and job.task not in known.tasks:
        yield "job task", _other("task", job.task, known.tasks, "fit on runs of this task")
    free = {name: None if name in covered else getattr(job, name) for name in ("batch_size", "width", "parameters")}
    yield from _far("batch_size", "batch size", free["batch_size"], known.batch_sizes, _FAR, _RATES)
    if job.width is not None and known.widths is not None:
        yield from _far("width", "width", free["width"], known.widths, _FAR, _RATES)
    elif "width" not in covered:
        yield from _far("parameters", "size", free["parameters"], known.parameters, _FAR, _RATES)
    units = "count optimizer updates, not batches, samples or epochs, in total_steps, if you have not"
    yield from _far("total_steps", "length in updates", total_steps, known.total_steps, _FAR_STEPS, units)
    if job.updates and not 0.9 <= total_steps / job.updates <= 1.1:
        yield (
            "job updates",
            f"the run is planned for {total_steps:,} updates, but the job will make {job.updates:,.0f}: the rate will "
            f"not follow the plan to its end. Fix: total_steps={job.updates:.0f}",
        )


def same_metric(name: str, other: str | None) -> bool:
    """Whether two names mean one metric: 'eval_accuracy', 'val/acc' and 'accuracy' do."""
    return other is not None and _core(name) == _core(other)


def _core(name: str) -> frozenset[str]:
    words = [word for word in re.split(r"[^a-z0-9]+", name.lower()) if word and word not in _SPLITS]
    return frozenset("accuracy" if word == "acc" else word for word in words)


_SPLITS = {"val", "valid", "validation", "eval", "evaluation", "dev", "test", "heldout", "holdout", "metric"}


def _other(what: str, value: str, known: tuple[str, ...], fix: str) -> str:
    shown = ", ".join(map(repr, known[:3])) + (", ..." if len(known) > 3 else "")
    return f"the job's {what} is {value!r}, the forecaster was fitted to runs with {shown}. Fix: {fix}"


def _far(
    key: str, what: str, value: float | None, known: Range | None, factor: float, advice: str
) -> Iterator[Finding]:
    if value is None or known is None or known[0] / factor <= value <= known[1] * factor:
        return
    low, high = known
    was = f"{low:,.0f}" if low == high else f"{low:,.0f} to {high:,.0f}"
    yield f"job {key}", f"the job's {what} is {value:,.0f}, the forecaster's runs had {was}. Fix: {advice}"


def _within(number: float | None, least: float) -> bool:
    return number is None or (math.isfinite(number) and number >= least)


def _more(direction: Direction) -> str:
    return "more" if direction is Direction.MAX else "less"
