"""A schedule as people give it to a command: words, a file, a past run's name, or a Python function.

Comes in: the text behind `--schedule`. Goes out: a `Schedule` over every step of the job, or one clear sentence.
"""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lodestar.cli._source import RunSource
    from lodestar.runs.run import Run
    from lodestar.schedules import Schedule

_AGREES = 0.02  # of the peak: how far a stated schedule may be off what was logged
_TO_THE_END = 0.97  # of a run: what its logged rates must reach, for its schedule to be known


def read_schedules(
    given: list[str], total_steps: int, runs: "RunSource | None", done: int = 0
) -> "dict[str, Schedule]":
    """Each schedule under the words it was given by. `done`: steps that lie behind, which a file may leave out."""
    names = {text for text in given if _kind(text) is not _words}
    past = {run.name: run for run in runs or () if run.name in names} if names else {}
    return {
        text: schedule_of(past[text], total_steps) if text in past else _kind(text)(text, total_steps, done)
        for text in dict.fromkeys(given)
    }


def schedule_of(run: "Run", total_steps: int) -> "Schedule":
    """What a past run did, stretched to the length of this job."""
    import numpy as np

    from lodestar.schedules import Schedule

    if not known_to_the_end(run):
        last = int(run.lr.steps[-1]) if len(run.lr) else 0
        raise ValueError(
            f"the schedule of run {run.name!r} is known up to step {last} of {run.total_steps} only. Fix: name a run "
            "whose learning rate was logged to the end"
        )
    at = np.arange(1, total_steps + 1) * (run.total_steps / total_steps)
    return Schedule(run.name, np.interp(at, run.lr.steps, run.lr.values))


def known_to_the_end(run: "Run") -> bool:
    """Whether the run's learning rate was logged to its last step, or nearly."""
    return len(run.lr) > 0 and int(run.lr.steps[-1]) >= _TO_THE_END * run.total_steps


def followed(run: "Run") -> "tuple[Schedule | None, str]":
    """The schedule that a run follows to its end, and how that is known; or None, and why it is not.

    A schedule that the run's config states counts only where it is the rate that was logged so far.
    """
    import numpy as np

    from lodestar.schedules import Schedule
    from lodestar.schedules.reconstruct import reconstruct

    total, logged = run.total_steps, int(run.lr.steps[-1]) if len(run.lr) else 0
    if known_to_the_end(run):
        return schedule_of(run, total), "logged to its end"
    stated = {"schedule": run.facts.schedule, "peak_lr": run.facts.peak_lr}
    config = {name: value for name, value in stated.items() if value is not None}
    rates, how = reconstruct(
        {**config, **run.facts.extra, "total_steps": total}, np.arange(1, total + 1), in_epochs=False
    )
    short = f"its learning rate was logged up to step {logged} of {total}"
    if rates is None:
        return None, f"{short}, and {how}"
    off = np.abs(np.interp(run.lr.steps, np.arange(1, total + 1), rates) - run.lr.values)
    if len(off) < 2 or off.max() > _AGREES * rates.max():
        return None, f"{short}, and that is not what its config states ({how})"
    return Schedule(run.name, rates), f"by its config, which agrees with what was logged: {how}"


def _kind(text: str) -> "Callable[[str, int, int], Schedule]":
    from lodestar.schedules import find

    home, colon, last = text.rpartition(":")
    if text.lower().endswith((".csv", ".json")):
        return _file
    if find(text.partition(":")[0]) is not None or (colon and _is_number(last)) or "=" in last:
        return _words
    return _function if home and all(part.isidentifier() for part in last.split(".")) else _nothing


def _words(text: str, total_steps: int, done: int) -> "Schedule":
    from lodestar.schedules import parse

    return parse(text, total_steps)


def _nothing(text: str, total_steps: int, done: int) -> "Schedule":
    from lodestar.schedules import FAMILIES

    raise ValueError(
        f"there is no schedule {text!r}: it is no family, file or function, and no run of --runs. Fix: family:peak, "
        f"such as linear:3e-3, with a family of {', '.join(FAMILIES)}; or --runs STORE, for a past run's name"
    )


def _function(text: str, total_steps: int, done: int) -> "Schedule":
    """A function of the step, counted from 1, that returns the learning rate."""
    import numpy as np

    from lodestar.schedules import Schedule
    from lodestar.sweep.function import find

    if str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))
    function, rates, step = find(text), np.empty(total_steps), 1
    try:
        for step in range(1, total_steps + 1):
            rates[step - 1] = float(function(step))
    except Exception as error:  # the user's own code
        raise ValueError(
            f"{text} failed at step {step}: {type(error).__name__}: {error}. Fix: a function that takes the step, from "
            "1 on, and returns the learning rate"
        ) from error
    return Schedule(text, rates)


def _file(text: str, total_steps: int, done: int) -> "Schedule":
    import numpy as np

    from lodestar.schedules import Schedule

    if not Path(text).is_file():
        raise ValueError(f"there is no file {text}. Fix: check the path")
    read = Schedule.from_json(text) if text.lower().endswith(".json") else Schedule.from_csv(text)
    if not 1 <= read.first_step <= done + 1 or read.last_step != total_steps:
        raise ValueError(
            f"{text} holds the learning rates of steps {read.first_step} to {read.last_step}, those of {done + 1} to "
            f"{total_steps} are needed, counted from 1. Fix: --steps, or another file"
        )
    behind = np.full(read.first_step - 1, read.rates[0])  # never used: what was done stands there
    return Schedule(text, np.concatenate([behind, read.rates])[-total_steps:])


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
