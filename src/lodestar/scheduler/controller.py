"""The controller: what happens between two steps of a job: points end, decisions are made, the schedule is followed.

Comes in: a state, and how far the job has come. Goes out: the same state, moved on, and decisions in the journal. The
parts it calls are pure: the five steps and the rescaling (`steps/`), the guard and the gate (`safety/`). It never
raises: a step that fails is a decision on record, and the schedule goes on. A person's command is one too, and what it
asks for holds until steering is resumed. Knows neither jobs nor files.
"""

import contextlib
import dataclasses
import math
import sys
import warnings

import numpy as np

from lodestar._credentials import cleaned
from lodestar.forecaster import Forecaster
from lodestar.forecaster.preprocessing.normaliser import LR
from lodestar.forecaster.preprocessing.recipe import Points
from lodestar.scheduler.clock import Clock
from lodestar.scheduler.planned_run import PlannedRun
from lodestar.scheduler.records.command import Command
from lodestar.scheduler.records.decision import Ahead, Decision, finite
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
from lodestar.scheduler.steps.judge_schedules import forecast_planned
from lodestar.scheduler.steps.steer import steer
from lodestar.schedules.schedule import Schedule

_LOGGED_RATES = 9  # points of the next window's learning rate that a decision records
_LOGGED_AHEAD = 25  # and of the plan to the end of the run


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
    own_updates: float | None = None  # how many updates the job makes, where a trainer decides that

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
            state.history.settle(point, self.used(max(clock.end(point), 1)))
            state.settled += 1
            self._watch(point)
            if state.settled % clock.window == 0 and state.settled < clock.points:
                self._decide(clock.at(state.settled))
            if state.settled % clock.window == 0 or state.settled == first_look:
                self._look()

    def extend(self, clock: Clock, command: Command | None = None) -> None:
        """Go on by a clock of another length, and decide anew."""
        state, old, here = self.state, self.state.clock.total_steps, float(self.state.last_step)
        note = f"the run's length changed from {old} to {clock.total_steps} steps"
        state.extend(clock, self.used)
        state.ends_after = None if command is None else clock.total_steps
        self._follow(here)
        if state.paused or (state.closed is not None and command is not None):
            self._record(Decision(outcome=Outcome.EXTENDED, command=command), int(here), note)
        else:
            self._decide(here, note, command)

    def obey(self, command: Command) -> None:
        """Do what a person asks, from the next step on; what cannot be done is refused, and that is on record too."""
        try:
            if command.do == "extend":
                self.extend(self._other_length(command), command)
                return
            decision = self._obeyed(command)
        except ValueError as error:
            decision = Decision(outcome=Outcome.REFUSED, note=str(error))
        note = ": ".join(filter(None, (f"{command}, asked for by {command.by}", decision.note)))
        self._record(dataclasses.replace(decision, command=command), self.state.last_step, note)

    def warn(self, kind: str, text: str, *, loud: bool = False) -> bool:
        """Put a warning on record, once of each kind; whether this is the first of its kind.

        A loud one is Python's own as well, which most jobs show.
        """
        if kind in self.state.entries.warned:
            return False
        text = cleaned(text)
        if loud:
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

    def _obeyed(self, command: Command) -> Decision:
        state = self.state
        if command.do == "stop":
            state.ends_after = state.last_step
            return Decision(outcome=Outcome.STOPPED)
        if command.do in ("pause", "resume"):
            state.paused = command.do == "pause"
            return Decision(
                outcome=Outcome.PAUSED if state.paused else Outcome.RESUMED,
                predicted=finite(state.planned.final_metric),
            )
        if self.shadow or (state.closed is not None and self.base.given):
            why = "it runs in shadow mode" if self.shadow else "the gate is closed"
            raise ValueError(f"{why}, and the job follows its own base schedule")
        planned = state.planned
        if command.do == "scale" and isinstance(command.value, float):
            return self._by_hand(Outcome.SCALED, dataclasses.replace(planned, lr=planned.lr * command.value))
        if command.do == "take" and isinstance(command.value, tuple):
            nodes = [state.clock.at(planned.start + j) for j in range(len(planned.lr))]
            steps, rates = np.array(command.value).T
            return self._by_hand(
                Outcome.TAKEN, dataclasses.replace(planned, lr=np.interp(nodes, steps, rates) * state.rescale)
            )
        raise ValueError(f"this Lodestar does not know the command {command.do!r}")

    def _by_hand(self, outcome: Outcome, planned: PlannedRun) -> Decision:
        """Follow rates that a person chose, with the forecast they have where the forecaster knows schedules."""
        state, decision = self.state, Decision(outcome=outcome)
        try:
            if self.forecaster.response is not None:
                with np.errstate(all="ignore"):
                    points = state.history.on_grid(self.forecaster.recipe, state.settled)
                    points.values[:, LR] *= state.rescale
                    made, final, ends = forecast_planned(self.forecaster, points, state.settled, planned)
                if made.finite:
                    planned, decision = made, dataclasses.replace(decision, predicted=finite(final), interval=ends)
        except Exception as error:  # noqa: BLE001  a training job must never die of its scheduler
            self.warn(f"by hand {type(error).__name__}", f"a rate set by hand could not be forecast: {error!r}")
        state.planned, state.paused = planned, True
        self._follow(float(state.last_step))
        wanted, most = float(np.max(planned.lr)) / state.rescale, self.caps.high
        note = f"held at the cap of {most:.4g}" if wanted > most * (1 + 1e-9) else ""
        return dataclasses.replace(decision, note=note)

    def _other_length(self, command: Command) -> Clock:
        state, own = self.state, self.own_updates
        length = command.value if isinstance(command.value, int) else 0
        if length < max(state.last_step, 1):
            raise ValueError(f"the run stands at step {state.last_step}, and cannot end at {length}")
        if own is not None and length > own:
            raise ValueError(f"the trainer ends the run after {own:.0f} updates, whatever the plan says")
        return dataclasses.replace(state.clock, total_steps=length)

    def _decide(self, after: float, note: str = "", command: Command | None = None) -> None:
        """One decision, for the steps after `after`."""
        if self.state.closed is not None or self.state.paused:
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
        decision = dataclasses.replace(decision, command=command)
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
                past = state.entries.decisions
                return steer(self.forecaster, points, state.settled, self.settings, rng, state.planned, past)
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
        if settings.rescale_by == "law" and not self.forecaster.placed:
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
        if spike is None or self.shadow or state.closed is not None or state.paused:
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
        when = {"window": window, "step": step, "lr": rates, "note": note, "ahead": self._ahead(step)}
        factor = None if state.rescale == 1.0 else state.rescale
        self.journal.decide(dataclasses.replace(decision, rescale=factor, **when))

    def _ahead(self, step: int) -> tuple[Ahead, ...]:
        """What is planned to the end of the run, for those who watch; a base schedule is not asked that far ahead."""
        state, total, planned = self.state, self.state.clock.total_steps, self.state.planned
        if self.base.given and not self.shadow and state.closed is not None:
            return ()
        steps = np.unique(np.linspace(min(step + 1, total), total, _LOGGED_AHEAD).round().astype(np.int64))
        nodes, places = steps * state.clock.points / total - planned.start, np.arange(len(planned.lr))
        loss, metric = (np.interp(nodes, places, curve) for curve in (planned.loss, planned.metric))
        rows = zip(steps.tolist(), loss.tolist(), metric.tolist(), strict=True)
        return tuple((s, _short(state.schedule.lr_at(s)) or 0.0, _short(a), _short(b)) for s, a, b in rows)


def _short(value: float) -> float | None:
    """Six digits: enough to draw."""
    return float(f"{value:.6g}") if math.isfinite(value) else None


def _loudly(text: str) -> None:
    """With the line of the job that called us. Where a filter makes errors of warnings, the job goes on."""
    level, frame = 1, sys._getframe()
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "lodestar":
        level, frame = level + 1, frame.f_back
    with contextlib.suppress(UserWarning):
        warnings.warn(text, UserWarning, stacklevel=level)
