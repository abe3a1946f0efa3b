"""The pruner: keep a trial or stop it, and the reason in a sentence.

Comes in: runs that have ended (`learn`), then the observed part of one under way (`judge`). Goes out: a `Verdict`. A
trial is stopped when so many others looked better at the same share of the run that the best one of a sweep hardly ever
stands there, twice in a row and by each of two models: one goes by the curves, the other knows the schedules. How many
that are follows from where the best trials of this sweep stood, by plain value or by a forecast that was not fitted to
them; nothing is stopped before either beats chance. Pure: no threads, no clocks, no files.
"""

import dataclasses
import enum
import math
from collections.abc import Sequence

import numpy as np

from lodestar.pruning.finals import LEVEL, MOMENTS, Final, FinalModel, fit_finals
from lodestar.runs.run import Direction, Run, Status
from lodestar.schedules.schedule import Schedule

NOT_FINITE = 3  # values in a row that are NaN or inf
_LIKELY = 0.25  # a trial with such a chance to become the best goes on whatever its place


class VerdictKind(enum.StrEnum):
    """How a verdict came about."""

    LEARNING = "learning"  # too few finished trials yet
    UNPROVEN = "unproven"  # the forecasts do not beat chance yet
    PROMISING = "promising"
    HOPELESS = "hopeless"  # stopped: hardly a chance to become the best
    NOT_FINITE = "not finite"  # stopped: its values are NaN or inf


@dataclasses.dataclass(frozen=True)
class Verdict:
    """Keep or stop."""

    kind: VerdictKind
    reason: str
    forecast: Final | None = None

    @property
    def stop(self) -> bool:
        return self.kind in (VerdictKind.HOPELESS, VerdictKind.NOT_FINITE)


@dataclasses.dataclass(frozen=True)
class Learned:
    """What runs taught that have ended: models, the best final metric and whose it is, and how many finished."""

    models: tuple[FinalModel, ...] = ()
    best: tuple[str, float] | None = None
    finished: int = 0


class Pruner:
    """Stops a trial that stands where the best of a sweep hardly ever stands.

    With `least_chance`, a trial is stopped instead when its chance to become the best is below it. `startup` trials run
    to their end whatever they look like; before `least_seen` (a share of the run) none is stopped. `history` are
    finished runs of the same job from before: they count as trials learned from, but not for the best so far. Nothing
    is drawn at random: `seed` is kept for callers of before.
    """

    def __init__(
        self,
        *,
        least_chance: float | None = None,
        startup: int = 4,
        least_seen: float = 0.0,
        history: Sequence[Run] = (),
        seed: int = 0,
    ):
        if least_chance is not None and not 0 < least_chance < 0.5:
            raise ValueError(f"least_chance must lie between 0 and 0.5, got {least_chance}. Fix: leave it out")
        if startup < 3:
            raise ValueError(f"startup must be at least 3 trials, got {startup}: fewer teach nothing. Fix: startup=4")
        if not 0 <= least_seen < 1:
            raise ValueError(f"least_seen is a share of a run and must lie in [0, 1), got {least_seen}. Fix: 0.05")
        self.least_chance, self.startup, self.least_seen, self.seed = least_chance, startup, least_seen, seed
        self.history = tuple(run for run in history if run.status is Status.FINISHED and len(run.metric))
        self.learned = Learned()
        self._schedules: dict[str, Schedule] = {}

    def learn(self, runs: Sequence[Run]) -> Learned:
        """Fit to runs that have ended, in a fraction of a second. Those that were stopped are among them."""
        runs = [run for run in runs if len(run.metric)]
        fine = [run for run in runs if run.status is Status.FINISHED and math.isfinite(run.final_metric)]
        best = None
        if fine:
            pick = max if fine[0].direction is Direction.MAX else min
            top = pick(fine, key=lambda run: run.final_metric)
            best = (top.name, top.final_metric)
        alike = [run for run in self.history if not fine or run.direction is fine[0].direction]
        known = len(fine) + len(alike)
        models = fit_finals([*alike, *runs], dict(self._schedules)) if fine and known >= self.startup else ()
        self.learned = Learned(models, best, known)
        return self.learned

    def judge(self, run: Run, schedule: Schedule | None = None) -> Verdict:
        """A run under way: its status does not matter, its `total_steps` is the planned length.

        Its schedule is remembered by its name: should the run be stopped, what it logged does not tell its end.
        """
        if schedule is not None:
            self._schedules[run.name] = schedule
        values = (run.metric if len(run.metric) else run.loss).values[-NOT_FINITE:]
        if len(values) == NOT_FINITE and not np.isfinite(values).any():
            return Verdict(VerdictKind.NOT_FINITE, f"its last {NOT_FINITE} values were not finite ({values[-1]})")
        learned = self.learned
        if learned.finished < self.startup or learned.best is None:
            return Verdict(
                VerdictKind.LEARNING, f"{learned.finished} of {self.startup} trials to learn from have finished"
            )
        if not any(np.isfinite(series.values).any() for series in (run.metric, run.loss)):
            return Verdict(
                VerdictKind.UNPROVEN, "it has reported no finite value yet: nothing is forecast from nothing"
            )
        made = [model.forecast(run, schedule, learned.best[1]) for model in learned.models]
        told = [final for final in made if final is not None]
        if not told:
            what = f"{learned.finished} finished trials do not tell yet where a trial like this one will end"
            return Verdict(VerdictKind.UNPROVEN, f"{what}: held-out trials were forecast no better than by chance")
        final = max(told, key=self._merit)
        hopeless = self._lost(final)  # then all of them say so
        return Verdict(
            VerdictKind.HOPELESS if hopeless else VerdictKind.PROMISING, self._sentence(final, learned), final
        )

    def _lost(self, final: Final) -> bool:
        low = final.chance < (self.least_chance or _LIKELY)
        behind = self.least_chance is not None or final.better > final.asked
        return low and behind and final.seen >= self.least_seen

    def _merit(self, final: Final) -> tuple[bool, bool, float]:
        """The model that speaks for a trial gives the reason; if none does, the one that knows most."""
        return not self._lost(final), final.knows_schedule, final.chance

    def _sentence(self, final: Final, learned: Learned) -> str:
        name, best = learned.best or ("", math.nan)
        knows = "its schedule and its curve" if final.knows_schedule else "its curve"
        chance = f"{final.chance:.1%}" if final.chance >= 0.001 else "less than 0.1%"
        return (
            f"at {final.seen:.0%} of the run, {knows} forecast a final {final.centre:.4g} ({LEVEL:.0%} interval "
            f"{final.lower:.4g} to {final.upper:.4g}, learned from {learned.finished} finished trials); its chance to "
            f"end better than the best so far, {best:.4g} ({name}), is {chance}; {final.better} of {final.among} "
            f"trials looked better by then, and {_where(final)}"
        )


def _where(final: Final) -> str:
    if final.asked >= final.among:
        return "the best of a sweep may still stand anywhere"
    return f"the best of a sweep is among the first {final.asked + 1}"


def due(before: float, now: float) -> bool:
    """Whether a trial should be judged that had come to the share `before` of its run when it last was."""
    return any(before < moment <= now for moment in MOMENTS)
