"""The pruner: keep a trial or stop it, and the reason in a sentence.

Comes in: finished runs (`learn`), then the observed part of one under way (`judge`). Goes out: a `Verdict`. A trial is
stopped when its chance to end better than the best finished one has become small: smaller, for the work it still
takes, than a fresh trial's. Nothing is stopped before the forecasts beat chance on finished runs that they were not
fitted to. Pure: no threads, no clocks, no files.
"""

import dataclasses
import enum
import math
from collections.abc import Sequence

import numpy as np

from lodestar.pruning.finals import LEVEL, Final, FinalModel, fit_finals
from lodestar.runs.run import Direction, Run, Status
from lodestar.schedules.schedule import Schedule

NOT_FINITE = 3  # values in a row that are NaN or inf
MOMENTS = (0.01, 0.03, 0.05, 0.1, 0.17, 0.25, 0.37, 0.5, 0.62, 0.75, 0.9)  # shares of a run after which it is judged
_CHANCES = (0.01, 0.2)  # within these lies what is asked of a trial


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
    """What runs taught that have ended: models, the best final metric and whose it is, and how many finished.

    `fresh` is the chance that one more trial becomes the best, for the work of a whole run.
    """

    models: tuple[FinalModel, ...] = ()
    best: tuple[str, float] | None = None
    finished: int = 0
    fresh: float = 1.0


class Pruner:
    """Stops a trial whose chance to become the best is below `least_chance`.

    None asks as much as a fresh trial would give for the work that this one still takes: with few trials done that is
    much, with many little. `startup` trials run to their end whatever they look like; before `least_seen` (a share of
    the run) none is stopped. `history` are finished runs of the same job from before: they count as trials learned
    from, but not for the best so far.
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

    def learn(self, runs: Sequence[Run]) -> Learned:
        """Fit to runs that have ended; may take seconds. Those that were stopped may be among them."""
        runs = [run for run in runs if len(run.metric)]
        fine = [run for run in runs if run.status is Status.FINISHED and math.isfinite(run.final_metric)]
        best = None
        if fine:
            pick = max if fine[0].direction is Direction.MAX else min
            top = pick(fine, key=lambda run: run.final_metric)
            best = (top.name, top.final_metric)
        alike = [run for run in self.history if not fine or run.direction is fine[0].direction]
        known = len(fine) + len(alike)
        models = fit_finals([*alike, *runs], seed=self.seed) if fine and known >= self.startup else ()
        self.learned = Learned(models, best, known, _fresh(runs))
        return self.learned

    def judge(self, run: Run, schedule: Schedule | None = None) -> Verdict:
        """A run under way: its status does not matter, its `total_steps` is the planned length."""
        values = (run.metric if len(run.metric) else run.loss).values[-NOT_FINITE:]
        if len(values) == NOT_FINITE and not np.isfinite(values).any():
            return Verdict(VerdictKind.NOT_FINITE, f"its last {NOT_FINITE} values were not finite ({values[-1]})")
        learned = self.learned
        if learned.finished < self.startup or learned.best is None:
            return Verdict(
                VerdictKind.LEARNING, f"{learned.finished} of {self.startup} trials to learn from have finished"
            )
        proven = [model for model in learned.models if model.proven]
        made = [model.forecast(run, schedule, learned.best[1]) for model in proven]
        told = [each for each in made if each is not None]
        if not told:
            what = f"{learned.finished} finished trials do not tell yet where a trial like this one will end"
            return Verdict(VerdictKind.UNPROVEN, f"{what}: held-out trials were forecast no better than by chance")
        final = min(told, key=lambda pair: pair[0])[1]
        asked = self.least_chance or float(np.clip((1.0 - final.seen) * learned.fresh, *_CHANCES))
        hopeless = final.chance < asked and final.seen >= self.least_seen
        return Verdict(
            VerdictKind.HOPELESS if hopeless else VerdictKind.PROMISING, self._sentence(final, learned), final
        )

    def _sentence(self, final: Final, learned: Learned) -> str:
        name, best = learned.best or ("", math.nan)
        knows = "its schedule and its curve" if final.knows_schedule else "its curve"
        chance = f"{final.chance:.1%}" if final.chance >= 0.001 else "less than 0.1%"
        return (
            f"at {final.seen:.0%} of the run, {knows} forecast a final {final.centre:.4g} ({LEVEL:.0%} interval "
            f"{final.lower:.4g} to {final.upper:.4g}, learned from {learned.finished} finished trials); its chance to "
            f"end better than the best so far, {best:.4g} ({name}), is {chance}"
        )


def due(before: float, now: float) -> bool:
    """Whether a trial should be judged that had come to the share `before` of its run when it last was."""
    return any(before < moment <= now for moment in MOMENTS)


def _fresh(runs: Sequence[Run]) -> float:
    work = [run.last_step / run.total_steps for run in runs]
    return 1.0 / (len(runs) + 1) / max(float(np.mean(work)), 0.02) if runs else 1.0
