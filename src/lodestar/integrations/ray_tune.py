"""Pruning by forecast in Ray Tune: `LodestarTrialScheduler`, a trial scheduler like any other.

    scheduler = LodestarTrialScheduler(total_steps=30)
    tuner = tune.Tuner(
        train,
        param_space={"schedule": tune.choice(["cosine:1e-2", "linear:3e-3:warmup=0.05"])},
        tune_config=tune.TuneConfig(metric="accuracy", mode="max", num_samples=50, scheduler=scheduler),
    )

It goes by what trials report (`tune.report`), and learns in a thread of its own. A trial with hardly a chance to become
the best is stopped; one that has reported a checkpoint is paused, and goes on if what is learned later speaks for it,
the best forecast first. Trouble with the data is said once, and the search goes on.
"""

import contextlib
import json
import logging
import math
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from lodestar._extras import need
from lodestar.integrations._ray_results import Followed, past_results
from lodestar.integrations._survey import Survey
from lodestar.integrations._trial_run import History, Planned, runs_of, schedule_of
from lodestar.pruning import Background, Pruner, Verdict, VerdictKind
from lodestar.pruning.pruner import due
from lodestar.runs import Direction, Run

need("ray.tune", "ray")
from ray.tune.experiment import Trial  # noqa: E402
from ray.tune.result import SHOULD_CHECKPOINT  # noqa: E402
from ray.tune.schedulers import FIFOScheduler, TrialScheduler  # noqa: E402

REASON_FILE = "lodestar.json"
"""In the folder of a trial that was stopped: why."""
TOTAL, SCHEDULE = "total_steps", "schedule"  # what they are called in a trial's config
log = logging.getLogger(__name__)
T = TypeVar("T")


class LodestarTrialScheduler(FIFOScheduler):
    """Stops a trial whose chance to become the best has become small, by a forecast of its last value.

    Parameters:
        metric, mode: as in `tune.TuneConfig`, in one of the two places.
        time_attr, loss, lr: what steps, the loss and the learning rate are called in a trial's reports; the last two
            may be missing.
        schedule: a trial's learning rate from its config: `lambda config: f"cosine:{config['lr']}"` (words, a list of
            rates, or a `Schedule`), or the name of an entry of the config that says it. Without it the reported rates
            count, and without these, trials are judged by their curves alone.
        total_steps: the last step of a trial, or a function of its config. Default: the entry "total_steps" of the
            config, or what the finished trials had, if that is always the same.
        history: runs of the same job from before, or the path of a run store (`lodestar import`): a head start.
        pause: whether trials that report checkpoints are paused first.
        least_chance, startup, least_seen: as in `lodestar.pruning.Pruner`.
        overhead: the share of the time that judging may take.

    `reasons` says of each trial that was stopped, why; so does the file `lodestar.json` in its folder.
    """

    _supports_buffered_results = False  # each result is seen when it comes

    def __init__(
        self,
        metric: str | None = None,
        mode: str | None = None,
        *,
        time_attr: str = "training_iteration",
        loss: str = "loss",
        lr: str = "lr",
        schedule: str | Callable[[Mapping[str, Any]], Planned | None] = SCHEDULE,
        total_steps: int | Callable[[Mapping[str, Any]], int] | None = None,
        history: History = (),
        pause: bool = True,
        least_chance: float | None = None,
        startup: int = 4,
        least_seen: float = 0.0,
        overhead: float = 0.004,
        seed: int = 0,
    ):
        super().__init__()
        if mode not in (None, "min", "max"):
            raise ValueError(f"mode must be min or max, got {mode!r}. Fix: the one your metric needs")
        if not 0 < overhead <= 1:
            raise ValueError(f"overhead is a share of the time and must lie in (0, 1], got {overhead}. Fix: 0.004")
        self._metric, self._mode, self._names = metric, mode, (time_attr, loss, lr)
        self._schedule, self._total, self._pause, self._overhead = schedule, total_steps, pause, overhead
        self.pruner = Pruner(
            least_chance=least_chance, startup=startup, least_seen=least_seen, history=runs_of(history), seed=seed
        )
        self.reasons: dict[str, str] = {}
        self._followed: dict[str, Followed] = {}
        self._length: int | None = None
        self._paused: dict[str, Verdict] = {}
        self._weighed: object = None  # what was learned when the paused trials were last judged
        self._wake()

    def set_search_properties(self, metric: str | None, mode: str | None, **spec: Any) -> bool:
        """Ray tells what `tune.TuneConfig` says; False where that was said here already."""
        if (self._metric and metric) or (self._mode and mode):
            return False
        self._metric, self._mode = self._metric or metric, self._mode or mode
        return True

    def on_trial_add(self, tune_controller: Any, trial: Trial) -> None:
        """A new trial, one that is tried again, or in a restored search one from before, with what it reported."""
        self._guarded(lambda: self._add(trial), trial)

    def on_trial_result(self, tune_controller: Any, trial: Trial, result: dict[str, Any]) -> str:
        """Ray asks this at every report. Never raises for want of a forecast, and mostly returns at once."""
        began = time.monotonic()
        verdict = self._guarded(lambda: self._verdict(trial, result, began), trial)
        if verdict is None or not verdict.stop:
            return TrialScheduler.CONTINUE
        stays = trial.has_checkpoint() or result.get(SHOULD_CHECKPOINT, False)
        if self._pause and stays and verdict.kind is VerdictKind.HOPELESS:
            log.info("trial %s is paused: %s", trial, verdict.reason)
            self._paused[trial.trial_id] = verdict
            return TrialScheduler.PAUSE
        self._stopped(trial, verdict)
        return TrialScheduler.STOP

    def on_trial_complete(self, tune_controller: Any, trial: Trial, result: dict[str, Any]) -> None:
        """It ended, by itself or because it was stopped."""
        followed = self._of(trial)
        followed.take(result, self._metric, *self._names)
        followed.ended, followed.whole = True, trial.trial_id not in self.reasons
        self._background.look(self._runs)

    def on_trial_error(self, tune_controller: Any, trial: Trial) -> None:
        """It failed; if it is tried again, Ray adds it again."""
        self._of(trial).ended = True
        self._paused.pop(trial.trial_id, None)
        self._background.look(self._runs)

    def on_trial_remove(self, tune_controller: Any, trial: Trial) -> None:
        """It was stopped while it waited."""
        self._of(trial).ended = True
        self._paused.pop(trial.trial_id, None)

    def choose_trial_to_run(self, tune_controller: Any) -> Trial | None:
        """A paused trial that has a chance again, the best first; else the next new one.

        The paused ones that have none are stopped when nothing else is left, or when the search waits for their places.
        """
        trials = tune_controller.get_trials()
        waiting = next((trial for trial in trials if trial.status == Trial.PENDING), None)
        paused = [trial for trial in trials if trial.status == Trial.PAUSED]
        if paused:
            self._background.look(self._runs)
            self._weigh(paused)
        fit = [trial for trial in paused if not self._hopeless(trial)]
        if fit:
            return max(fit, key=self._worth)
        if paused and waiting is None and self._last_word(tune_controller, trials):
            for trial in paused:
                self._stopped(trial, self._paused[trial.trial_id])
                tune_controller.stop_trial(trial)
        return waiting

    def debug_string(self) -> str:
        """A line in Ray's status."""
        learned = self.pruner.learned.finished
        return f"Lodestar: learned from {learned} trials, {len(self.reasons)} stopped, {len(self._paused)} paused"

    def save(self, checkpoint_path: str) -> None:
        """What was heard, as JSON."""
        heard = {name: vars(followed) for name, followed in self._followed.items()}
        Path(checkpoint_path).write_text(json.dumps({"version": 1, "trials": heard, "reasons": self.reasons}))

    def restore(self, checkpoint_path: str) -> None:
        """What `save` wrote."""
        saved = json.loads(Path(checkpoint_path).read_text())
        self._followed = {name: Followed.of(heard) for name, heard in saved["trials"].items()}
        self.reasons = saved["reasons"]

    def _add(self, trial: Trial) -> None:
        if self._direction is None:
            self._survey.say(
                "no metric and mode were said (a search of several objectives?), so no trial is stopped. Fix: "
                "LodestarTrialScheduler(metric='accuracy', mode='max')"
            )
        followed = self._of(trial)
        followed.ended = trial.is_finished()
        if not followed.metric and trial.has_reported_at_least_once:  # a restored search
            results, reason = past_results(trial, REASON_FILE)
            for result in results:
                followed.take(result, self._metric, *self._names)
            if reason is not None and followed.ended:
                self.reasons[trial.trial_id] = reason
        followed.whole = trial.status == Trial.TERMINATED and trial.trial_id not in self.reasons

    def _of(self, trial: Trial) -> Followed:
        """What is known of it; made when it is first heard of."""
        if trial.trial_id not in self._followed:
            self._followed[trial.trial_id] = Followed(str(trial))
            self._guarded(lambda: self._followed[trial.trial_id].plan(*self._plan(trial.config)), trial)
        return self._followed[trial.trial_id]

    def _plan(self, config: Mapping[str, Any]) -> tuple[int | None, Planned | None]:
        total = self._total(config) if callable(self._total) else self._total
        total = config.get(TOTAL) if total is None else total
        try:
            planned = self._schedule(config) if callable(self._schedule) else config.get(self._schedule)
            schedule_of(planned, 1000)  # what nobody can read is found out here
        except Exception as error:  # noqa: BLE001  the user's function or words
            self._survey.say(f"the schedule of a trial could not be read, and it is judged without: {error!r}")
            planned = None
        return None if total is None else int(total), planned

    def _verdict(self, trial: Trial, result: Mapping[str, Any], began: float) -> Verdict | None:
        followed, direction = self._of(trial), self._direction
        step = followed.take(result, self._metric, *self._names)
        if step is None or direction is None:
            return None
        self._background.look(self._runs)
        total = self._length if followed.total is None else followed.total
        bad = not math.isfinite(followed.metric[step])
        now = 0.0 if total is None else step / max(total, 1)
        if not bad and (total is None or not due(followed.judged, now)):
            return None
        if not bad and self._spent > self._overhead * (began - self._began + 1.0):
            return None
        followed.judged = now
        verdict = self._judge(followed, direction)
        self._spent += time.monotonic() - began
        return verdict

    def _judge(self, followed: Followed, direction: Direction) -> Verdict | None:
        run = followed.run(direction, self._length)
        return None if run is None else self.pruner.judge(run, schedule_of(followed.planned, run.total_steps))

    def _weigh(self, paused: list[Trial]) -> None:
        """Judge the paused trials anew once more has been learned."""
        direction = self._direction
        if self._weighed is self.pruner.learned or direction is None:
            return
        for trial in paused:
            verdict = self._guarded(lambda trial=trial: self._judge(self._of(trial), direction), trial)
            if verdict is not None:
                self._paused[trial.trial_id] = verdict
        self._weighed = self.pruner.learned

    def _hopeless(self, trial: Trial) -> bool:
        verdict = self._paused.get(trial.trial_id)
        return verdict is not None and verdict.stop

    def _worth(self, trial: Trial) -> float:
        """Its chance to become the best, for the work it still takes; one that nobody can judge comes first."""
        verdict = self._paused.get(trial.trial_id)
        final = None if verdict is None else verdict.forecast
        return math.inf if final is None else final.chance / max(1.0 - final.seen, 0.01)

    @staticmethod
    def _last_word(tune_controller: Any, trials: Sequence[Trial]) -> bool:
        """Whether nothing more will be learned before the paused trials must go: a searcher may count them as live."""
        return not tune_controller.search_alg.is_finished() or not any(t.status == Trial.RUNNING for t in trials)

    def _stopped(self, trial: Trial, verdict: Verdict) -> None:
        reason = self.reasons[trial.trial_id] = f"{verdict.kind}: {verdict.reason}"
        self._paused.pop(trial.trial_id, None)
        log.info("trial %s is stopped: %s", trial, reason)
        if trial.storage is None or not trial.local_path or not Path(trial.local_path).is_dir():
            return
        with contextlib.suppress(OSError):  # a full disk stops no search
            Path(trial.local_path, REASON_FILE).write_text(json.dumps({"kind": verdict.kind, "reason": reason}) + "\n")

    def _runs(self) -> list[Run]:
        """Every trial that ended with values, as a run; and what the finished ones say of their length."""
        direction = self._direction
        if direction is None:
            return []
        ended = [followed for followed in list(self._followed.values()) if followed.ended]
        whole = [followed for followed in ended if followed.whole and followed.metric]
        self._survey.history(self.pruner.history, direction)
        self._survey.ended(len(ended), len(whole))
        self._survey.rated(sum(bool(each.lr) or each.planned is not None for each in whole), len(whole))
        told = all(followed.total is not None for followed in whole)
        self._length = self._survey.length([max(followed.metric) for followed in whole], told=told)
        runs = (followed.run(direction, self._length) for followed in ended)
        return [run for run in runs if run is not None]

    @property
    def _direction(self) -> Direction | None:
        return None if not self._metric or not self._mode else Direction(self._mode)

    def _guarded(self, action: Callable[[], T], trial: Trial) -> T | None:
        try:
            return action()
        except Exception as error:  # noqa: BLE001  the search goes on without us
            self._survey.say(f"trial {trial} could not be judged and goes on: {error!r}")
            return None

    def _wake(self) -> None:
        """What is not sent to other processes, nor saved."""
        told = 'an entry "total_steps" in the config'
        self._survey = Survey(log, pruner=type(self).__name__, report="tune.report({metric: value})", total=told)
        self._background = Background(self.pruner)
        self._began, self._spent = time.monotonic(), 0.0

    def __getstate__(self) -> dict[str, Any]:
        """For `Tuner.restore` and for other processes: threads and clocks stay behind."""
        return {name: value for name, value in vars(self).items() if name not in ("_background", "_survey")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._wake()
