"""`fit`: from runs to a forecaster.

Comes in: runs (or arrays already prepared), a preset, a seed. Goes out: a `Forecaster`, ready to save. Members of an
ensemble share one compiled program and run side by side, one a core. The caller's JAX settings are left alone.
"""

import collections
import dataclasses
import functools
import os
import threading
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import jax
import numpy as np

from lodestar import __version__
from lodestar._errors import FitError
from lodestar.fitting.checkpoint import Checkpoint, fingerprint
from lodestar.fitting.dataset import DEFAULT_SMOOTHING, Prepared, prepare
from lodestar.fitting.finish import finish
from lodestar.fitting.folds import Fold, make_folds
from lodestar.fitting.known import RunArrays, run_arrays
from lodestar.fitting.known_finals import held_out_finals
from lodestar.fitting.response.response import fit_response
from lodestar.fitting.scale_law import one_scale
from lodestar.fitting.settings import FitSettings, Preset, fit_settings
from lodestar.fitting.train import Progress, Trainer
from lodestar.fitting.weights import stack_weights
from lodestar.forecaster.forecaster import Forecaster
from lodestar.forecaster.preprocessing.normaliser import LR
from lodestar.forecaster.preprocessing.transform import MetricKind
from lodestar.runs.run import Run

_LEAST_RUNS = 4
_MOST_NAMES = 20_000  # names kept in the file, so that an evaluation knows which runs are new
_SAVE_EVERY = 10.0  # seconds between two checkpoints of a member


@dataclasses.dataclass(frozen=True)
class FitProgress:
    """What a progress display is told after each chunk of a member's updates."""

    member: int
    update: int
    updates: int
    error: float
    held_out: float
    best_update: int
    done: bool


def fit(
    runs: Iterable[Run] | Prepared,
    *,
    seed: int,
    preset: Preset = "default",
    hold_out: float = 0.15,
    points: int | None = None,
    smoothing: float = DEFAULT_SMOOTHING,
    metric_kind: MetricKind = "auto",
    checkpoint: str | os.PathLike[str] | None = None,
    on_progress: Callable[[FitProgress], None] | None = None,
    **changes: Any,
) -> Forecaster:
    """Fit a latent ODE to runs, or an ensemble of them (`members`; the default preset has two).

    `hold_out`: the share of runs each member is checked on and never learns from; the fit stops when they stop
    improving, and intervals and quality figures come from them. `checkpoint`: a folder; a fit that was killed goes on
    from there, to the same result. `changes`: any setting of `FitSettings` or `Architecture`, such as `updates=5000`
    or `members=4`.
    """
    settings = _whole_chunks(fit_settings(preset, **changes))
    prepared = {"points": points, "smoothing": smoothing, "metric_kind": metric_kind}
    data = runs if isinstance(runs, Prepared) else prepare(runs, **prepared)
    data, law = one_scale(data) if settings.response else (data, None)
    if len(data) < _LEAST_RUNS:
        raise FitError(
            f"a fit needs at least {_LEAST_RUNS} usable runs, got {len(data)}"
            + (
                f" ({len(data.excluded)} were excluded, the first because: {data.excluded[0][1]})"
                if data.excluded
                else ""
            )
            + ". Fix: add runs with different schedules and rates; lodestar doctor says which"
        )
    folds = make_folds(len(data), settings.members, hold_out, seed=seed)
    began = time.monotonic()
    ended = _train_all(data, folds, settings, seed, checkpoint, on_progress)
    facts = _facts(data, folds, settings, preset, seed, ended, time.monotonic() - began)
    made = finish(stack_weights([p.best for p in ended]), settings.architecture, data, folds, facts)
    made = dataclasses.replace(made, law=law)
    return _with_response(made, data, folds, seed) if settings.response else made


def _with_response(forecaster: Forecaster, data: Prepared, folds: tuple[Fold, ...], seed: int) -> Forecaster:
    """The same forecaster, able to judge known schedules where there are runs enough to learn that from."""
    latent = held_out_finals(forecaster, data, folds) if forecaster.reads_schedules else None
    found = fit_response(data, seed=seed, latent=latent)
    if found is None:
        return forecaster
    return dataclasses.replace(forecaster, response=found[0], quality={**forecaster.quality, **found[1]})


def _whole_chunks(settings: FitSettings) -> FitSettings:
    """Updates come in chunks of `check_every`: round up."""
    chunks = -(-settings.updates // settings.check_every)
    return settings.model_copy(update={"updates": chunks * settings.check_every})


def _train_all(
    data: Prepared,
    folds: tuple[Fold, ...],
    settings: FitSettings,
    seed: int,
    checkpoint: str | os.PathLike[str] | None,
    on_progress: Callable[[FitProgress], None] | None,
) -> list[Progress]:
    """Every member, as many at a time as there are cores."""
    mark = ""
    if checkpoint is not None:
        facts = {"settings": settings.model_dump(), "seed": seed, "held": len(folds[0].held_out)}
        mark = fingerprint(data.values, data.mask, facts)
    # The number of updates and members is no part of the program: fits of any length share it.
    runs = run_arrays(data, settings)
    trainer = _trainer(settings.model_copy(update={"updates": 1, "members": 1}), data.recipe.points)
    stop = threading.Event()

    def one(member: int) -> Progress:
        # JAX's precision is a setting of the thread: each member sets its own and leaves the caller's alone.
        with jax.enable_x64(settings.bits == 64):
            saved = None if checkpoint is None else Checkpoint(Path(checkpoint), member, mark)
            try:
                return _train_one(
                    trainer, settings.updates, runs, folds[member], seed, member, saved, on_progress, stop
                )
            except BaseException:
                stop.set()
                raise

    workers = min(len(folds), os.cpu_count() or 1)
    with ThreadPoolExecutor(workers) as pool:
        try:
            return list(pool.map(one, range(len(folds))))
        except BaseException:
            stop.set()
            raise


@functools.lru_cache(maxsize=4)
def _trainer(settings: FitSettings, points: int) -> Trainer:
    """Compiled once for each kind of fit: refits and further seeds start at once."""
    with jax.enable_x64(settings.bits == 64):
        return Trainer(settings, points)


def _train_one(
    trainer: Trainer,
    updates: int,
    runs: RunArrays,
    fold: Fold,
    seed: int,
    member: int,
    saved: Checkpoint | None,
    on_progress: Callable[[FitProgress], None] | None,
    stop: threading.Event,
) -> Progress:
    key = jax.random.fold_in(jax.random.key(seed), member)
    born, learn = jax.random.split(key)
    progress = (saved.restore(trainer) if saved else None) or trainer.begin(born)
    last_saved = time.monotonic()

    def after_chunk(now: Progress) -> None:
        nonlocal last_saved
        if saved and (now.done or stop.is_set() or time.monotonic() - last_saved > _SAVE_EVERY):
            saved.save(now)
            last_saved = time.monotonic()
        if on_progress:
            update, error, held_out = now.history[-1]
            on_progress(FitProgress(member, update, updates, error, held_out, now.best_update, now.done))
        if stop.is_set():
            raise FitError("the fit was stopped; with a checkpoint the same call goes on from here")

    return trainer.train(progress, learn, runs, fold, updates, after_chunk)


def _facts(
    data: Prepared,
    folds: tuple[Fold, ...],
    settings: FitSettings,
    preset: Preset,
    seed: int,
    ended: list[Progress],
    seconds: float,
) -> dict[str, Any]:
    described = settings.model_dump()
    described.pop("architecture")
    return {
        "lodestar": __version__,
        "preset": preset,
        "settings": described,
        "seed": seed,
        "members": len(folds),
        "runs": len(data),
        "names": list(data.names[:_MOST_NAMES]),
        "held_out": [[data.names[i] for i in fold.held_out][:_MOST_NAMES] for fold in folds],
        "set_aside": [list(pair) for pair in data.excluded[:_MOST_NAMES]],
        "peak_lr": _peaks(data),
        "total_steps": [int(np.min(data.total_steps)), int(np.max(data.total_steps))],
        "metric_name": data.metric_name,
        "task": tasks[0] if len(tasks := data.job.get("tasks", ())) == 1 else None,
        "job": dict(data.job),
        "workloads": dict(collections.Counter(data.workloads).most_common(_MOST_NAMES)),
        "updates": [p.update for p in ended],
        "best_update": [p.best_update for p in ended],
        "best_error": [p.best_error for p in ended],
        "seconds": round(seconds, 1),
    }


def _peaks(data: Prepared) -> list[float]:
    """The lowest and the highest peak rate of any run."""
    peaks = [
        float(data.recipe.normaliser.lr.inverse(values[mask, LR].max()))
        for values, mask in zip(data.values, data.mask[..., LR], strict=True)
    ]
    return [min(peaks), max(peaks)]
