"""A learning rate that was never logged, rebuilt from the config, where the config leaves no doubt.

Comes in: a run's config and its steps. Goes out: the rate of the update at each step and a sentence that says how, or
None and why not. Shapes are those of Transformers (`get_scheduler`) and PyTorch (`OneCycleLR`, `StepLR`), exactly.
Two keys that disagree, a warm-up of unknown length, a plan shorter than the run: each is a reason not to guess.
"""

import math
import re
from collections.abc import Callable, Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

from lodestar.importers import words
from lodestar.runs import Scalar

Rates = NDArray[np.float64]
_SCHEDULE = ("lr_scheduler_type", "lr_scheduler", "lr_scheduler_name", "lr_schedule", "scheduler", "sched", "schedule")
_PEAK = ("peak_lr", "max_lr", "learning_rate", "lr", "base_lr", "lr0", "initial_lr", "init_lr")
_WARMUP = ("warmup_steps", "num_warmup_steps", "warmup_iters", "lr_warmup_steps")
_WARMUP_SHARE = ("warmup_ratio", "warmup_fraction", "warmup_frac", "warmup_proportion")
_WARMUP_EPOCHS = ("warmup_epochs", "lr_warmup_epochs")
_TOTAL = (*words.EXACT["total"], "t_max")
_FLOOR = ("min_lr", "eta_min", "lr_min")
_KNOWN_WARMUP = {*_WARMUP, *_WARMUP_SHARE, *_WARMUP_EPOCHS}
_NOT_STATED = ("", "none", "null", "-1", "0", "0.0", "{}")
_NAMES = {
    "constant": "constant",
    "none": "constant",
    "constantlr": "constant",
    "constantwithwarmup": "constant",
    "linear": "linear",
    "linearwithwarmup": "linear",
    "cosine": "cosine",
    "cosinewithwarmup": "cosine",
    "cosineannealing": "cosine",
    "cosineannealinglr": "cosine",
    "warmupcosine": "cosine",
    "warmuplinear": "linear",
    "onecycle": "onecycle",
    "onecyclelr": "onecycle",
    "step": "step",
    "steplr": "step",
}


class _Doubt(Exception):
    """Why the config does not settle the matter."""


def rebuild(config: Mapping[str, Scalar], steps: NDArray[np.int64], *, in_epochs: bool) -> tuple[Rates | None, str]:
    """The rate of the update at each step, and how; or None, and why not.

    Update number n (from 1) uses what the schedule says after n - 1 calls; a run that counts from 0 is taken as such.
    """
    try:
        stated = _Stated(config, in_epochs)
        shape, peak = stated.shape(), stated.peak()
        calls = steps.astype(np.float64) - (1.0 if steps[0] >= 1 else 0.0)
        factor, told = _SHAPES[shape](stated, calls, int(steps[-1]))
        return peak * factor, f"{shape}, peak {peak:g}{told}"
    except _Doubt as doubt:
        return None, str(doubt)


class _Stated:
    """What a config says, looked up by the names people use."""

    def __init__(self, config: Mapping[str, Scalar], in_epochs: bool):
        self.values: dict[str, set[Scalar]] = {}
        self.in_epochs = in_epochs
        for key, value in config.items():
            self.values.setdefault(words.plain(re.split(r"[./]", key)[-1]), set()).add(value)

    def shape(self) -> str:
        """The schedule's shape."""
        told = self._one(_SCHEDULE)
        if told is None:
            raise _Doubt("the config names no schedule")
        if "lr_scheduler_kwargs" in self.values and self._counts("lr_scheduler_kwargs"):
            raise _Doubt("the schedule has arguments of its own (lr_scheduler_kwargs)")
        last = str(told).split(".")[-1]  # SchedulerType.COSINE
        found = _NAMES.get(re.sub(r"[^a-z]", "", last.lower()))
        if found is None:
            raise _Doubt(f"the schedule {str(told)[:60]!r} is not one we can rebuild")
        return found

    def peak(self) -> float:
        """The peak rate."""
        peak = self.number(_PEAK)
        if peak is None:
            raise _Doubt("the config states no peak learning rate")
        if not peak >= 0:
            raise _Doubt(f"the peak learning rate {peak:g} is negative")
        return peak

    def total(self, last: int) -> int:
        """The planned number of updates (of epochs, where steps are epochs)."""
        total = self.number(words.EPOCH_TOTALS if self.in_epochs else _TOTAL)
        if total is None or total <= 0:
            raise _Doubt(f"the config does not state the planned number of {'epochs' if self.in_epochs else 'steps'}")
        if total < last:
            raise _Doubt(f"the planned length {total:g} is below the last step {last}")
        return int(total)

    def warmup(self, last: int) -> int:
        """Updates of warm-up; 0 if the config mentions none."""
        strange = [key for key in self.values if "warmup" in key and key not in _KNOWN_WARMUP and self._counts(key)]
        if strange:
            raise _Doubt(f"what {strange[0]!r} means for the warm-up is not known")
        epochs = self.number(_WARMUP_EPOCHS) or 0.0
        steps = self.number(_WARMUP) or 0.0
        if (epochs and not self.in_epochs) or (steps and self.in_epochs):
            raise _Doubt("the warm-up is stated in other units than the steps of the run")
        stated = epochs if self.in_epochs else steps
        share = self.number(_WARMUP_SHARE) or 0.0
        if 0 < stated < 1:
            share, stated = stated, 0.0
        return int(stated) if stated else math.ceil(share * self.total(last)) if share else 0

    def number(self, names: Iterable[str]) -> float | None:
        """The one number under any of `names`; -1 and blanks count as not stated."""
        told = self._one(names)
        try:
            return None if told is None else float(told)
        except ValueError:
            raise _Doubt(f"{str(told)[:40]!r} is no number") from None

    def _one(self, names: Iterable[str]) -> Scalar | None:
        found = {name: value for name in names for value in self.values.get(name, ()) if self._counts(name)}
        if len({str(value) for value in found.values()}) > 1 or any(len(self.values[name]) > 1 for name in found):
            raise _Doubt(f"the config is not clear: {', '.join(f'{name} = {value}' for name, value in found.items())}")
        return next(iter(found.values()), None)

    def _counts(self, key: str) -> bool:
        return any(str(value).strip().lower() not in _NOT_STATED for value in self.values[key])

    def has(self, names: Iterable[str]) -> bool:
        """Whether any of `names` is stated."""
        return any(name in self.values and self._counts(name) for name in names)


def _ramp(stated: _Stated, calls: Rates, last: int) -> tuple[int, Rates, str]:
    warmup = stated.warmup(last)
    return warmup, calls / max(1, warmup), f", warm-up {warmup}" if warmup else ", no warm-up"


def _constant(stated: _Stated, calls: Rates, last: int) -> tuple[Rates, str]:
    warmup, up, told = _ramp(stated, calls, last)
    return np.where(calls < warmup, up, 1.0), told


def _linear(stated: _Stated, calls: Rates, last: int) -> tuple[Rates, str]:
    warmup, up, told = _ramp(stated, calls, last)
    total = stated.total(last)
    down = np.maximum(0.0, (total - calls) / max(1, total - warmup))
    return np.where(calls < warmup, up, down), f"{told}, {total} steps"


def _cosine(stated: _Stated, calls: Rates, last: int) -> tuple[Rates, str]:
    warmup, up, told = _ramp(stated, calls, last)
    total, floor = stated.total(last), (stated.number(_FLOOR) or 0.0) / max(stated.peak(), 1e-300)
    done = np.clip((calls - warmup) / max(1, total - warmup), 0, None)
    down = floor + (1 - floor) * np.maximum(0.0, 0.5 * (1 + np.cos(np.pi * done)))
    return np.where(calls < warmup, up, down), f"{told}, {total} steps"


def _onecycle(stated: _Stated, calls: Rates, last: int) -> tuple[Rates, str]:
    total = stated.total(last)
    share = stated.number(["pct_start"]) or 0.3
    first = 1 / (stated.number(["div_factor"]) or 25.0)
    end = first / (stated.number(["final_div_factor"]) or 1e4)
    top = share * total - 1
    up = first + (1 - first) * 0.5 * (1 - np.cos(np.pi * np.clip(calls / top, 0, 1)))
    down = end + (1 - end) * 0.5 * (1 + np.cos(np.pi * np.clip((calls - top) / (total - 1 - top), 0, 1)))
    return np.where(calls <= top, up, down), f", rise {share:g}, {total} steps"


def _step(stated: _Stated, calls: Rates, last: int) -> tuple[Rates, str]:
    every, by = stated.number(["step_size", "decay_steps", "lr_step_size"]), stated.number(["gamma", "decay_rate"])
    if not every or not by:
        raise _Doubt("a step schedule needs step_size and gamma, and the config lacks one")
    if not stated.in_epochs and stated.has(words.EPOCH_TOTALS):
        raise _Doubt("whether step_size counts epochs or optimizer steps is not clear")
    if stated.warmup(last):
        raise _Doubt("a step schedule with a warm-up is not one we can rebuild")
    return by ** np.floor(calls / every), f", x {by:g} every {every:g}"


_SHAPES: Mapping[str, Callable[[_Stated, Rates, int], tuple[Rates, str]]] = {
    "constant": _constant,
    "linear": _linear,
    "cosine": _cosine,
    "onecycle": _onecycle,
    "step": _step,
}
