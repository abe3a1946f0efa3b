"""`run_sweep`: a whole sweep of your own training function in one call; what `lodestar sweep` does.

Comes in: a function or a command, a space, a store. Goes out: a `SweepResult`. Everything here turns words into the
objects that `sweep.py` works with.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lodestar._errors import SweepError
from lodestar.runs import Direction, RunStore
from lodestar.sweep import function as functions
from lodestar.sweep.executors.executor import AbstractExecutor
from lodestar.sweep.executors.local import LocalExecutor
from lodestar.sweep.journal import folder_beside
from lodestar.sweep.scales import Scales
from lodestar.sweep.space_file import read_space
from lodestar.sweep.spaces import (
    DEFAULT_PEAK,
    AbstractSpace,
    QuasiRandom,
    Range,
    TrialList,
    for_averaged_weights,
    in_words,
    paper_grid,
)
from lodestar.sweep.sweep import OnEvent, OnStart, SweepResult, run_trials
from lodestar.sweep.trial import Job, Trial

if TYPE_CHECKING:
    from lodestar.pruning import Pruner

Space = str | Path | AbstractSpace | Sequence[Trial]


def run_sweep(
    function: str | Callable[..., Any] | None = None,
    *,
    out: str | Path | RunStore,
    seed: int,
    command: str | None = None,
    space: Space = "sobol",
    runs: int | None = None,
    total_steps: int | None = None,
    peak: tuple[float, float] | None = None,
    seeds: int | None = None,
    sizes: Sequence[float] | None = None,
    batches: Sequence[int] | None = None,
    lengths: Sequence[int] | None = None,
    executor: str | AbstractExecutor | None = None,
    place: str | AbstractExecutor | None = None,
    jobs: int | None = None,
    threads: int = 1,
    trial_timeout: float | str | None = None,
    metric_name: str = "metric",
    direction: str = "max",
    task: str | None = None,
    cut_diverged: bool = True,
    retry_failed: bool = False,
    add: bool = False,
    prune: "bool | Pruner" = False,
    log_to: str | None = None,
    on_start: OnStart | None = None,
    on_event: OnEvent | None = None,
) -> SweepResult:
    """Sweep `function` (the function, "module:name" or "file.py:name") or a shell `command`; runs go into `out`.

    `space` is "sobol" (quasi-random), "averaged" (the same for jobs with averaged weights), "paper" (the grid), a TOML
    or CSV file, schedules in words ("cosine:1e-3, linear:3e-3:warmup=0.05"), or trials of your own; `runs` how many of
    it (default 100, or all a file holds); `peak` the lowest and highest peak rate. `sizes` and `batches` spread the
    runs over several of each: the function gets `size` or `batch_size`; `lengths` over several `total_steps`.
    `executor` is None (this machine), "ray", a "ray://" address, or an executor. A trial that takes longer than
    `trial_timeout` (seconds, or "30m") is stopped and failed. `prune` stops those that have hardly a chance to become
    the best. Called again after a kill, only what is missing is made.
    """
    scales = Scales.of(sizes, batches, lengths)
    facts: dict[str, Any] = {"metric_name": metric_name, "direction": direction, "task": task}
    job = make_job(function, command, cut_diverged=cut_diverged, scales=scales.keywords, **facts)
    chosen = make_space(space, total_steps, seed=seed, peak=peak, seeds=seeds)
    trials = make_trials(job, chosen, runs, total_steps, seed=seed, scales=scales)
    folder = folder_beside(out.address if isinstance(out, RunStore) else out)
    return run_trials(
        job,
        trials,
        out,
        make_executor(executor or place, jobs=jobs, threads=threads, logs=folder, timeout=trial_timeout),
        identity=identity(job, chosen, trials, seed=seed, scales=scales),
        retry_failed=retry_failed,
        add=add,
        prune=make_pruner(prune, scales),
        log_to=log_to,
        on_start=on_start,
        on_event=on_event,
    )


def make_pruner(prune: "bool | Pruner", scales: Scales | None = None) -> "Pruner | None":
    """None for a sweep whose trials all run to their end."""
    if prune and scales is not None and scales.identity():
        raise SweepError(
            "--prune stops what cannot become the best of all, and trials of several sizes, batches or lengths cannot "
            "be ranked together. Fix: leave out --prune, or sweep one at a time"
        )
    if prune is True:
        from lodestar.pruning import Pruner

        return Pruner()
    return prune or None


def make_job(function: str | Callable[..., Any] | None, command: str | None, **facts: Any) -> Job:
    if (function is None) == (command is None):
        raise SweepError("a sweep needs a function or a command, one of them. Fix: module:name, or --command '...'")
    if facts.get("direction", "max") not in list(Direction):
        raise ValueError(f"direction must be max or min, got {facts['direction']!r}")
    name = function if isinstance(function, str) or function is None else functions.name_of(function)
    return Job(function=name, command=command, **facts)


def make_space(
    space: Space,
    total_steps: int | None,
    *,
    seed: int,
    peak: tuple[float, float] | None = None,
    seeds: int | None = None,
) -> AbstractSpace:
    if isinstance(space, AbstractSpace):
        return space
    if not isinstance(space, str | Path):
        return TrialList(list(space), seeds or 1)
    if str(space) in ("sobol", "averaged"):
        low, high = peak or DEFAULT_PEAK
        quasi_random = QuasiRandom(peak=Range(low, high, log=True))
        return for_averaged_weights(quasi_random) if str(space) == "averaged" else quasi_random
    if str(space) == "paper":
        return paper_grid(peak or DEFAULT_PEAK, *([] if seeds is None else [seeds]))
    if peak is not None:
        raise SweepError("--peak goes with sobol, averaged and paper; others say their own. Fix: leave one out")
    if ":" in str(space) and Path(space).suffix.lower() not in (".toml", ".csv"):
        if total_steps is None:
            raise SweepError(f"how many updates has a run of {space}? Fix: --steps N (total_steps=N)")
        return in_words(str(space), total_steps, seed=seed, seeds=seeds or 1)
    return read_space(Path(space), total_steps, seed=seed, seeds=seeds)


def make_trials(
    job: Job,
    space: AbstractSpace,
    runs: int | None,
    total_steps: int | None,
    *,
    seed: int,
    scales: Scales | None = None,
) -> list[Trial]:
    """The space's first trials, over all `scales`; the length is the caller's, or the function's own default."""
    scales = scales or Scales()
    if scales.lengths and total_steps is not None:
        raise ValueError(
            f"lengths and total_steps say the same, got {list(scales.lengths)} and {total_steps}. "
            "Fix: leave out --steps (total_steps), or --lengths (lengths)"
        )
    if runs is not None and runs < 1:
        raise ValueError(f"runs must be at least 1, got {runs}")
    if total_steps is not None and total_steps < 1:
        raise ValueError(f"total_steps must be at least 1, got {total_steps}")
    if total_steps is None and not scales.lengths and not isinstance(space, TrialList):
        if job.function is None:
            raise SweepError("how many updates has a run of this command? Fix: --steps N (total_steps=N)")
        total_steps = functions.planned_steps(job.function)
    return scales.trials(space, runs, total_steps or 0, seed=seed)


def make_executor(
    on: str | AbstractExecutor | None,
    *,
    jobs: int | None = None,
    threads: int = 1,
    logs: Path | None = None,
    cpus: float | None = None,
    gpus: float | None = None,
    ship: bool | None = None,
    timeout: float | str | None = None,
) -> AbstractExecutor:
    """Where trials run: None or "local"; "ray" (a cluster that is up, else one on this machine); a "ray://" address."""
    if isinstance(on, AbstractExecutor):
        if timeout is not None:
            raise ValueError("trial_timeout is for executors by name. Fix: give the executor itself timeout=...")
        return on
    if on in (None, "local"):
        if gpus:
            raise SweepError("--gpus is for --on ray. Fix: here, set CUDA_VISIBLE_DEVICES, and --jobs to what fits")
        return LocalExecutor(jobs, threads, logs=logs, timeout=timeout)
    if on != "ray" and not on.startswith("ray://"):
        raise SweepError(f"there is no executor {on!r}. Fix: local, ray, or ray://HOST:10001")
    from lodestar.sweep.executors.ray import RayExecutor

    address = None if on == "ray" else on
    need = threads if cpus is None else cpus
    return RayExecutor(address, cpus_per_trial=need, gpus_per_trial=gpus or 0, ship=ship, timeout=timeout)


def identity(
    job: Job, space: AbstractSpace, trials: Sequence[Trial], *, seed: int, scales: Scales | None = None
) -> dict[str, Any]:
    """What tells this sweep from another: not how many runs, so that more can be asked for later."""
    steps = None if isinstance(space, TrialList) or not trials else trials[0].total_steps
    told_apart = {} if scales is None else scales.identity()
    job_said = {k: v for k, v in job.as_dict().items() if v is not None and k not in ("cut_diverged", "scales")}
    return {**job_said, **told_apart, "space": dict(space.identity()), "seed": seed, "total_steps": steps}
