"""Who takes part in the arena: Lodestar in some setting (a `Variant`), a method that learns nothing (a `Baseline`), or
the best run of a sweep, simply made again (a `Replay`).

Comes in: names, settings, which sweep to learn from. Goes out: plain data with an `identity`, by which results are kept
and found again. Nothing is run here. Settings are read off the scheduler's and the fit's own classes, so that a new one
can be set and switched off without a change here.
"""

import dataclasses
import math
from collections.abc import Iterable, Mapping
from typing import Any, Literal

from lodestar.scheduler.settings import Settings, settings_of
from lodestar.schedules import PAPER_SHAPES
from lodestar.sweep import Trial
from lodestar.sweep.spaces import Grid
from lodestar_bench.method import Optimizer
from lodestar_bench.optimizers.forms import FORMS, optimizer, space
from lodestar_bench.problem import AbstractProblem

Changes = tuple[tuple[str, Any], ...]
FIT = "fit."
"""What the name of a fit's setting begins with: fit.members=4."""
_FIRST_SEED = 2000  # of quasi-random runs; tuning counts from 0, final runs from 1000


@dataclasses.dataclass(frozen=True)
class Sweep:
    """The runs a forecaster learns from: `runs` quasi-random schedules, or the paper's grid of shapes, rates, seeds.

    `narrower`: of a network so many times narrower than the one that is judged. `form`: of the optimizer, in these runs
    and in those that are steered: with averaged weights, or the recipe's own.
    """

    kind: Literal["sobol", "grid"] = "sobol"
    runs: int = 100
    shapes: tuple[str, ...] = PAPER_SHAPES
    seeds: int = 5
    seed: int = 0
    narrower: int = 1
    form: str = "averaged"

    def __post_init__(self):
        if self.form not in FORMS:
            raise ValueError(f"the optimizer's form must be one of {', '.join(FORMS)}, got {self.form!r}")

    def trials(self, problem: AbstractProblem) -> list[Trial]:
        """One for each run. A smaller sweep is the beginning of a larger one."""
        if self.kind == "grid":
            found = Grid(self.shapes, problem.recipe.rates, self.seeds).trials(
                None, problem.total_steps, seed=self.seed
            )
        else:
            drawn = space(self.form, problem.recipe).trials(self.runs, problem.total_steps, seed=self.seed)
            first = _FIRST_SEED + 1000 * self.seed
            found = [dataclasses.replace(trial, seed=first + place) for place, trial in enumerate(drawn)]
        if self.form == "recipe":
            return found
        return [dataclasses.replace(trial, name=f"{self.form}-{trial.name}") for trial in found]

    def optimizer(self, problem: AbstractProblem) -> Optimizer:
        """What makes the updates."""
        return optimizer(self.form, problem.recipe)

    @property
    def words(self) -> str:
        """In short."""
        again = f", sweep {self.seed}" if self.seed else ""
        again += f", {self.narrower} times narrower" if self.narrower > 1 else ""
        again += ", averaged weights" if self.form == "averaged" else ""
        if self.kind == "sobol":
            return f"{self.runs} quasi-random runs{again}"
        return f"{' '.join(self.shapes)} x 5 rates x {self.seeds} seeds{again}"

    def identity(self) -> dict[str, Any]:
        """What tells it from another."""
        size: dict[str, Any] = {"narrower": self.narrower} if self.narrower > 1 else {}
        size |= {} if self.form == "recipe" else {"form": self.form}
        if self.kind == "sobol":
            return {"kind": "sobol", "runs": self.runs, "seed": self.seed, **size}
        return {"kind": "grid", "shapes": list(self.shapes), "seeds": self.seeds, "seed": self.seed, **size}


@dataclasses.dataclass(frozen=True)
class Variant:
    """Lodestar with a preset, some settings changed. `open_loop` replays the plan made before the first update."""

    preset: str = "default"
    changes: Changes = ()
    fit: Changes = ()
    sweep: Sweep = Sweep()
    fit_seed: int = 0
    open_loop: bool = False
    label: str = ""

    def __post_init__(self):
        self.settings()  # a wrong name or value is told now, not after the sweep
        if self.fit:
            from lodestar.fitting.settings import fit_settings

            fit_settings(**dict(self.fit))

    @property
    def name(self) -> str:
        """The label, or preset and changes."""
        if self.label:
            return self.label
        changed = [f"{key}={shown(value)}" for key, value in (*self.changes, *((FIT + k, v) for k, v in self.fit))]
        loop, own = (
            ["open loop"] if self.open_loop else [],
            ["recipe's optimizer"] if self.sweep.form == "recipe" else [],
        )
        return " ".join([self.preset, *own, *loop, *changed])

    def settings(self) -> Settings:
        """All settings of its scheduler."""
        return settings_of(self.preset, **dict(self.changes))

    def identity(self) -> dict[str, Any]:
        """What tells it from another; the label does not."""
        return {
            "kind": "open loop" if self.open_loop else "steered",
            "settings": self.settings().to_dict(),
            "fit": {key: plain(value) for key, value in sorted(self.fit)},
            "sweep": self.sweep.identity(),
            "fit_seed": self.fit_seed,
        }


@dataclasses.dataclass(frozen=True)
class Baseline:
    """A method that learns nothing. A NaN `value` is to be tuned first, on a network so many times `narrower`."""

    method: str
    value: float = math.nan
    narrower: int = 1

    @property
    def name(self) -> str:
        """The method and its value."""
        where = " tuned narrow" if self.narrower > 1 else ""
        return self.method + where if math.isnan(self.value) else f"{self.method} {self.value:g}{where}"

    def identity(self) -> dict[str, Any]:
        """What tells it from another."""
        return {"kind": "baseline", "method": self.method, "value": self.value}


@dataclasses.dataclass(frozen=True)
class Replay:
    """The schedule of the sweep's run with the best validation metric: what a sweep tells without a forecaster."""

    sweep: Sweep = Sweep()

    @property
    def name(self) -> str:
        """What it is, and of which network."""
        return "winner of the sweep" + (" (narrow)" if self.sweep.narrower > 1 else "") + ", replayed"

    def identity(self) -> dict[str, Any]:
        """What tells it from another."""
        return {"kind": "replay", "sweep": self.sweep.identity()}


Contestant = Variant | Baseline | Replay


def with_changes(variant: Variant, changes: Mapping[str, Any]) -> Variant:
    """Some settings changed on top; names that begin with "fit." are the fit's."""
    ours = {key: value for key, value in changes.items() if not key.startswith(FIT)}
    fits = {key.removeprefix(FIT): value for key, value in changes.items() if key.startswith(FIT)}
    return dataclasses.replace(
        variant,
        changes=tuple({**dict(variant.changes), **ours}.items()),
        fit=tuple({**dict(variant.fit), **fits}.items()),
    )


def read_changes(words: Iterable[str]) -> dict[str, Any]:
    """ "noise=0.2" and the like; "none" and "off" are None, commas make a list."""
    found = {}
    for word in words:
        key, equals, value = word.partition("=")
        if not equals or not key.strip():
            raise ValueError(f"a setting is given as name=value, got {word!r}. Fix: --set noise=0.2")
        found[key.strip().replace("-", "_")] = _value(value.strip())
    return found


def read_baseline(word: str) -> Baseline:
    """ "linear" (to be tuned) or "linear=0.01"."""
    method, equals, value = word.partition("=")
    try:
        return Baseline(method.strip(), float(value) if equals else math.nan)
    except ValueError:
        raise ValueError(f"a baseline is given as METHOD or METHOD=VALUE, got {word!r}. Fix: linear=0.01") from None


def shown(value: Any) -> str:
    """A value as `read_changes` reads it."""
    if isinstance(value, tuple | list):
        return ",".join(map(str, value))
    return "none" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


def plain(value: Any) -> Any:
    """As JSON keeps it."""
    return [plain(one) for one in value] if isinstance(value, tuple | list) else value


def _value(word: str) -> Any:
    if "," in word:
        return tuple(_value(part) for part in word.split(",") if part)
    known = {"none": None, "off": None, "true": True, "false": False}
    if word.lower() in known:
        return known[word.lower()]
    for kind in (int, float):
        try:
            return kind(word)
        except ValueError:
            continue
    return word
