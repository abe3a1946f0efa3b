"""Training functions that answer to any schedule at once, and one that always fails."""

import math
from pathlib import Path

from tests.responding import run_of

from lodestar.schedules import Schedule

HERE = str(Path(__file__).resolve())


def train(*, schedule, seed, total_steps=400, report):
    run = run_of(schedule, seed)
    metric = dict(zip(run.metric.steps.tolist(), run.metric.values.tolist(), strict=True))
    for step, loss in zip(run.loss.steps.tolist(), run.loss.values.tolist(), strict=True):
        report(step, loss=loss, metric=metric.get(step))


def broken(*, schedule, total_steps=400, report):
    raise RuntimeError("the data are gone")


def sized(*, schedule, seed, size, total_steps=400, report):
    """The best rate falls as the size grows; a larger one ends better."""
    asked = Schedule("asked", [schedule(step) * size / 64 for step in range(1, total_steps + 1)])
    run = run_of(asked, seed)
    metric = dict(zip(run.metric.steps.tolist(), run.metric.values.tolist(), strict=True))
    for step, loss in zip(run.loss.steps.tolist(), run.loss.values.tolist(), strict=True):
        report(step, loss=loss, metric=metric.get(step), lr=schedule(step))


def as_it_goes(*, schedule, seed, total_steps=400, report):
    """Asks for each rate when it needs it, as a training loop does; what it does depends on the rates so far."""
    done = 0.0
    for step in range(1, total_steps + 1):
        done += schedule(step) / total_steps * 1e3
        loss = 0.3 + 2.0 / (1.0 + done) ** 0.6 + 60.0 * schedule(step)
        if step % 4 == 0:
            report(step, loss=loss, metric=math.exp(-0.5 * loss) if step % 20 == 0 else None)
    return {"done": done}


def settled(*, schedule, seed, total_steps=400, report):
    """The same whatever the rate: nothing is to be gained, but for luck."""
    luck = 0.05 * math.sin(seed)
    for step in range(4, total_steps + 1, 4):
        report(step, loss=1.0 + 1.0 / step + luck, metric=1.0 - 1.0 / step + luck)
