"""One trial, from the call of the user's function or command to the run it made. The same code in every executor."""

import os
import traceback
from collections.abc import Callable, Mapping
from typing import Any

from lodestar._errors import SweepError
from lodestar.runs import Note, NoteKind, Run, Scalar
from lodestar.sweep import function as functions
from lodestar.sweep import recorder as recorders
from lodestar.sweep.events import FailureKind, TrialCut, TrialFailed
from lodestar.sweep.executors import shell
from lodestar.sweep.recorder import Progress, Recorder
from lodestar.sweep.trial import Job, Trial


def check(job: Job, *, sets_rate: bool = True) -> None:
    """Find the job's function and refuse what cannot be called: `SweepError`. Imports the user's module."""
    if (job.function is None) == (job.command is None):
        raise SweepError("a sweep needs a function or a command, one of them. Fix: module:name, or --command '...'")
    if job.function is not None:
        functions.check(job.function, functions.find(job.function), sets_rate=sets_rate, scales=job.scales)


def carry_out(
    job: Job,
    trial: Trial,
    *,
    on_start: Callable[[Recorder], None] | None = None,
    on_progress: Progress | None = None,
    after: Callable[[], None] | None = None,
) -> Run:
    """Make one run. `on_start` gets what keeps its reports; `on_progress(step, loss, metric)` is called now and then,
    from the trial's own thread; `after` as soon as the user's code has ended, however it did."""
    recorder = Recorder(trial, cut_diverged=job.cut_diverged, on_progress=on_progress)
    if on_start is not None:
        on_start(recorder)
    try:
        ended = _call(job, trial, recorder)
    finally:
        if after is not None:
            after()
    returned = _returned(ended, recorder)
    if not recorder.reported:
        what = f"it ended without reporting a loss. Fix: {_how_to_report(job)}"
        raise TrialFailed(what, kind=FailureKind.NO_LOSS)
    return recorder.as_run(job, returned)


def _call(job: Job, trial: Trial, recorder: Recorder) -> Any:
    pid = os.getpid()
    try:
        return _start(job, trial)(recorder)
    except TrialCut:
        return None
    except KeyboardInterrupt:
        raise
    except SystemExit as end:
        if end.code not in (None, 0) and not recorder.lost_at_the_end:
            what = f"it called sys.exit({end.code!r})"
            raise TrialFailed(what, _their_part(end), FailureKind.EXITED) from None
        recorder.notes.append(Note(f"the function ended by sys.exit({'' if end.code is None else end.code})"))
        return None
    except TrialFailed as failure:
        return _forgiven(recorder, failure.reason, failure)
    except BaseException as error:  # noqa: BLE001  whatever the user's code does, the sweep goes on
        what = f"it raised {type(error).__name__}: {str(error)[:300]}".rstrip(": ")
        return _forgiven(recorder, what, TrialFailed(what, _their_part(error), FailureKind.RAISED))
    finally:
        if os.getpid() != pid:  # the function forked, and this is the child coming back: it must not go on as us
            os._exit(0)


def _forgiven(recorder: Recorder, what: str, failure: TrialFailed) -> None:
    """Many jobs stop themselves at a NaN: such a trial diverged, and is kept; any other failure is one."""
    if recorder.cut is None and recorder.pruned is None and not recorder.lost_at_the_end:
        raise failure from None
    recorder.notes.append(Note(f"after {'it was stopped' if recorder.pruned else 'the loss was lost'}, {what}"))


def _start(job: Job, trial: Trial) -> Callable[[Recorder], Any]:
    if job.command is not None:
        return lambda recorder: shell.run(job.command or "", trial, recorder)
    function = functions.find(job.function or "")
    own = {name: trial.settings[name] for name in job.scales if name in trial.settings}
    given = {**vars(trial), **own, "settings": dict(trial.settings)}
    takes = functions.taken(function, tuple(own))
    return lambda recorder: function(**{name: {**given, "report": recorder}[name] for name in takes})


def _returned(returned: Any, recorder: Recorder) -> dict[str, Scalar]:
    """The plain values among what the function returned; a note for anything else."""
    if returned is None:
        return {}
    if not isinstance(returned, Mapping):
        what = f"{type(returned).__name__} {str(returned)[:40]!r}"
        why = f"the function returned a {what}, no mapping of names to plain values; it was left out"
        recorder.notes.append(Note(why, NoteKind.LEFT_OUT))
        return {}
    kept: dict[str, Scalar] = {}
    for name, value in returned.items():
        plain = _plain(value)
        if plain is None:
            why = f"returned {str(name)[:40]!r} is a {type(value).__name__}, no plain value; left out"
            recorder.notes.append(Note(why, NoteKind.LEFT_OUT))
        else:
            kept[str(name)] = plain
    return kept


def _plain(value: Any) -> Scalar | None:
    if not isinstance(value, str | int | float | bool) and hasattr(value, "item"):
        try:
            value = value.item()
        except (ValueError, RuntimeError, TypeError):
            return None
    return value if isinstance(value, str | int | float | bool) else None


def _their_part(error: BaseException) -> str:
    """The traceback without our frames, above and below the user's: its last lines are those that count."""
    told = traceback.TracebackException.from_exception(error)
    theirs = [frame for frame in told.stack if frame.filename not in (__file__, recorders.__file__)]
    told.stack = traceback.StackSummary.from_list(theirs)
    return "".join(told.format())


def _how_to_report(job: Job) -> str:
    if job.command is not None:
        return 'append lines such as {"step": 10, "loss": 0.7} to the file $LODESTAR_REPORT'
    return "call report(step, loss=..., metric=...) in the training loop"
