"""The scheduler object: what a training job talks to. Keyed on the global optimizer step, never on call counts.

Comes in: observations, whenever the job has a number. Goes out: the learning rate of any step. Decisions are made when
`lr_at` first asks for a step past a window's end, from what was observed up to that end; what comes later counts for
later windows. After construction nothing here raises: what cannot be done is recorded in `warnings`, and the schedule
goes on. All that changes during a run is its `State`. NumPy only.
"""

import dataclasses
import math
import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal

import numpy as np

from lodestar.forecaster import Forecaster, load
from lodestar.forecaster.at_scale import at_scale
from lodestar.scheduler import arguments, checkpoint
from lodestar.scheduler.clock import Clock
from lodestar.scheduler.control import Control
from lodestar.scheduler.controller import Controller
from lodestar.scheduler.history import History
from lodestar.scheduler.inputs import nameless, number_of, shown, step_of
from lodestar.scheduler.records.decision import Decision
from lodestar.scheduler.records.journal import Journal
from lodestar.scheduler.records.listener import Listener
from lodestar.scheduler.records.log import LogWriter, header
from lodestar.scheduler.records.shadow import ShadowScore, score_forecasts
from lodestar.scheduler.records.summary import summary_of
from lodestar.scheduler.safety import checks
from lodestar.scheduler.safety.base import BaseSchedule
from lodestar.scheduler.safety.caps import Caps, caps_of
from lodestar.scheduler.safety.gate import MILD, Gate
from lodestar.scheduler.safety.guard import Cut
from lodestar.scheduler.safety.job import Job, check_metric, differences
from lodestar.scheduler.settings import PAPER, Preset, Settings
from lodestar.scheduler.state import State
from lodestar.scheduler.steps.follow import follow
from lodestar.scheduler.steps.initial_plan import chosen_plan, initial_plan
from lodestar.schedules.schedule import Schedule


class Scheduler:
    """Steers one training run of `total_steps` optimizer steps.

    `lr_at(step)` is the rate for the `step`-th update (from 1; 0 is read as 1). `base`, the plain schedule, is what
    shadow mode follows and a closed gate falls to. `gate` is on by default, and mild: it closes where the forecaster
    clearly does not fit the job. `job` is what is known of the job, to be compared with the forecaster's runs: any of
    metric (its name), task, optimizer, batch_size, parameters, width, weight_decay. `log` is the file of decisions;
    `run_name` (by default the file's stem) and `facts`, plain data of yours, tell there which run it is. With
    `control=True` it obeys commands that wait beside the log (`lodestar watch`, `lodestar control`); `ends_after` is
    the update after which one ends the run. Further keywords change single settings of the preset:
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
        gate: Gate | None = MILD,
        log: str | os.PathLike[str] | None = None,
        run_name: str | None = None,
        facts: Mapping[str, Any] | None = None,
        direction: str | None = None,
        job: Mapping[str, Any] | None = None,
        control: bool = False,
        **changes: Any,
    ):
        self.settings = arguments.checked_settings(preset, settings, changes)
        by_the_paper = preset == "paper" or settings == PAPER
        self.seed, self.mode, self.gate = arguments.checked_seed(seed), mode, gate
        if gate is MILD and by_the_paper:
            self.gate = gate = None  # Algorithm 1 has none
        self.run_name, self.facts = arguments.checked_name(run_name, log), arguments.checked_facts(facts)
        arguments.check_base(base, mode, gate)
        arguments.check_control(control, log)
        self._file = None if isinstance(forecaster, Forecaster) else Path(forecaster)
        self.forecaster = forecaster if isinstance(forecaster, Forecaster) else load(forecaster)
        clock = self._clock_of(int(total_steps) if isinstance(total_steps, np.integer) else total_steps)
        scaled = at_scale(self.forecaster, Job.of(job or {}).quantities(clock.total_steps))
        self.forecaster = scaled.forecaster
        chosen = chosen_plan(self.forecaster, self.settings)
        self.settings = dataclasses.replace(self.settings, initial_plan=chosen)
        arguments.check_direction(direction, self.forecaster.direction)
        self._caps = caps_of(self.forecaster, min_lr, max_lr)
        plain = BaseSchedule(base, None if mode == "shadow" else self._caps, self._warn)
        self._built_for = clock.total_steps
        planned, origin = initial_plan(self.forecaster, clock.window, self.settings)
        history = History(clock.total_steps, clock.points)
        state = State(clock, history, planned, follow(None, planned, 0.0, clock, self._caps, Cut()))
        writer = None if log is None else LogWriter(log)
        self._controlled = control
        self.job = Job()
        self._journal = Journal(state.entries, writer, self._header(clock))
        self._control = Control(self._journal, self._warn) if control else None
        self._controller = Controller(
            self.forecaster,
            *(self.settings, self.seed, mode == "shadow", gate, self._caps, plain, self._journal, state, planned),
        )
        self._direction = direction
        self.compare(job or {})
        for finding in scaled.warnings:
            self.notice(*finding)
        self._controller.begin("; ".join(part for part in (origin, scaled.words) if part))

    @property
    def total_steps(self) -> int:
        """The run's length in optimizer steps, as it stands."""
        return self._state.clock.total_steps

    @property
    def ends_after(self) -> int | None:
        """The update after which a command ends the run: at once, or by another length; None if there was none."""
        return self._state.ends_after

    @property
    def decisions(self) -> list[Decision]:
        """Every decision so far, the initial plan first."""
        return self._state.entries.decisions

    @property
    def warnings(self) -> list[str]:
        """What went wrong so far, in sentences, each kind once."""
        return self._state.entries.warnings

    @property
    def caps(self) -> Caps | None:
        """What every rate stays within, also that of an adapter's param groups; None in shadow mode."""
        return None if self.mode == "shadow" else self._caps

    def warn(self, kind: str, text: str) -> bool:
        """Put a warning on record, once of each kind; whether it is the first. For adapters."""
        return self._controller.warn(kind, text)

    def observe(self, step: int, *unnamed: Any, loss: Any = None, metric: Any = None) -> None:
        """Report what was measured at optimizer step `step`; either may be missing, both are named."""
        at = step_of(step)
        if unnamed or (at is None and loss is None and metric is None):
            self._warn("unnamed", nameless(unnamed or (step,)))
            if at is None:
                return
        if at is None or at < 0:
            self._warn("step", f"an observation at step {shown(step)} was left out: a step is a whole number >= 0")
        elif at > self.total_steps:
            self._warn(
                "after",
                f"an observation at step {at} was left out: the run has {self.total_steps} steps. "
                "Fix: extend(total_steps) if it goes on",
            )
        else:
            history = self._state.history
            if (finding := checks.behind(self._state.last_step, at, self.total_steps)) is not None:
                self.notice(*finding)
            seen_loss = self._add("loss", loss, at, history.add_loss)
            seen_metric = self._add("metric", metric, at, history.add_metric)
            if self._journal.curious and (seen_loss is not None or seen_metric is not None):
                self._journal.observe(at, seen_loss, seen_metric, self._controller.used(max(at, 1)))
            if at == self.total_steps and seen_metric is not None:
                self.close()

    def applied(self, step: int, lr: float) -> None:
        """Say that the job used another rate at `step` than it was told; decisions go by what was used."""
        at, rate = step_of(step), number_of(lr)
        if at is None or not 0 < at <= self.total_steps or rate is None or not (math.isfinite(rate) and rate >= 0):
            self._warn("applied", f"a rate of {shown(lr)} said to be applied at step {shown(step)} was left out")
        else:
            self._state.history.add_applied(at, rate)

    def lr_at(self, step: int) -> float:
        """The learning rate for optimizer step `step`."""
        at, state = step_of(step), self._state
        if at is None:
            self._warn(
                "lr_at", f"lr_at was asked for step {shown(step)}, which is no whole number; the last rate holds"
            )
            at = state.last_step
        if at > self.total_steps:
            self._warn(
                "past the end",
                f"lr_at was asked for step {at}, past the end at {self.total_steps}: the last rate holds. "
                "Fix: extend(total_steps) if the run goes on",
            )
        at = min(max(at, 1), self.total_steps)
        ended = at > state.clock.open_until(state.settled)
        if self._control is not None and at > state.last_step and self._control.ready(ended):
            at = self._obey(at, self._control)
            ended = at > state.clock.open_until(state.settled)
        if ended:
            self._warn_of_leap(at)
            self._controller.settle(at)
        state.last_step = max(state.last_step, at)
        self._journal.flush()
        return self._controller.used(at)

    def next_decision(self) -> int:
        """The first step that brings a decision when its rate is asked for; what is observed later comes too late.

        One past the end of the run if no decision is to come.
        """
        state = self._state
        return (state.clock.window_end(state.settled) if state.closed is None else self.total_steps) + 1

    def plan(self) -> Schedule:
        """The learning rate of every step from here on, as it stands now. Looking ahead decides nothing."""
        return self._controller.frozen(min(self._state.last_step + 1, self.total_steps), self.total_steps)

    def followed(self) -> Schedule:
        """The learning rate of every step so far."""
        return self._controller.frozen(1, self._state.last_step)

    def score(self) -> ShadowScore:
        """How good the forecasts of the final metric were, against the last metric observed."""
        return score_forecasts(self.decisions, self._state.history.last_metric(), steering=self.mode == "steer")

    def compare(self, job: Mapping[str, Any]) -> None:
        """The job against the runs of the forecaster; adapters say what they know of it, before the first update.

        Raises for a metric of the other direction or of another kind. Anything else is a warning.
        """
        stated, known = Job.of(job), self.forecaster.job
        self.job = stated.over(self.job)
        self._journal.know({**self.job.scale, **self.facts})
        check_metric(stated, known, self._direction)
        self._controller.own_lr = stated.lr or self._controller.own_lr
        self._controller.own_updates = stated.updates or self._controller.own_updates
        law = self.forecaster.law
        covered = {quantity.name for quantity in law.quantities} if law else set()
        for finding in differences(stated, known, self.total_steps, covered):
            self.notice(*finding)

    def notice(self, kind: str, text: str) -> None:
        """Say something that would ruin the run in silence, once of each kind: record, logger and `warnings`."""
        self._controller.warn(kind, text, loud=True)

    def summary(self, updates: int | None = None) -> str:
        """What became of the run, in one line; `updates` made, if more is known of them than the rates asked for."""
        state = self._state
        made, final = state.last_step if updates is None else updates, state.history.last_metric()
        return summary_of(self.decisions, final, made, self.total_steps, shadow=self.mode == "shadow")

    def close(self, updates: int | None = None) -> None:
        """The run is over: its summary goes to the logger and the log. May be called twice; what is new is said."""
        if self._state.last_step > 0:
            self._journal.end(self.summary(updates), self._state.last_step)

    def extend(self, total_steps: int) -> None:
        """The run will have another length: the rest of the plan is stretched to fit, then decided anew."""
        here, old = self._state.last_step, self.total_steps
        try:
            if (length := step_of(total_steps)) is None or length < max(here, 1):
                raise ValueError(f"the new length must be a whole number >= step {here}, got {shown(total_steps)}")
            clock = self._clock_of(length)
        except ValueError as error:
            self._warn("extend", f"the run's length was left at {old}: {error}")
            return
        if length != old:
            self._controller.extend(clock)

    def listen(self, listener: Listener) -> None:
        """Tell `listener` of every observation and decision from here on."""
        self._journal.listeners.append(listener)

    def state_dict(self) -> dict[str, Any]:
        """Everything needed to go on, as plain JSON-able data."""
        return checkpoint.saved(self._owner(), self._state)

    def load_state_dict(self, saved: dict[str, Any]) -> None:
        """Go on where `saved` was taken: the same rates follow, bit for bit, from the same observations.

        Built with another `total_steps` than the job that saved it, the run is extended to that length.
        """
        owner = self._owner()
        checkpoint.check(saved, owner)
        state, changes = State.from_dict(saved, self._state.clock), list(checkpoint.changes(saved, owner))
        self._controller.state = state
        later = self._journal.resume(state.entries, self._header(state.clock) | {"resumed_after": state.last_step})
        if self._control is not None:
            self._control.repeat(later)
        self._controller.cap()
        for name, text in changes:
            self._warn(f"other {name}", text)
        if saved["built_for"] != self._built_for:
            self.extend(self._built_for)

    @property
    def _state(self) -> State:
        return self._controller.state

    def _obey(self, step: int, control: Control) -> int:
        """Do what a person asks, before the rate of `step` is told; the step, within the run as it then is."""
        for command in control.commands(step, step >= self.next_decision(), self.decisions):
            self._controller.obey(command)
        return min(step, self.total_steps)

    def _clock_of(self, total_steps: int) -> Clock:
        points = self.forecaster.points
        return Clock(total_steps, points, self.settings.window_points(points))

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

    def _warn_of_leap(self, step: int) -> None:
        state, clock = self._state, self._state.clock
        if (
            clock.complete(step - 1) > state.settled + 2 * clock.window
            and not state.history.losses[state.settled :].any()
        ):
            self._warn(
                "leap",
                f"lr_at({step}) skips windows in which nothing was observed: they keep the plan. "
                "Fix: to look ahead use plan().lr_at(step); report losses with observe()",
            )

    def _warn(self, kind: str, text: str) -> None:
        self._controller.warn(kind, text)

    def _owner(self) -> checkpoint.Owner:
        mark = checkpoint.fingerprint(self.forecaster)
        return checkpoint.Owner(mark, self.settings.to_dict(), self.seed, self.mode, self._built_for)

    def _header(self, clock: Clock) -> dict[str, Any]:
        known = self.forecaster.facts
        return header(
            run={"name": self.run_name, "facts": {**self.job.scale, **self.facts}},
            total_steps=clock.total_steps,
            mode=self.mode,
            task=known.get("task"),
            metric=str(known.get("metric_name", "metric")),
            direction=str(self.forecaster.direction),
            settings=self.settings.to_dict(),
            seed=self.seed,
            caps=[self._caps.low, self._caps.high],
            control=self._controlled,
            started=round(time.time(), 3),
            forecaster={
                "file": None if self._file is None else str(self._file.absolute()),
                "mark": checkpoint.fingerprint(self.forecaster),
            },
        )
