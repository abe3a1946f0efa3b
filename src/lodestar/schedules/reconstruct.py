"""A learning rate that was never logged, rebuilt from the config, where the config leaves no doubt.

The curves are the families' own, placed exactly as Transformers (`get_scheduler`) and PyTorch (`OneCycleLR`, `StepLR`)
place them.
"""

import functools
from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from lodestar.schedules.config import EPOCH_TOTALS, Doubt, Stated, Value
from lodestar.schedules.families import constant, cosine, linear, onecycle, step
from lodestar.schedules.family import Family

Rates = NDArray[np.float64]
_FLOOR = ("min_lr", "eta_min", "lr_min")


def reconstruct(config: Mapping[str, Value], steps: NDArray[np.int64], *, in_epochs: bool) -> tuple[Rates | None, str]:
    """The rate of the update at each step, and how; or None, and why not.

    Update number n (from 1) uses what the schedule says after n - 1 calls; a run that counts from 0 is taken as such.
    """
    try:
        stated = Stated(config, in_epochs)
        name, peak = stated.family().name, stated.peak()
        if name not in _PLACED:
            raise stated.unknown()
        calls = steps.astype(np.float64) - (1.0 if steps[0] >= 1 else 0.0)
        share, how = _PLACED[name](stated, calls, int(steps[-1]))
        return peak * share, f"{name}, peak {peak:g}{how}"
    except Doubt as doubt:
        return None, str(doubt)


def _warmed(family: Family, stated: Stated, calls: Rates, last: int) -> tuple[Rates, str]:
    """A family with the warm-up of Transformers (from 0, one more part with each call), its t counted from there."""
    warmup = stated.warmup(last)
    how = f", warm-up {warmup}" if warmup else ", no warm-up"
    share = np.ones(len(calls))
    if family is not constant:
        total = stated.total(last)
        floor = (stated.number(_FLOOR) or 0.0) / max(stated.peak(), 1e-300) if family is cosine else 0.0
        part = np.clip((calls - warmup) / max(1, total - warmup), 0, 1)
        share, how = family.share(part, warmup=0.0, floor=floor), f"{how}, {total} steps"
    return np.where(calls < warmup, calls / max(1, warmup), share), how


def _onecycle(stated: Stated, calls: Rates, last: int) -> tuple[Rates, str]:
    total = stated.total(last)
    parameters = {key: stated.number([key]) or value for key, value in onecycle.defaults.items()}
    rise, end = parameters["pct_start"], max(total - 1, 1e-12)
    parameters["pct_start"] = (rise * total - 1) / end  # PyTorch counts its phases in calls, and ends at total - 1
    return onecycle.share(calls / end, **parameters), f", rise {rise:g}, {total} steps"


def _step(stated: Stated, calls: Rates, last: int) -> tuple[Rates, str]:
    every, by = stated.number(["step_size", "decay_steps", "lr_step_size"]), stated.number(["gamma", "decay_rate"])
    if not every or not by:
        raise Doubt("a step schedule needs step_size and gamma, and the config lacks one")
    if not stated.in_epochs and stated.has(EPOCH_TOTALS):
        raise Doubt("whether step_size counts epochs or optimizer steps is not clear")
    if stated.warmup(last) or "warm" in stated.name().lower():
        raise Doubt("a step schedule with a warm-up is not one we can rebuild")
    return step.share(calls / every, gamma=by, stages=1.0), f", x {by:g} every {every:g}"


_PLACED: Mapping[str, Callable[[Stated, Rates, int], tuple[Rates, str]]] = {
    **{family.name: functools.partial(_warmed, family) for family in (constant, linear, cosine)},
    onecycle.name: _onecycle,
    step.name: _step,
}
