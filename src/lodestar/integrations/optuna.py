"""Pruning by forecast in Optuna: `LodestarPruner`, a pruner like any other, and `report`, which tells it more.

    study = optuna.create_study(storage=..., direction="maximize", pruner=LodestarPruner())

    def objective(trial):
        for step in ...:
            report(trial, step, loss=loss, metric=accuracy)      # or trial.report(accuracy, step)
            if trial.should_prune():
                raise optuna.TrialPruned()

Any sampler, storage and number of workers: what it knows it reads from the study, in a thread of its own. Why a trial
was stopped stands in its user attribute "lodestar". Trouble with the data is said once, and the study goes on.
"""

import logging
import math
import threading
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from lodestar._extras import need
from lodestar.fitting.quality import spearman
from lodestar.integrations._optuna_run import LOSS, LR, as_run
from lodestar.integrations._survey import Survey
from lodestar.integrations._trial_run import History, Planned, runs_of, schedule_of
from lodestar.pruning import Background, Pruner, VerdictKind
from lodestar.pruning.pruner import due
from lodestar.runs import Direction, Run

need("optuna", "optuna")
import optuna  # noqa: E402
from optuna.trial import FrozenTrial, TrialState  # noqa: E402

TOTAL, SCHEDULE, REASON = "total_steps", "schedule", "lodestar"
"""User attributes of a trial, beside its curves: the planned length, the schedule, and why it was stopped."""
_OPPOSED, _ENOUGH = -0.5, 6  # rank correlation of reported and final values, and trials, from which they are opposed
log = logging.getLogger(__name__)
_curves: "weakref.WeakKeyDictionary[Any, dict[str, list[list[float]]]]" = weakref.WeakKeyDictionary()


def report(trial: optuna.Trial, step: int, *, loss: Any = None, metric: Any = None, lr: Any = None) -> None:
    """Tell of a trial: `metric` as `trial.report` does, loss and rate beside it. All but the step may be left out."""
    if metric is not None and len(trial.study.directions) == 1:
        trial.report(float(metric), step)
    elif metric is not None:
        _several(trial.study)
    kept = _curves.setdefault(trial, {LOSS: [], LR: []})
    for name, value in ((LOSS, loss), (LR, lr)):
        if value is not None:
            kept[name].append([int(step), float(value)])
            if _written_now(len(kept[name])):
                trial.set_user_attr(name, kept[name])


class LodestarPruner(optuna.pruners.BasePruner):
    """Stops a trial whose chance to become the best of the study has become small, by a forecast of its last value.

    Parameters:
        schedule: the learning rate of a trial from its parameters: `lambda params: f"cosine:{params['lr']}"` (words, a
            list of rates, or a `Schedule`); without it, the trial's user attribute "schedule"; without both, trials are
            judged by their curves alone.
        total_steps: the last step of a trial, or a function of its parameters. Default: the user attribute
            "total_steps", or what the finished trials had, if that is always the same.
        history: runs of the same job from before, or the path of a run store (`lodestar import`): a head start.
        least_chance, startup, least_seen: as in `lodestar.pruning.Pruner`.
        overhead: the share of the time that judging may take.
    """

    def __init__(
        self,
        *,
        schedule: Callable[[Mapping[str, Any]], Planned | None] | None = None,
        total_steps: int | Callable[[Mapping[str, Any]], int] | None = None,
        history: History = (),
        least_chance: float | None = None,
        startup: int = 4,
        least_seen: float = 0.0,
        overhead: float = 0.004,
        seed: int = 0,
    ):
        if not 0 < overhead <= 1:
            raise ValueError(f"overhead is a share of the time and must lie in (0, 1], got {overhead}. Fix: 0.004")
        self.pruner = Pruner(
            least_chance=least_chance, startup=startup, least_seen=least_seen, history=runs_of(history), seed=seed
        )
        self._schedule, self._total, self._overhead = schedule, total_steps, overhead
        self._background = Background(self.pruner)
        self._judged: dict[int, float] = {}
        self._length: int | None = None
        self._opposed = False
        told = f"trial.set_user_attr({TOTAL!r}, N)"
        self._survey = Survey(log, pruner="LodestarPruner", report="trial.report(value, step)", total=told)
        self._began, self._spent = time.monotonic(), 0.0

    def learn(self, study: optuna.Study) -> None:
        """Learn from the study's finished trials now; else that happens in a thread, by and by."""
        self.pruner.learn(self._runs(study))

    def prune(self, study: optuna.Study, trial: FrozenTrial) -> bool:
        """Optuna asks this. Never raises for want of a forecast, and mostly returns at once."""
        began = time.monotonic()
        try:
            return self._prunes(study, trial, began)
        except Exception as error:  # noqa: BLE001  the study goes on without us
            self._survey.say(f"trial {trial.number} could not be judged and goes on: {error!r}")
            return False
        finally:
            self._spent += time.monotonic() - began

    def _prunes(self, study: optuna.Study, trial: FrozenTrial, began: float) -> bool:
        if len(study.directions) != 1:
            _several(study)
            return False
        self._background.look(lambda: self._runs(study))
        if trial.last_step is None or self._spent > self._overhead * (began - self._began + 1.0):
            return False
        total = self._length_of(trial)
        now = self._share(trial, total)
        bad = not math.isfinite(trial.intermediate_values[trial.last_step])
        if (total is None and not bad) or not (bad or due(self._judged.get(trial.number, 0.0), now)):
            return False
        self._judged[trial.number] = now
        run = as_run(trial, Direction.MAX if _maximises(study) else Direction.MIN, total, self._planned(trial))
        if run is None or (self._opposed and not bad):
            return False
        verdict = self.pruner.judge(run, schedule_of(self._planned(trial), run.total_steps))
        if verdict.stop:
            log.info("trial %d is stopped: %s", trial.number, verdict.reason)
            study._storage.set_trial_user_attr(trial._trial_id, REASON, f"{verdict.kind}: {verdict.reason}")
        elif verdict.kind is VerdictKind.UNPROVEN:
            log.debug("trial %d goes on: %s", trial.number, verdict.reason)
        return verdict.stop

    def _share(self, trial: FrozenTrial, total: int | None) -> float:
        return 0.0 if total is None else (trial.last_step or 0) / max(total, 1)

    def _runs(self, study: optuna.Study) -> list[Run]:
        """Every trial that ended with values, as a run; and what the finished ones say of their length."""
        direction = Direction.MAX if _maximises(study) else Direction.MIN
        ended = study.get_trials(deepcopy=False, states=(TrialState.COMPLETE, TrialState.PRUNED, TrialState.FAIL))
        whole = [trial for trial in ended if trial.state is TrialState.COMPLETE and trial.intermediate_values]
        self._look_over(ended, whole, direction)
        kept = [trial for trial in ended if trial.state is not TrialState.FAIL]
        runs = (as_run(trial, direction, self._length_of(trial), self._planned(trial)) for trial in kept)
        return [run for run in runs if run is not None and np.isfinite(run.metric.values).any()]

    def _look_over(self, ended: Sequence[FrozenTrial], whole: Sequence[FrozenTrial], direction: Direction) -> None:
        survey = self._survey
        survey.history(self.pruner.history, direction)
        survey.ended(len(ended), len(whole))
        told = self._total is not None or all(TOTAL in trial.user_attrs for trial in whole)
        self._length = survey.length([trial.last_step or 0 for trial in whole], told=told)
        survey.rated(sum(LR in trial.user_attrs or self._planned(trial) is not None for trial in whole), len(whole))
        pairs = [(trial.intermediate_values[trial.last_step or 0], trial.value) for trial in whole]
        fine = np.array([pair for pair in pairs if None not in pair], dtype=float).reshape(-1, 2)
        fine = fine[np.isfinite(fine).all(axis=1)]
        self._opposed = len(fine) >= _ENOUGH and spearman(fine[:, 0], fine[:, 1]) < _OPPOSED
        if self._opposed:
            survey.say(
                "what trials report falls where their final value rises (a loss reported in a study that maximises "
                "accuracy?), so no trial is stopped. Fix: report the quantity that the objective returns"
            )

    def _length_of(self, trial: FrozenTrial) -> int | None:
        given = trial.user_attrs.get(TOTAL)
        if given is None and self._total is not None:
            given = self._total(trial.params) if callable(self._total) else self._total
        return self._length if given is None else int(given)

    def _planned(self, trial: FrozenTrial) -> Planned | None:
        """Its schedule; None where there is none, or nobody can read it."""
        try:
            planned = trial.user_attrs.get(SCHEDULE) if self._schedule is None else self._schedule(trial.params)
            schedule_of(planned, 1000)  # what nobody can read is found out here
            return planned
        except Exception as error:  # noqa: BLE001  the user's function or words, on a trial they were not made for
            self._survey.say(f"schedule(params) failed for trial {trial.number}, which is judged without: {error!r}")
            return None

    def __getstate__(self) -> dict[str, Any]:
        """For studies that are sent to other processes: what was learned stays behind and is learned there anew."""
        return {**vars(self), "_background": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._background = Background(self.pruner)


def _maximises(study: optuna.Study) -> bool:
    return study.direction is optuna.study.StudyDirection.MAXIMIZE


def _written_now(count: int) -> bool:
    """The first few, then at every tenth more: a database is not written to at every step."""
    return count <= 10 or math.floor(math.log(count, 1.1)) > math.floor(math.log(count - 1, 1.1))


_told: set[str] = set()
_telling = threading.Lock()


def _several(study: optuna.Study) -> None:
    with _telling:
        if study.study_name in _told:
            return
        _told.add(study.study_name)
    log.warning(
        "study %r has %d objectives: no one trial is the best, so none is stopped. Fix: a study of one objective",
        study.study_name,
        len(study.directions),
    )
