"""The scheduler object: what a training job talks to. Keyed on the global optimizer step, never on call counts.

Comes in: observations, whenever the job has a number. Goes out: the learning rate of any step. Decisions are made when
`lr_at` first asks for a step past a window's end, from what was observed up to that end; what comes later counts for
later windows. After construction nothing here raises: what cannot be done is recorded in `warnings`, and the schedule
goes on. NumPy and SciPy only.
"""

import math
import os
from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from lodestar.forecaster import Forecaster, load
from lodestar.forecaster.preprocessing.normaliser import LR
from lodestar.forecaster.preprocessing.recipe import Points
from lodestar.scheduler import state
from lodestar.scheduler.arguments import check_base, check_direction, checked_seed, checked_settings
from lodestar.scheduler.clock import Clock
from lodestar.scheduler.history import History
from lodestar.scheduler.inputs import number_of, shown, step_of
from lodestar.scheduler.rates import Rates
from lodestar.scheduler.records.decision import Decision, Outcome
from lodestar.scheduler.records.journal import Journal
from lodestar.scheduler.records.listener import Listener
from lodestar.scheduler.records.log import LogWriter, header
from lodestar.scheduler.records.shadow import ShadowScore, score_forecasts
from lodestar.scheduler.safety.gate import Gate
from lodestar.scheduler.safety.guard import Cut, caps_of, deeper, jumped
from lodestar.scheduler.settings import Preset, Settings
from lodestar.scheduler.steps.initial_plan import opening
from lodestar.scheduler.steps.rescale import FIRST, LAST, find_gear
from lodestar.scheduler.steps.steer import Verdict, steer
from lodestar.schedules.plan import Plan

_SAME_GEAR = math.log(1.2)  # a gear this near to the old one is no change
_DRAWN = 9  # points of the next window's learning rate that a decision records


class Scheduler:
    """Steers one training run of `total_steps` optimizer steps.

    `lr_at(step)` is the rate for the `step`-th update (from 1; 0 is read as 1). `base`, the plain schedule, is what
    shadow mode follows and a closed gate falls to. Further keywords change single settings of the preset:
    `Scheduler("runs.lode", 10_000, noise=0.2)`.
    """

    def __init__(
        self,
        forecaster: Forecaster | str | os.PathLike[str],
        total_steps: int,
        *,
        preset: Preset = "default",
        settings: Settings | None = None,
        seed: int = 0,
        mode: Literal["steer", "shadow"] = "steer",
        base: Callable[[int], float] | None = None,
        min_lr: float | None = None,
        max_lr: float | None = None,
        gate: Gate | None = None,
        log: str | os.PathLike[str] | None = None,
        direction: str | None = None,
        **changes: Any,
    ):
        self.settings = checked_settings(preset, settings, changes)
        self.seed, self.mode, self.gate = checked_seed(seed), mode, gate
        check_base(base, mode, gate)
        self.forecaster = forecaster if isinstance(forecaster, Forecaster) else load(forecaster)
        check_direction(direction, self.forecaster.direction)
        total_steps = int(total_steps) if isinstance(total_steps, np.integer) else total_steps
        self._clock = Clock(total_steps, self.forecaster.points, self.settings.window_points(self.forecaster.points))
        self._caps = caps_of(self.forecaster, min_lr, max_lr)
        self._built_for = self._clock.total_steps
        self._history = History(total_steps, self.forecaster.points)
        self._course, self._opened_with = opening(self.forecaster, self._clock.window, self.settings)
        self._gears: list[float] = []  # as found, one a window
        self._gear = (
            1.0  # their mean: the job's rate times this is the rate the forecaster sees; courses are as it sees them
        )
        self._cut = Cut()
        self._settled = 0  # points whose end has been passed
        self._next = self._clock.end(0)  # a step past this one settles more
        self._last = 0  # the highest step asked for
        self._revision = 0  # how often the run's length was changed
        self._journal = Journal(None if log is None else LogWriter(log), self._header())
        self._rates = Rates(self._caps, base, mode == "shadow", self._warn)
        self._follow(0.0)
        self._open(None if gate is None else gate.quality_reason(self.forecaster.quality))

    @property
    def total_steps(self) -> int:
        """The run's length in optimizer steps, as it stands."""
        return self._clock.total_steps

    @property
    def decisions(self) -> list[Decision]:
        """Every decision so far, the opening first."""
        return self._journal.decisions

    @property
    def warnings(self) -> list[str]:
        """What went wrong so far, in sentences, each kind once."""
        return self._journal.warnings

    def observe(self, step: int, *, loss: Any = None, metric: Any = None) -> None:
        """Report what was measured at optimizer step `step`; either may be missing."""
        at = step_of(step)
        if at is None or at < 0:
            self._warn("step", f"an observation at step {shown(step)} was left out: a step is a whole number >= 0")
        elif at > self.total_steps:
            self._warn(
                "after",
                f"an observation at step {at} was left out: the run has {self.total_steps} steps. "
                "Fix: extend(total_steps) if it goes on",
            )
        else:
            heard = self._add("loss", loss, at, self._history.add_loss)
            scored = self._add("metric", metric, at, self._history.add_metric)
            if self._journal.listeners and (heard is not None or scored is not None):
                self._journal.observe(at, heard, scored, self._rates.used(max(at, 1)))

    def lr_at(self, step: int) -> float:
        """The learning rate for optimizer step `step`."""
        at = step_of(step)
        if at is None:
            self._warn(
                "lr_at", f"lr_at was asked for step {shown(step)}, which is no whole number; the last rate holds"
            )
            at = self._last
        if at > self.total_steps:
            self._warn(
                "past the end",
                f"lr_at was asked for step {at}, past the end at {self.total_steps}: the last rate holds. "
                "Fix: extend(total_steps) if the run goes on",
            )
        at = min(max(at, 1), self.total_steps)
        if at > self._next:
            self._settle(at)
        self._last = max(self._last, at)
        self._journal.flush()
        return self._rates.used(at)

    def plan(self) -> Plan:
        """The learning rate of every step from here on, as it stands now. Looking ahead decides nothing."""
        return self._rates.frozen(min(self._last + 1, self.total_steps), self.total_steps)

    def followed(self) -> Plan:
        """The learning rate of every step so far."""
        return self._rates.frozen(1, self._last)

    def score(self) -> ShadowScore:
        """How good the forecasts of the final metric were, against the last metric observed."""
        return score_forecasts(self.decisions, self._history.last_metric(), steering=self.mode == "steer")

    def extend(self, total_steps: int) -> None:
        """The run will have another length: the rest of the plan is stretched to fit, then decided anew."""
        here, old = self._last, self._clock
        try:
            if (length := step_of(total_steps)) is None or length < max(here, 1):
                raise ValueError(f"the new length must be a whole number >= step {here}, got {shown(total_steps)}")
            clock = Clock(length, old.points, old.window)
        except ValueError as error:
            self._warn("extend", f"the run's length was left at {old.total_steps}: {error}")
            return
        if length == old.total_steps:
            return
        place = here * old.points / old.total_steps - self._course.start
        self._history = self._history.rebinned(length, self._rates.used, here)
        self._clock, self._settled = clock, clock.complete(here)
        self._revision += 1
        self._course = self._course.stretched(self._settled, clock.points, place)
        self._cut = Cut(self._cut.factor, round(self._cut.until * old.total_steps / length))
        self._follow(float(here))
        self._next = self._clock.end(self._settled) if self._settled < clock.points else length
        self._decide(float(here), f"the run's length changed from {old.total_steps} to {length} steps")

    def listen(self, listener: Listener) -> None:
        """Tell `listener` of every observation and decision from here on."""
        self._journal.listeners.append(listener)

    def state_dict(self) -> dict[str, Any]:
        """Everything needed to go on, as plain JSON-able data."""
        return state.save(self)

    def load_state_dict(self, saved: dict[str, Any]) -> None:
        """Go on where `saved` was taken: the same rates follow, bit for bit, from the same observations.

        Built with another `total_steps` than the job that saved it, the run is extended to that length.
        """
        state.restore(self, saved)
        self._journal.resume(self._header() | {"resumed_after": self._last})
        if saved["built_for"] != self._built_for:
            self.extend(self._built_for)

    def _add(self, name: str, value: Any, step: int, add: Callable[[int, float], None]) -> float | None:
        if value is None:
            return None
        number = number_of(value)
        if number is None:
            self._warn(name, f"a {name} of type {type(value).__name__} at step {step} was left out: not a number")
            return None
        if not math.isfinite(number):
            self._warn(f"{name} not finite", f"the {name} at step {step} is {number}")
        add(max(step, 1), number)
        return number

    def _settle(self, step: int) -> None:
        """Pass the ends of all points before `step`: the guard looks at each, a window's end brings a decision."""
        clock, history = self._clock, self._history
        if clock.complete(step - 1) > self._settled + 2 * clock.window and not history.losses[self._settled :].any():
            self._warn(
                "leap",
                f"lr_at({step}) skips windows in which nothing was observed: they keep the plan. "
                "Fix: to look ahead use plan().lr_at(step); report losses with observe()",
            )
        while self._settled < clock.points and clock.end(self._settled) < step:
            point = self._settled
            history.lr[point] = self._rates.used(max(clock.end(point), 1))
            self._settled += 1
            self._watch(point)
            if self._settled % clock.window == 0 and self._settled < clock.points:
                self._decide(clock.at(self._settled))
        self._next = clock.end(self._settled) if self._settled < clock.points else clock.total_steps

    def _decide(self, after: float, note: str = "") -> None:
        """One decision, for the steps after `after`."""
        if self._rates.closed is not None:
            return
        self._change_gear(after)
        verdict, why = self._verdict()
        if verdict.course is not None:
            self._course = verdict.course
            self._follow(after)
        outcome = verdict.outcome
        if note and outcome not in (Outcome.REPLANNED, Outcome.GATED):
            note, outcome = f"{note}; {outcome}", Outcome.EXTENDED
        self._record(verdict, outcome, int(after), "; ".join(part for part in (note, why) if part))

    def _change_gear(self, after: float) -> None:
        """Early in the run: does this job answer to a rate as the past runs did? If not, the plan is scaled."""
        widest, share = self.settings.gear, self._settled / self._clock.points
        if widest is None or not FIRST <= share <= LAST:
            return
        try:
            with np.errstate(all="ignore"):
                points = self._history.on_grid(self.forecaster.recipe, self._settled)
                found = find_gear(self.forecaster, points, self._settled, widest, self.settings.unlike)
        except Exception as error:  # noqa: BLE001  a training job must never die of its scheduler
            self._warn(f"gear {type(error).__name__}", f"no gear was found after step {self._last}: {error!r}")
            return
        if found is None:
            return
        self._gears.append(found.factor)
        gear = math.exp(np.mean(np.log(self._gears)))
        if abs(math.log(gear / self._gear)) < _SAME_GEAR:
            return
        self._gear = gear
        self._follow(after)
        note = (
            f"a rate does here what {self._gear:.2g} times that rate did in the past runs, so the plan's rates are "
            f"divided by {self._gear:.2g}; the run is forecast {found.unlike:.2g} times worse than past runs are"
        )
        self._record(Verdict(Outcome.GEARED, predicted=self._course.predicted), Outcome.GEARED, int(after), note)

    def _verdict(self) -> tuple[Verdict, str]:
        """What the gate and the five steps say, and why if there is more to say."""
        try:
            with np.errstate(all="ignore"):
                points = self._history.on_grid(self.forecaster.recipe, self._settled)
                reason = self._out_of_range(points)
                if reason is not None:
                    return Verdict(Outcome.GATED), reason
                points.values[:, LR] *= self._gear
                rng = np.random.default_rng([self.seed, self._settled, self._revision])
                return steer(self.forecaster, points, self._settled, self.settings, rng, self._course), ""
        except Exception as error:  # noqa: BLE001  a training job must never die of its scheduler
            self._warn(f"failed {type(error).__name__}", f"the decision after step {self._last} failed: {error!r}")
            return Verdict(Outcome.FAILED), repr(error)

    def _out_of_range(self, points: Points) -> str | None:
        """Close the gate if the live run has left the training runs' range."""
        if self.gate is None or self.mode == "shadow":
            return None
        values = self.forecaster.recipe.normalised(points)[: self._settled]
        reason = self.gate.range_reason(values, points.mask[: self._settled], self.forecaster.ranges)
        if reason is not None:
            self._rates.closed = max(self._clock.end(self._settled - 1), self._last)
            self._warn("gate", f"the gate closed after step {self._rates.closed}: {reason}")
        return reason

    def _watch(self, point: int) -> None:
        """The spike guard, at the end of a point."""
        spike, clock, scale = self.settings.spike, self._clock, self.forecaster.recipe.normaliser.loss
        if spike is None or self.mode == "shadow" or self._rates.closed is not None:
            return
        lost = self._history.blown[point] > 0
        if not lost and not (
            self._history.losses[point] and jumped(self._history, self._course, point, clock.window, spike, scale)
        ):
            return
        before = self._cut
        self._cut = deeper(before, self.settings.cut, self._settled, clock.window)
        self._follow(clock.at(self._settled))
        if before.until < self._settled or self._cut.factor != before.factor:
            loss = float("nan") if lost else float(self._history.loss[point])
            note = f"times {self._cut.factor:g} from here"
            self._record(Verdict(Outcome.CUT, loss=loss), Outcome.CUT, clock.end(point), note)

    def _follow(self, after: float) -> None:
        self._rates.follow(self._course.in_gear(self._gear), after, self._clock, self._cut)

    def _open(self, reason: str | None) -> None:
        """The first decision: open, or leave it to the plain schedule."""
        verdict = Verdict(Outcome.OPENING, predicted=self._course.predicted)
        if reason is not None and self.mode == "steer":
            self._rates.closed = 0
            self._warn("gate", f"the gate is closed: {reason}")
            verdict = Verdict(Outcome.GATED)
        self._record(verdict, verdict.outcome, 0, reason or f"the best past runs: {', '.join(self._opened_with)}")

    def _record(self, verdict: Verdict, outcome: Outcome, step: int, note: str) -> None:
        """Keep a decision, with the rates of the window it is for."""
        window = self._clock.window
        stop = self._clock.end(min(self._settled + window, self._clock.points) - 1)
        steps = sorted({int(s) for s in np.linspace(min(step + 1, stop), stop, _DRAWN).round()})
        rates = tuple((s, self._rates.proposed(s)) for s in steps)
        self._journal.decide(verdict.decision(self._settled // window, step, outcome, rates, note))

    def _warn(self, kind: str, text: str) -> None:
        self._journal.warn(kind, text, self._last)

    def _header(self) -> dict[str, Any]:
        return header(
            total_steps=self._clock.total_steps,
            mode=self.mode,
            metric=str(self.forecaster.facts.get("metric_name", "metric")),
            direction=str(self.forecaster.direction),
            settings=self.settings.to_dict(),
            seed=self.seed,
            caps=[self._caps.low, self._caps.high],
        )
