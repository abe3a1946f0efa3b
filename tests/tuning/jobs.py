"""A training function that answers to any schedule at once, and one that always fails."""

from pathlib import Path

from tests.responding import run_of

HERE = str(Path(__file__).resolve())


def train(*, schedule, seed, total_steps=400, report):
    run = run_of(schedule, seed)
    metric = dict(zip(run.metric.steps.tolist(), run.metric.values.tolist(), strict=True))
    for step, loss in zip(run.loss.steps.tolist(), run.loss.values.tolist(), strict=True):
        report(step, loss=loss, metric=metric.get(step))


def broken(*, schedule, total_steps=400, report):
    raise RuntimeError("the data are gone")
