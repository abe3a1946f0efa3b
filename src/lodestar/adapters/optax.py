"""Optax: the plan is part of the optimizer's state, so a new plan costs no new trace.

Comes in: a forecaster and the length of the run. Goes out: a `StatefulSchedule` for `optax.inject_hyperparams`. The
next stretch of the plan lies in the state as a table of fixed length; the compiled update reads it by step. Between
updates, on the host, `steer` takes in what was measured and swaps the table when the plan has changed. This file knows
nothing of the model; it reads a loss off the device only where you pass one.

    schedule = LodestarSchedule("forecaster.lodestar", total_steps=1000)
    optimizer = optax.inject_hyperparams(optax.adam)(learning_rate=schedule)
    ...
        params, opt_state, loss = train_step(params, opt_state, batch)      # compiled once
        opt_state = schedule.steer(opt_state, step, loss=loss)              # step 1, 2, 3, ...
"""

from typing import Any, NamedTuple

from lodestar._extras import need
from lodestar.adapters._source import Source, Steering, close, scheduler_of, stopped, summary
from lodestar.adapters._steered import Steered
from lodestar.scheduler.inputs import nameless, shown, step_of

need("optax", "optax")

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402

_LOOKS = 3  # calls of steer in which the state's own count is read, which waits for the device


class PlanState(NamedTuple):
    """The plan from update number `start` on, and the number of updates `done`."""

    done: jax.Array
    start: jax.Array
    lr: jax.Array


class LodestarSchedule(Steered):
    """An Optax `StatefulSchedule` whose plan lives in the optimizer's state. `options` are those of `Scheduler`.

    `table` is how many steps of the plan the state holds: more than the updates between two calls of `steer`. Past its
    end the last rate is held.
    """

    def __init__(self, source: Source, total_steps: int | None = None, *, table: int = 64, **options: Any):
        if table < 1:
            raise ValueError(f"table must be at least 1 step, got {table}. Fix: leave it at 64")
        self.scheduler: Steering = scheduler_of(source, total_steps, options)
        self._length = table
        self._start = 1
        self._held: list[float] = []  # the table as last handed out, so that an unchanged plan costs no transfer
        self._done = 0  # as last told
        self._looks = _LOOKS

    def init(self) -> PlanState:
        """The state before the first update (called by Optax)."""
        self._fill(1)
        return PlanState(jnp.zeros([], jnp.int32), jnp.ones([], jnp.int32), jnp.asarray(np.array(self._held)))

    def update(self, state: PlanState, **extra_args: Any) -> PlanState:
        """One update was made (called by Optax, traced)."""
        return state._replace(done=state.done + 1)

    def __call__(self, state: PlanState, **extra_args: Any) -> jax.Array:
        """The rate of the update at hand (called by Optax, traced)."""
        return state.lr[jnp.clip(state.done + 1 - state.start, 0, self._length - 1)]

    def steer(self, opt_state: Any, step: int, *unnamed: Any, loss: Any = None, metric: Any = None) -> Any:
        """After update number `step` (0: before the first): report what was measured, get the state to go on with.

        A decision may follow at once, so a metric belongs into the same call as the loss of its step. A step that is no
        whole number or goes back, as a number of epochs does, is refused.
        """
        step = self._counted(opt_state, step)
        if unnamed:
            self._say("unnamed", nameless(unnamed, "steer"))
        if loss is not None or metric is not None:
            self.scheduler.observe(max(step, 1), loss=loss, metric=metric)
        if step >= self.scheduler.total_steps:
            self.close(step)
        coming = min(step + 1, self.scheduler.total_steps)
        ahead = coming - self._start
        if 0 <= ahead < len(self._held) and self._held[ahead] == self.scheduler.lr_at(coming):
            return opt_state
        self._fill(coming)
        return jax.tree.map(
            lambda part: self._replanned(part, step) if isinstance(part, PlanState) else part,
            opt_state,
            is_leaf=lambda part: isinstance(part, PlanState),
        )

    @property
    def stopped(self) -> bool:
        """Whether a command has ended the run (`control=True`): break your loop then."""
        return stopped(self.scheduler, self._done)

    def summary(self, step: int) -> str:
        """What became of the run after update number `step`, in one line."""
        return summary(self.scheduler, step)

    def close(self, step: int) -> None:
        """The run is over after update `step`: its summary goes to the logger and the log. At its end by itself."""
        close(self.scheduler, step)

    def extend(self, total_steps: int) -> None:
        """Change the length of the run; the next `steer` brings the new plan."""
        self.scheduler.extend(total_steps)
        self._held = []

    def state_dict(self) -> dict[str, Any]:
        """Plain data, to be kept with the parameters and the optimizer's state of this step."""
        return self.scheduler.state_dict()

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on from a saved state. Call `steer(opt_state, step)` once before the next update."""
        self.scheduler.load_state_dict(state)
        self._held, self._done, self._looks = [], 0, _LOOKS

    def _counted(self, opt_state: Any, step: int) -> int:
        """The step as a number; in the first calls compared with the updates that the state itself has counted."""
        count = step_of(step)
        if count is None:
            raise ValueError(
                f"steer takes the number of updates done, a whole number, got {shown(step)}. "
                "Fix: steer(opt_state, step, loss=loss), between two updates and outside jit"
            )
        made = self._done
        if self._looks > 0:
            self._looks -= 1
            made = max(made, _made(opt_state))
        if count < made:
            raise ValueError(
                f"steer({count}) means that {count} updates are done, but {made} are: the count cannot go back, and it "
                "is not that of epochs. Fix: count every update, from 1; in a run that goes on from a checkpoint, "
                "load_state_dict first"
            )
        if self._done < made < count:
            self._say(
                "count",
                f"steer({count}) means that {count} updates are done, but the optimizer's state has counted {made}: "
                f"{count} holds. Fix: count updates, not batches that are accumulated",
            )
        self._done = count
        return count

    def _fill(self, step: int) -> None:
        self._start, first = step, self.scheduler.lr_at(step)
        plan = self.scheduler.plan()  # after lr_at, which may have decided
        self._held = [first, *(plan.lr_at(step + i) for i in range(1, self._length))]

    def _replanned(self, old: PlanState, step: int) -> PlanState:
        return PlanState(
            done=_like(np.int32(step), old.done),
            start=_like(np.int32(self._start), old.start),
            lr=_like(np.array(self._held, old.lr.dtype), old.lr),
        )


def _made(opt_state: Any) -> int:
    """The updates that the plan within the optimizer's state has counted."""
    parts = jax.tree.leaves(opt_state, is_leaf=lambda part: isinstance(part, PlanState))
    plans = [part for part in parts if isinstance(part, PlanState)]
    if not plans:
        raise ValueError(
            f"the state that steer was given holds no plan, got {type(opt_state).__name__}. Fix: make the optimizer "
            "with optax.inject_hyperparams(...)(learning_rate=schedule), and pass the state that its update returned"
        )
    try:
        return max(int(np.max(np.asarray(plan.done))) for plan in plans)
    except Exception:  # noqa: BLE001  a state spread over hosts cannot be read here, which is no reason to stop
        return 0


def with_learning_rate(opt_state: Any, lr: float) -> Any:
    """The state of `inject_hyperparams(...)(learning_rate=0.0)` with another rate; no new trace.

    The simple way, for those who prefer to set the rate themselves: `with_learning_rate(opt_state,
    scheduler.lr_at(step))`.
    """
    old = opt_state.hyperparams["learning_rate"]
    new = _like(np.asarray(lr, old.dtype), old)
    return opt_state._replace(hyperparams={**opt_state.hyperparams, "learning_rate": new})


def _like(value: Any, old: jax.Array) -> jax.Array:
    """`value` where `old` lies: another placement would compile the update again."""
    return jax.device_put(value, old.sharding) if getattr(old, "committed", False) else jnp.asarray(value)
