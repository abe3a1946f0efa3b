"""Code to paste: a schedule as a few lines of Python for a job that has no Lodestar.

Comes in: a schedule and the name of a framework. Goes out: text that stands alone: the knots, straight lines between
them, in the framework's own kind of schedule. Steps and iterations count as the framework counts them, from 0.
"""

import textwrap
from collections.abc import Iterable, Mapping

from lodestar.schedules.schedule import Schedule

_DIGITS = 7
_TORCH = '''
import numpy as np
from torch.optim.lr_scheduler import LambdaLR

{knots}

def planned_lr(done):
    """The learning rate after `done` optimizer steps."""
    return float(np.interp(done + 1, STEPS, RATES))


def planned_scheduler(optimizer, last_epoch=-1):
    """Call its step() after every optimizer.step(). Other parameter groups follow the first in proportion."""
    lead = optimizer.param_groups[0]
    start = lead.get("initial_lr", lead["lr"])
    if not start > 0:
        raise ValueError(f"the optimizer's lr must be above 0, got {{start}}")
    return LambdaLR(optimizer, lambda done: planned_lr(done) / start, last_epoch)
'''
_TRANSFORMERS = (
    _TORCH
    + """

# optimizer = torch.optim.AdamW(model.parameters(), lr={peak})
# Trainer(model, args, optimizers=(optimizer, planned_scheduler(optimizer)), ...)  # max_steps={total} in args
"""
)
_OPTAX = '''
import jax.numpy as jnp

{knots}

def planned_lr(count):
    """An Optax schedule: optax.adamw(planned_lr)."""
    return jnp.interp(count + 1.0, jnp.asarray(STEPS), jnp.asarray(RATES))
'''
_KERAS = '''
import keras

{knots}

@keras.saving.register_keras_serializable("planned")
class PlannedLR(keras.optimizers.schedules.LearningRateSchedule):
    """keras.optimizers.AdamW(PlannedLR())"""

    def __call__(self, step):
        ops = keras.ops
        steps, rates = (ops.convert_to_tensor(part, dtype="float32") for part in (STEPS, RATES))
        at = ops.clip(ops.cast(step, "float32") + 1.0, STEPS[0], STEPS[-1])
        left = ops.clip(ops.sum(ops.cast(steps <= at, "int32")) - 1, 0, max(len(STEPS) - 2, 0))
        right = ops.minimum(left + 1, len(STEPS) - 1)
        part = (at - ops.take(steps, left)) / ops.maximum(ops.take(steps, right) - ops.take(steps, left), 1e-6)
        return ops.take(rates, left) + part * (ops.take(rates, right) - ops.take(rates, left))

    def get_config(self):
        return {{}}
'''
FRAMEWORKS: Mapping[str, str] = {"torch": _TORCH, "optax": _OPTAX, "keras": _KERAS, "transformers": _TRANSFORMERS}
"""The frameworks there is code for."""


def code(schedule: Schedule, framework: str, remarks: Iterable[str] = ()) -> str:
    """Python that makes the schedule in a framework, with `remarks` as comments above it."""
    if framework not in FRAMEWORKS:
        raise ValueError(f"framework must be one of {', '.join(FRAMEWORKS)}, got {framework!r}")
    lists = (_listed(name, texts) for name, texts in zip(("STEPS", "RATES"), _knots(schedule), strict=True))
    about = [f"The learning rate of {len(schedule)} optimizer steps: RATES at STEPS, straight lines between.", *remarks]
    comments = "\n".join(textwrap.fill(line, 100, initial_indent="# ", subsequent_indent="# ") for line in about)
    body = FRAMEWORKS[framework].format(knots="\n".join(lists) + "\n", peak=f"{schedule.peak:.4g}", total=len(schedule))
    return f"{comments}\n{body.strip()}\n"


def _knots(schedule: Schedule) -> tuple[list[str], list[str]]:
    """Steps, the first of the schedule being 1, and rates; of a level stretch, its ends."""
    rates = [f"{float(rate):.{_DIGITS}g}" for rate in schedule.lr]
    inner = range(1, len(rates) - 1)
    level = {place for place in inner if rates[place - 1] == rates[place] == rates[place + 1]}
    kept = [place for place in range(len(rates)) if place not in level]
    steps = [float(schedule.knots[place]) - schedule.first_step + 1 for place in kept]
    for place in range(1, len(steps)):  # at a jump the step belongs to its left side
        if steps[place] <= steps[place - 1]:
            steps[place] = steps[place - 1] + 1e-3
    return [f"{step:.10g}" for step in steps], [rates[place] for place in kept]


def _listed(name: str, texts: Iterable[str]) -> str:
    text = ", ".join(texts)
    return f"{name} = [\n{textwrap.fill(text, 96, initial_indent='    ', subsequent_indent='    ')},\n]"
