"""Sweeps over sizes, batches and lengths: the trials of a space, spread evenly over them.

Comes in: a space and the lists. Goes out: trials, in turn one of each scale, so that a sweep that was killed has all of
them. Each scale has quasi-random schedules of its own. Asked for more runs later, the first ones stay the same.
"""

import dataclasses
import itertools
import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from lodestar._errors import SweepError
from lodestar.runs import Scalar
from lodestar.sweep.spaces import AbstractSpace, QuasiRandom, TrialList
from lodestar.sweep.trial import Trial

DEFAULT_RUNS = 100  # of a quasi-random sweep, over all scales
_WHOLE = {"batches", "lengths"}
_TAGS = {"size": "size", "batch_size": "batch", "total_steps": "steps"}


@dataclasses.dataclass(frozen=True)
class Scales:
    """What a sweep goes through: sizes (the function's `size`), batches (its `batch_size`), lengths in updates."""

    sizes: tuple[float, ...] = ()
    batches: tuple[int, ...] = ()
    lengths: tuple[int, ...] = ()

    @classmethod
    def of(
        cls,
        sizes: str | Iterable[float] | None = None,
        batches: str | Iterable[float] | None = None,
        lengths: str | Iterable[float] | None = None,
    ) -> "Scales":
        """From lists, or texts with commas such as "16,8,4"; a ValueError names what is wrong."""
        given = {"sizes": sizes, "batches": batches, "lengths": lengths}
        lists: dict[str, Any] = {name: _numbers(name, values) for name, values in given.items() if values is not None}
        return cls(**lists)

    @property
    def keywords(self) -> tuple[str, ...]:
        """What the training function is given besides the usual."""
        return tuple(name for name, values in (("size", self.sizes), ("batch_size", self.batches)) if values)

    def identity(self) -> dict[str, Any]:
        """What tells this sweep from another, as plain data; empty where there is one scale."""
        return {name: list(values) for name, values in vars(self).items() if values}

    def trials(self, space: AbstractSpace, runs: int | None, total_steps: int, *, seed: int) -> list[Trial]:
        """The trials of the space, spread over all scales."""
        if not self.identity():
            return space.trials(runs, total_steps, seed=seed)
        if self.lengths and isinstance(space, TrialList):
            raise SweepError(
                "lengths go with sobol, averaged and paper: the schedules of a list have lengths of their own. "
                "Fix: leave out --lengths, or list the schedules at each length"
            )
        each = self._each(total_steps)
        wanted = DEFAULT_RUNS if runs is None and isinstance(space, QuasiRandom) else runs
        if wanted is not None and wanted < len(each):
            raise ValueError(
                f"runs must be at least one for each of the {len(each)} sizes, batches and lengths, got {wanted}. "
                f"Fix: --runs {10 * len(each)}, ten for each"
            )
        made = [_at(scale, space, _share(wanted, number, len(each)), seed, number) for number, scale in enumerate(each)]
        if isinstance(space, QuasiRandom):
            made = [_numbered(trials, seed, number, len(each)) for number, trials in enumerate(made)]
        turns = itertools.zip_longest(*made)
        tagged = (_tagged(trial, each[n]) for turn in turns for n, trial in enumerate(turn) if trial is not None)
        return [self._named(trial) for trial in tagged]

    def _each(self, total_steps: int) -> list[dict[str, Scalar]]:
        lists = {"size": self.sizes, "batch_size": self.batches, "total_steps": self.lengths or (total_steps,)}
        kept = {name: values for name, values in lists.items() if values}
        return [dict(zip(kept, scale, strict=True)) for scale in itertools.product(*kept.values())]

    def _named(self, trial: Trial) -> Trial:
        facts = {**trial.settings, "total_steps": trial.total_steps}
        varied = (*self.keywords, *(("total_steps",) if self.lengths else ()))
        return dataclasses.replace(trial, name="-".join([trial.name, *(f"{_TAGS[n]}{facts[n]:g}" for n in varied)]))


def _at(scale: Mapping[str, Any], space: AbstractSpace, runs: int | None, seed: int, number: int) -> list[Trial]:
    """The trials at one scale; a quasi-random sequence is scrambled anew for each."""
    own = int(np.random.SeedSequence([seed, number]).generate_state(1)[0])
    return space.trials(runs, scale["total_steps"], seed=own if isinstance(space, QuasiRandom) else seed)


def _share(wanted: int | None, number: int, scales: int) -> int | None:
    return None if wanted is None else wanted // scales + (number < wanted % scales)


def _numbered(trials: list[Trial], seed: int, number: int, scales: int) -> list[Trial]:
    """Names and seeds counted over all scales."""
    places = range(number, number + len(trials) * scales, scales)
    return [
        dataclasses.replace(trial, name=f"sobol{seed}-{place:04d}", seed=1000 * seed + place)
        for trial, place in zip(trials, places, strict=True)
    ]


def _tagged(trial: Trial, scale: Mapping[str, Scalar]) -> Trial:
    facts = {name: value for name, value in scale.items() if name != "total_steps"}
    return dataclasses.replace(trial, settings={**trial.settings, **facts})


def _numbers(name: str, values: str | Iterable[float]) -> tuple[float, ...]:
    parts = [part.strip() for part in values.split(",")] if isinstance(values, str) else list(values)
    if not parts:
        raise ValueError(f"{name} must list at least one number, got none. Fix: --{name} 16,8,4")
    found = tuple(_number(name, part) for part in parts)
    twice = next((value for value in found if found.count(value) > 1), None)
    if twice is not None:
        raise ValueError(f"{name} must list each number once, got {twice:g} twice. Fix: leave one out")
    return found


def _number(name: str, part: object) -> float:
    try:
        number = float(part) if not isinstance(part, bool) else math.nan  # pyright: ignore[reportArgumentType]
    except (TypeError, ValueError):
        number = math.nan
    whole = number.is_integer()
    if not math.isfinite(number) or number <= 0 or (name in _WHOLE and not whole):
        kind = "whole numbers" if name in _WHOLE else "numbers"
        raise ValueError(f"{name} must be {kind} above 0 with commas between, got {part!r}. Fix: --{name} 16,8,4")
    return int(number) if whole else number
