"""What a run's config says of its schedule, looked up by the names people use.

Two keys that disagree and a warm-up of unknown length are doubts: nothing is guessed.
"""

import math
from collections.abc import Iterable, Mapping

from lodestar._keys import parts
from lodestar.schedules.families import find
from lodestar.schedules.family import Family

Value = str | int | float | bool
STEP_TOTALS = (
    *("total_steps", "max_steps", "planned_steps", "num_training_steps", "num_steps", "n_steps", "total_iters"),
    "max_iters",
)
EPOCH_TOTALS = ("epochs", "max_epoch", "max_epochs", "num_epochs", "total_epochs", "num_train_epochs", "n_epochs")
_SCHEDULE = ("lr_scheduler_type", "lr_scheduler", "lr_scheduler_name", "lr_schedule", "scheduler", "sched", "schedule")
_PEAK = ("peak_lr", "max_lr", "learning_rate", "lr", "base_lr", "lr0", "initial_lr", "init_lr")
_WARMUP = ("warmup_steps", "num_warmup_steps", "warmup_iters", "lr_warmup_steps")
_WARMUP_SHARE = ("warmup_ratio", "warmup_fraction", "warmup_frac", "warmup_proportion")
_WARMUP_EPOCHS = ("warmup_epochs", "lr_warmup_epochs")
_KNOWN_WARMUP = {*_WARMUP, *_WARMUP_SHARE, *_WARMUP_EPOCHS}
_NOT_STATED = ("", "none", "null", "-1", "0", "0.0", "{}")


class Doubt(Exception):
    """Why the config does not settle the matter."""


class Stated:
    """What a config says."""

    def __init__(self, config: Mapping[str, Value], in_epochs: bool):
        self.values: dict[str, set[Value]] = {}
        self.in_epochs = in_epochs
        for key, value in config.items():
            self.values.setdefault(parts(key)[-1], set()).add(value)

    def family(self) -> Family:
        name = self.name()
        if "lr_scheduler_kwargs" in self.values and self._counts("lr_scheduler_kwargs"):
            raise Doubt("the schedule has arguments of its own (lr_scheduler_kwargs)")
        family = find(name.split(".")[-1])  # SchedulerType.COSINE
        if family is None:
            raise self.unknown()
        return family

    def name(self) -> str:
        name = self._only(_SCHEDULE)
        if name is None:
            raise Doubt("the config names no schedule")
        return str(name)

    def unknown(self) -> Doubt:
        return Doubt(f"the schedule {self.name()[:60]!r} is not one we can rebuild")

    def peak(self) -> float:
        peak = self.number(_PEAK)
        if peak is None:
            raise Doubt("the config states no peak learning rate")
        if not peak >= 0:
            raise Doubt(f"the peak learning rate {peak:g} is negative")
        return peak

    def total(self, last: int) -> int:
        """The planned number of updates (of epochs, where steps are epochs)."""
        total = self.number(EPOCH_TOTALS if self.in_epochs else (*STEP_TOTALS, "t_max"))
        if total is None or total <= 0:
            raise Doubt(f"the config does not state the planned number of {'epochs' if self.in_epochs else 'steps'}")
        if total < last:
            raise Doubt(f"the planned length {total:g} is below the last step {last}")
        return int(total)

    def warmup(self, last: int) -> int:
        """Updates of warm-up; 0 if the config mentions none."""
        strange = [key for key in self.values if "warmup" in key and key not in _KNOWN_WARMUP and self._counts(key)]
        if strange:
            raise Doubt(f"what {strange[0]!r} means for the warm-up is not known")
        epochs = self.number(_WARMUP_EPOCHS) or 0.0
        steps = self.number(_WARMUP) or 0.0
        if (epochs and not self.in_epochs) or (steps and self.in_epochs):
            raise Doubt("the warm-up is stated in other units than the steps of the run")
        stated = epochs if self.in_epochs else steps
        share = self.number(_WARMUP_SHARE) or 0.0
        if 0 < stated < 1:
            share, stated = stated, 0.0
        return int(stated) if stated else math.ceil(share * self.total(last)) if share else 0

    def number(self, names: Iterable[str]) -> float | None:
        """The one number under any of `names`; -1 and blanks count as not stated."""
        value = self._only(names)
        try:
            return None if value is None else float(value)
        except ValueError:
            raise Doubt(f"{str(value)[:40]!r} is no number") from None

    def has(self, names: Iterable[str]) -> bool:
        return any(name in self.values and self._counts(name) for name in names)

    def _only(self, names: Iterable[str]) -> Value | None:
        stated = {name: value for name in names for value in self.values.get(name, ()) if self._counts(name)}
        if len({str(value) for value in stated.values()}) > 1 or any(len(self.values[name]) > 1 for name in stated):
            raise Doubt(f"the config is not clear: {', '.join(f'{name} = {value}' for name, value in stated.items())}")
        return next(iter(stated.values()), None)

    def _counts(self, key: str) -> bool:
        return any(str(value).strip().lower() not in _NOT_STATED for value in self.values[key])
