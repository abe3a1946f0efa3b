"""The controller: what happens between two steps of a job: points end, decisions are made, the schedule is followed.

Comes in: a state, and how far the job has come. Goes out: the same state, moved on, and decisions in the journal. The
parts it calls are pure: the five steps and the rescaling (`steps/`), the guard and the gate (`safety/`). It never
raises: a step that fails is a decision on record, and the schedule goes on. Knows neither jobs nor files.
"""

import contextlib
import dataclasses
import math
import sys
import warnings

import numpy as np

from lodestar.forecaster import Forecaster
from lodestar.forecaster.preprocessing.normaliser import LR
from lodestar.forecaster.preprocessing.recipe import Points
from lodestar.scheduler.clock import Clock
from lodestar.scheduler.planned_run import PlannedRun
from lodestar.scheduler.records.decision import Decision, finite
from lodestar.scheduler.records.journal import Journal
from lodestar.scheduler.records.outcome import Outcome
from lodestar.scheduler.safety import checks
from lodestar.scheduler.safety.base import BaseSchedule
from lodestar.scheduler.safety.caps import Caps
from lodestar.scheduler.safety.gate import Gate
from lodestar.scheduler.safety.guard import jumped
from lodestar.scheduler.safety.plain import plain_run
from lodestar.scheduler.settings import Settings
from lodestar.scheduler.state import State
from lodestar.scheduler.steps import rescale
from lodestar.scheduler.steps.follow import capped, follow, stretch
from lodestar.scheduler.steps.steer import steer
from lodestar.schedules.schedule import Schedule

_LOGGED_RATES = 9  # points of the next window's learning rate that a decision records


@dataclasses.dataclass
class Controller:
    """Moves one run's state on. Everything but `state` stays as it is."""

    forecaster: Forecaster
    settings: Settings
    seed: int
    shadow: bool  # the base schedule is followed, decisions are only recorded
    gate: Gate | None
    caps: Caps
    base: BaseSchedule
    journal: Journal
    state: State
    initial: PlannedRun  # as it was before any decision
    own_lr: float | None = None  # the optimizer's own rate, where an adapter says it

    def used(self, step: int) -> float:
        """The rate a job has used, or will use, at a step."""
        state = self.state
        if self._steering(step):
            return state.schedule.lr_at(step)
        rate = self.base.lr_at(step)
        return state.schedule.lr_at(step) if rate is None else rate

    def frozen(self, first: int, last: int) -> Schedule:
        """The rates of a stretch of steps."""
        if self._steering(last):
            return stretch(self.state.schedule, first, last)
        steps = range(first, max(last, first) + 1)
        rates = [self.used(step) for step in steps]
        return Schedule("steered", rates, knots=list(steps), first_step=first, last_step=last)

    def begin(self, note: str) -> None:
        """The first decision: the initial plan, or the base schedule if the gate is closed from the start."""
        reason = None if self.gate is None else self.gate.quality_reason(self.forecaster.quality)
        decision = Decision(outcome=Outcome.INITIAL_PLAN, predicted=finite(self.state.planned.final_metric))
        if reason is not None and not self.shadow:
            words = self._close(0)
            self.warn("gate", f"the gate is closed: {reason}; {words} is followed", loud=True)
            decision = Decision(outcome=Outcome.GATED)
        self._record(decision, 0, reason or note)

    def settle(self, step: int) -> None:
        """Pass the ends of all points before `step`: the guard looks at each, a window's end brings a decision."""
        state, clock = self.state, self.state.clock
        first_look = math.ceil(checks.FIRST * clock.points)
        while state.settled < clock.points and clock.end(state.settled) < step:
            point = state.settled
            state.history.lr[point] = self.used(max(clock.end(point), 1))
            state.settled += 1
            self._watch(point)
            if state.settled % clock.window == 0 and state.settled < clock.points:
                self._decide(clock.at(state.settled))
            if state.settled % clock.window == 0 or state.settled == first_look:
                self._look()

    def extend(self, clock: Clock) -> None:
        """Go on by a clock of another length, and decide anew."""
        old, here = self.state.clock.total_steps, float(self.state.last_step)
        self.state.extend(clock, self.used)
        self._follow(here)
        self._decide(here, f"the run's length changed from {old} to {clock.total_steps} steps")

    def warn(self, kind: str, text: str, *, loud: bool = False) -> bool:
        """Put a warning on record, once of each kind; whether this is the first of its kind.

        A loud one is Python's own as well, which most jobs show.
        """
        if loud and kind not in self.state.entries.warned:
            _loudly(text)
        return self.journal.warn(kind, text, self.state.last_step)

    def cap(self) -> None:
        """Hold the caps from the last step asked for on, which may not have been made yet: a state may know others."""
        state = self.state
        held = capped(state.schedule, state.last_step, self.caps)
        if held is not state.schedule and not self.shadow:
            low, high = self.caps.low, self.caps.high
            self.warn("other caps", f"the loaded plan left the caps ({low:.4g} to {high:.4g}): they hold from here on")
        state.schedule = held

    def _steering(self, step: int) -> bool:
        closed = self.state.closed
        return not self.shadow and (closed is None or step <= closed)

    def _decide(self, after: float, note: str = "") -> None:
        """One decision, for the steps after `after`."""
        if self.state.closed is not None:
            return
        self._rescale(after)
        decision, planned = self._decision()
        if planned is not None:
            self.state.planned = planned
            self._follow(after)
        notes = [note, decision.note]
        if note and decision.outcome not in (Outcome.REPLANNED, Outcome.GATED):
            notes[0] = f"{note}; {decision.outcome}"
            decision = dataclasses.replace(decision, outcome=Outcome.EXTENDED)
        self._record(decision, int(after), "; ".join(filter(None, notes)))

    def _decision(self) -> tuple[Decision, PlannedRun | None]:
        """What the gate and the five steps say."""
        state = self.state
        try:
            with np.errstate(all="ignore"):
                points = state.history.on_grid(self.forecaster.recipe, state.settled)
                if (reason := self._out_of_range(points)) is not None:
                    return Decision(outcome=Outcome.GATED, note=reason), None
                points.values[:, LR] *= state.rescale
                rng = np.random.default_rng([self.seed, state.settled, state.revision])
                return steer(self.forecaster, points, state.settled, self.settings, rng, state.planned)
        except Exception as error:  # noqa: BLE001  a training job must never die of its scheduler
            self.warn(f"failed {type(error).__name__}", f"the decision after step {state.last_step} failed: {error!r}")
            return Decision(outcome=Outcome.FAILED, note=repr(error)), None

    def _out_of_range(self, points: Points) -> str | None:
        """Close the gate if the live run has left the training runs' range; in shadow mode only say so."""
        state = self.state
        if self.gate is None:
            return None
        values, mask = self.forecaster.recipe.normalised(points)[: state.settled], points.mask[: state.settled]
        ranges, direction = self.forecaster.ranges, self.forecaster.direction
        reason = self.gate.range_reason(values, mask, ranges, direction, state.entries.decisions)
        if reason is None or self.shadow:
            if reason is not None:
                self.warn("gate", f"the gate would close after step {state.last_step}: {reason}", loud=True)
            return None
        words = self._close(max(state.clock.end(state.settled - 1), state.last_step))
        reason = f"{reason}; {words} is followed from here"
        fix = "Fix: a forecaster fitted to runs of such a job, or base=your schedule; gate=None steers on regardless"
        self.warn("gate", f"the gate closed after step {state.closed}: {reason}. {fix}", loud=True)
        return reason

    def _close(self, step: int) -> str:
        """Close the gate after a step; what is followed from there, in words."""
        state = self.state
        state.closed = step
        if self.base.given:
            return "base"
        state.planned, words = plain_run(self.initial, state.planned, self.own_lr)
        state.rescale, state.rescales = 1.0, []
        self._follow(float(step))
        return f"a plain schedule ({words})"

    def _look(self) -> None:
        """Slips that would ruin the run in silence, each said once."""
        try:
            with np.errstate(all="ignore"):
                for kind, text in checks.look(self.state, self.forecaster):
                    self.warn(kind, text, loud=True)
        except Exception as error:  # noqa: BLE001  a training job must never die of its scheduler
            self.warn(f"look {type(error).__name__}", f"the run could not be checked: {error!r}")

    def _rescale(self, after: float) -> None:
        """Early in the run: does this job answer to a rate as the past runs did? If not, the plan is rescaled."""
        state, found = self.state, self._found_rescale()
        if found is None:
            return
        state.rescales.append(found.factor)
        factor = math.exp(np.mean(np.log(state.rescales)))
        if rescale.same(factor, state.rescale):
            return
        state.rescale = factor
        self._follow(after)
        decision = Decision(outcome=Outcome.RESCALED, predicted=finite(state.planned.final_metric))
        self._record(decision, int(after), found.note(factor))

    def _found_rescale(self) -> rescale.Rescale | None:
        state, settings = self.state, self.settings
        if settings.rescale is None or not rescale.due(state.settled / state.clock.points):
            return None
        try:
            with np.errstate(all="ignore"):
                points = state.history.on_grid(self.forecaster.recipe, state.settled)
                return rescale.find_rescale(self.forecaster, points, state.settled, settings.rescale, settings.unlike)
        except Exception as error:  # noqa: BLE001  a training job must never die of its scheduler
            text = f"no rescaling was found after step {state.last_step}: {error!r}"
            self.warn(f"rescale {type(error).__name__}", text)
            return None

    def _watch(self, point: int) -> None:
        """The spike guard, at the end of a point."""
        state, window, spike = self.state, self.state.clock.window, self.settings.spike
        if spike is None or self.shadow or state.closed is not None:
            return
        if not jumped(state.history, state.planned, point, window, spike, self.forecaster.recipe.normaliser.loss):
            return
        before = state.cut
        state.cut = before.deeper(self.settings.cut, state.settled, window)
        self._follow(state.clock.at(state.settled))
        if before.until < state.settled or state.cut.factor != before.factor:
            loss = None if state.history.blown[point] else float(state.history.loss[point])
            note = f"times {state.cut.factor:g} from here"
            self._record(Decision(outcome=Outcome.CUT, loss=loss), state.clock.end(point), note)

    def _follow(self, after: float) -> None:
        state = self.state
        planned = state.planned.rescaled(state.rescale)
        state.schedule = follow(state.schedule, planned, after, state.clock, self.caps, state.cut)

    def _record(self, decision: Decision, step: int, note: str) -> None:
        """Complete a decision with the rates of the window it is for, and keep it."""
        state, clock = self.state, self.state.clock
        stop = clock.end(min(state.settled + clock.window, clock.points) - 1)
        steps = sorted({int(s) for s in np.linspace(min(step + 1, stop), stop, _LOGGED_RATES).round()})
        proposed = state.schedule.lr_at if self.shadow else self.used
        rates = tuple((s, proposed(s)) for s in steps)
        window = state.settled // clock.window
        self.journal.decide(dataclasses.replace(decision, window=window, step=step, lr=rates, note=note))


def _loudly(text: str) -> None:
    """With the line of the job that called us. Where a filter makes errors of warnings, the job goes on."""
    level, frame = 1, sys._getframe()
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "lodestar":
        level, frame = level + 1, frame.f_back
    with contextlib.suppress(UserWarning):
        warnings.warn(text, UserWarning, stacklevel=level)
