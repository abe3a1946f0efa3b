"""Studies: the ablations that the paper reports and our own, as lists of variants.

Comes in: a study's name, and the variant it starts from. Goes out: variants, the one it starts from first. `parts`
puts one setting of the default preset after the other back to the paper's value: what a new setting is worth shows up
here by itself. Runs nothing.
"""

import dataclasses
from collections.abc import Callable
from typing import Any

from lodestar.scheduler.settings import AS_EVER, PRESETS
from lodestar.schedules import PAPER_SHAPES
from lodestar_bench.arena.contestant import Sweep, Variant, shown, with_changes

SAMPLES, NOISES = (10, 30, 60), (0.15, 0.30)
HORIZONS = (0.1, 0.25, 0.5, None)
VOLUMES = (1, 5, 10)


def parts(start: Variant) -> list[Variant]:
    """The variant itself, its plan without feedback, one forecaster in place of two, and each setting switched off."""
    ours, off = start.settings().to_dict(), AS_EVER | PRESETS["paper"].to_dict()
    found = [start, dataclasses.replace(start, open_loop=True)]
    found.append(dataclasses.replace(with_changes(start, {"fit.members": 1}), label="one member"))
    for name in ours:
        if ours[name] == off[name]:
            continue
        try:
            changed = with_changes(start, {name: off[name]})
        except ValueError:  # switched off alone it contradicts another setting, and would never be used so
            continue
        found.append(dataclasses.replace(changed, label=f"without {name} ({shown(off[name])})"))
    return found


def samples_noise(start: Variant) -> list[Variant]:
    """The paper's table: so many samples, so much noise."""
    return [with_changes(start, {"samples": samples, "noise": noise}) for samples in SAMPLES for noise in NOISES]


def horizon(start: Variant) -> list[Variant]:
    """From one window to the rest of the run."""
    first = start.settings().window
    return [with_changes(start, {"horizon": length}) for length in (first, *HORIZONS)]


def volume(start: Variant) -> list[Variant]:
    """The paper's grid with few and many seeds."""
    grid = _like(start, kind="grid")
    return [_learning(start, dataclasses.replace(grid, seeds=seeds), f"grid, {_seeds(seeds)}") for seeds in VOLUMES]


def diversity(start: Variant) -> list[Variant]:
    """The paper's grid, without OneCycle, OneCycle only; and as many quasi-random runs as the whole grid has."""
    others = tuple(shape for shape in PAPER_SHAPES if shape != "onecycle")
    whole = _like(start, kind="grid", seeds=5)
    return [
        _learning(start, whole, "four shapes"),
        _learning(start, dataclasses.replace(whole, shapes=others), "without onecycle"),
        _learning(start, dataclasses.replace(whole, shapes=("onecycle",)), "onecycle only"),
        _learning(start, _like(start, kind="sobol", runs=100), "100 quasi-random"),
    ]


STUDIES: dict[str, Callable[[Variant], list[Variant]]] = {
    "parts": parts,
    "samples-noise": samples_noise,
    "horizon": horizon,
    "volume": volume,
    "diversity": diversity,
}


def study(name: str, start: Variant) -> list[Variant]:
    """The variants of a study."""
    if name not in STUDIES:
        raise ValueError(f"there is no study {name!r}. Fix: one of {', '.join(STUDIES)}")
    return STUDIES[name](start)


def _learning(start: Variant, sweep: Sweep, label: str) -> Variant:
    return dataclasses.replace(start, sweep=sweep, label=f"{start.preset}: {label}")


def _like(start: Variant, **changes: Any) -> Sweep:
    """A sweep of another kind with the same form of the optimizer."""
    return Sweep(form=start.sweep.form, **changes)


def _seeds(count: int) -> str:
    return "1 seed" if count == 1 else f"{count} seeds"
