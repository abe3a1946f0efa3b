"""A plain training loop, no framework: the rate comes with the step.

Comes in: a forecaster and the length of the run. Goes out: pairs (step, lr) to train with, from wherever the run
stands. Values go in through `observe`. With `state=PATH` the job can be killed and goes on from its last `save()`. This
file knows nothing of models and data.

    loop = SteeredLoop("forecaster.lodestar", total_steps=1000, state="run.json")
    for step, lr in loop:
        loss = train_one_step(batch(step), lr)
        loop.observe(loss=loss)
        if step % 100 == 0:
            loop.observe(metric=validate())
            save_weights(); loop.save()
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from lodestar._plain import whole
from lodestar.adapters._source import Source, Steering, scheduler_of
from lodestar.adapters._state_file import read_state, refusing_damage, write_state
from lodestar.adapters._steered import SteeredJob


class SteeredLoop(SteeredJob):
    """Iterates over the steps still to do. `options` are those of `Scheduler`.

    At its end, or when a command stops it, the loop closes itself; after a `break`, call `close`.
    """

    def __init__(
        self,
        source: Source,
        total_steps: int | None = None,
        *,
        state: str | os.PathLike[str] | None = None,
        **options: Any,
    ):
        self.scheduler: Steering = scheduler_of(source, total_steps, options)
        self.step = 0  # updates begun so far; within the loop's body, the one being made
        self._path = None if state is None else Path(state)
        if self._path is not None and self._path.exists():
            self.load_state_dict(read_state(self._path))

    def __iter__(self) -> Iterator[tuple[int, float]]:
        while self.step < self.scheduler.total_steps and not self.stopped:
            self.step += 1
            yield self.step, self.scheduler.lr_at(self.step)
        self.close()

    @property
    def _updates(self) -> int:
        return self.step

    def __len__(self) -> int:
        """Steps still to do."""
        return max(self.scheduler.total_steps - self.step, 0)

    def observe(
        self, *unnamed: Any, loss: Any = None, metric: Any = None, step: int | None = None, **unknown: Any
    ) -> None:
        """Report a value measured at the current step (or at `step`): by its name. Never raises."""
        self._observe(self.step, unnamed, unknown, step, loss, metric)

    def extend(self, total_steps: int) -> None:
        """Change the length of the run; what is left is planned anew."""
        self.scheduler.extend(total_steps)

    def save(self) -> bool:
        """Write the state to the file named at construction. Call it together with saving the weights.

        On a full disk the last good file stays, a warning is logged, and the answer is False.
        """
        if self._path is None:
            raise ValueError("save() needs a file, and state is None. Fix: SteeredLoop(..., state='run.json')")
        return write_state(self._path, self.state_dict())

    def state_dict(self) -> dict[str, Any]:
        """Plain data, to be kept with the weights of this step."""
        return {"step": self.step, "scheduler": self.scheduler.state_dict()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on from a saved state."""
        with refusing_damage():
            inner, step = state["scheduler"], whole(state["step"], "step")
        self.scheduler.load_state_dict(inner)
        self.step = step
