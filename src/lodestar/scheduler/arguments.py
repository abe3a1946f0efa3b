"""What `Scheduler(...)` is given, checked when it is built: each mistake is a `ValueError` with its cure.

Comes in: arguments. Goes out: the same, checked. Nothing here runs once training has begun.
"""

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from lodestar._credentials import cleaned
from lodestar.runs.run import Direction
from lodestar.scheduler.inputs import number_of, shown
from lodestar.scheduler.safety.gate import Gate
from lodestar.scheduler.settings import Settings, one_of, settings_of


def checked_settings(preset: str, settings: Settings | None, changes: dict[str, Any]) -> Settings:
    """The preset with single changes, or the settings as given."""
    if settings is None:
        return settings_of(preset, **changes)
    if not isinstance(settings, Settings):
        raise ValueError(f"settings must be a Settings, got {type(settings).__name__}. Fix: Settings(window=0.05)")
    if changes:
        raise ValueError(
            f"give settings or single options, not both, got settings and {', '.join(changes)}. "
            "Fix: put the options into the settings"
        )
    return settings


def checked_seed(seed: int) -> int:
    """A whole number from zero."""
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
        raise ValueError(f"seed must be a whole number >= 0, got {seed!r}. Fix: seed=0")
    return int(seed)


def checked_name(run_name: str | None, log: str | os.PathLike[str] | None) -> str | None:
    """The run's name as given, else the stem of its log."""
    if run_name is None:
        return None if log is None else Path(log).stem
    if not isinstance(run_name, str) or not run_name:
        raise ValueError(f"run_name must be a text, got {run_name!r}. Fix: run_name='resnet-lr-3e-4-seed-0'")
    return run_name


def checked_facts(facts: Mapping[str, Any] | None) -> dict[str, Any]:
    """Facts of the run as plain data that a log can hold, without the credentials of an address among them."""
    try:
        return _public(json.loads(json.dumps(dict(facts or {}), allow_nan=False)))
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"facts must be a dict of texts and finite numbers, got {shown(facts)}: {error}. "
            "Fix: facts={'batch_size': 256}"
        ) from error


def _public(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _public(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_public(one) for one in value]
    return cleaned(value) if isinstance(value, str) else value


def check_control(control: bool, log: str | os.PathLike[str] | None) -> None:
    """Commands wait beside the log, so there must be one."""
    if not isinstance(control, bool):
        raise ValueError(f"control must be True or False, got {control!r}. Fix: control=True")
    if control and log is None:
        raise ValueError("control=True needs a log: commands wait beside it, got log=None. Fix: log='run.jsonl'")


def check_direction(asked: str | None, has: Direction) -> None:
    """The metric's direction, if stated, is the forecaster's."""
    if asked is None:
        return
    one_of("direction", str(asked), ("max", "min"))
    if str(asked) != str(has):
        raise ValueError(
            f"direction must be the forecaster's, {str(has)!r}, got {str(asked)!r}: it was fitted to a metric of the "
            "other direction. Fix: report the metric it was fitted to, or fit on runs with yours"
        )


def check_base(base: Callable[[int], float] | None, mode: str, gate: Gate | None) -> None:
    """The plain schedule is there where it is needed, and gives a rate."""
    one_of("mode", mode, ("steer", "shadow"))
    if gate is not None and not isinstance(gate, Gate):
        raise ValueError(f"gate must be a Gate, got {gate!r}. Fix: gate=Gate(least=0.5)")
    if base is None:
        if mode == "shadow":
            raise ValueError("base must be given in shadow mode, got None. Fix: base=lambda step: the lr you would use")
        return
    if not callable(base):
        raise ValueError(f"base must be a function of the step, got {base!r}. Fix: base=lambda step: 1e-3")
    try:
        first = number_of(base(1))
    except Exception as error:
        raise ValueError(
            f"base(1) must be a learning rate, but failed: {error!r}. Fix: base=lambda step: 1e-3"
        ) from error
    if first is None or not np.isfinite(first) or first < 0:
        raise ValueError(f"base(1) must be a learning rate >= 0, got {first!r}. Fix: base=lambda step: 1e-3")
