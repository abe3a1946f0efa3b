"""Many ranks: losses and metrics are averaged over all ranks, rank 0 decides, its rates are broadcast.

Comes in: one `Scheduler` on each rank, and a torch.distributed process group. Goes out: the same learning rate on every
rank, to the last bit. A command that rank 0 obeys reaches all with them. Ranks talk once for each point of the
forecaster's grid (a few hundred times in a run, in three small messages): `reduce` when a point's last update is made,
and the first `lr_at` after it. So every rank has to make the same updates, as data-parallel training does; nobody waits
in `observe`, and a value that only some ranks report (validation on rank 0) is averaged over those. This file does not
know optimizers.

`LodestarLR` puts this around its scheduler by itself when torch.distributed runs with more than one rank.
"""

import math
from typing import Any

from lodestar._extras import need
from lodestar._plain import numbers, whole
from lodestar.adapters._state_file import refusing_damage
from lodestar.adapters._steered import Steered
from lodestar.forecaster import Forecaster
from lodestar.forecaster.preprocessing.grid import last_step_of, point_of
from lodestar.scheduler import Scheduler
from lodestar.scheduler.safety.caps import Caps

need("torch", "torch")

import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402


def many_ranks() -> bool:
    """Whether this process is one of several in a running torch.distributed group."""
    return dist.is_available() and dist.is_initialized() and dist.get_world_size() > 1


class Ranked(Steered):
    """A scheduler shared by all ranks of a process group. Ask rank 0, which decides, for plan, warnings and score.

    `every` is how many steps lie between two exchanges (default: one point of the grid). A checkpoint that rank 0
    writes and all ranks load resumes exactly after the last step of a stretch; in the middle of one, the other ranks'
    values since its start are not in it. With `every=1` any step is exact, at the price of three messages a step.
    """

    def __init__(self, scheduler: Scheduler, *, every: int | None = None, group: Any = None):
        if every is not None and every < 1:
            raise ValueError(f"every must be at least 1 step, got {every}. Fix: leave it out, or pass every=1")
        self.scheduler: Scheduler = scheduler
        self._every = every
        self._group = group
        self.rank = dist.get_rank(group)
        self._start = 1  # the step of the first rate in the table
        self._table: list[float] = []
        self._pending = _nothing()
        self._reduced: int | None = None  # the step up to which rank 0 has heard all
        self._told: tuple[int, int | None] | None = None  # rank 0's length and end of the run, as last broadcast

    @property
    def total_steps(self) -> int:
        """The planned length of the run."""
        return self.scheduler.total_steps if self._told is None else self._told[0]

    @property
    def ends_after(self) -> int | None:
        """The update after which a command to rank 0 ends the run."""
        return self.scheduler.ends_after if self._told is None else self._told[1]

    @property
    def forecaster(self) -> Forecaster:
        """The forecaster it steers by."""
        return self.scheduler.forecaster

    @property
    def caps(self) -> Caps | None:
        """What the rate of every param group stays within; None in shadow mode."""
        return self.scheduler.caps

    def warn(self, kind: str, text: str) -> bool:
        """Put a warning on this rank's record, once of each kind; whether it is the first."""
        return self.scheduler.warn(kind, text)

    def observe(self, step: int, *, loss: Any = None, metric: Any = None) -> None:
        """Keep this rank's value until the next exchange. Never raises."""
        for name, value in (("loss", loss), ("metric", metric)):
            number = _number(value)
            if number is not None:
                total, count = self._pending[name]
                self._pending[name] = [total + number, count + 1.0]

    def next_decision(self) -> int:
        """The first step whose rate is not known yet: asking for it makes the ranks talk, and rank 0 perhaps decide."""
        return min(self._next_exchange, self.total_steps + 1)

    def lr_at(self, step: int) -> float:
        """The rate of update number `step`; exchanges with the other ranks when the known stretch is over."""
        step = max(int(step), 1)
        if step >= self._next_exchange:
            self._exchange(step)
        return self._table[max(step - self._start, 0)]

    def extend(self, total_steps: int) -> None:
        """Change the length of the run, on every rank; the next `lr_at` exchanges."""
        self.scheduler.extend(total_steps)
        self._table, self._told = [], None

    def state_dict(self) -> dict[str, Any]:
        """Plain data. Rank 0's is the one to keep; loading it on every rank is right. Not a collective call."""
        return {
            "rank": self.rank,
            "start": self._start,
            "table": list(self._table),
            "pending": {name: list(value) for name, value in self._pending.items()},
            "scheduler": self.scheduler.state_dict(),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on from a saved state, rank 0's or this rank's own; also one saved by a job on a single rank."""
        if "table" not in state:
            state = {"rank": None, "start": 1, "table": [], "scheduler": state}
        with refusing_damage():
            inner, start, table = state["scheduler"], whole(state["start"], "start"), numbers(state["table"], "table")
            mine = state["rank"] == self.rank
            pending = {k: [*map(float, state["pending"][k])] if mine else v for k, v in _nothing().items()}
        self.scheduler.load_state_dict(inner)
        self._start, self._table, self._reduced, self._pending = start, self._capped(table), None, pending
        self._told = None

    def reduce(self, step: int) -> None:
        """All ranks, after update `step`: rank 0's scheduler hears the mean of what was seen since the last time."""
        if self._reduced == step:
            return
        seen = [*self._pending["loss"], *self._pending["metric"]]
        sums = torch.tensor(seen, dtype=torch.float64, device=_device(self._group))
        dist.all_reduce(sums, group=self._group)
        self._reduced, self._pending = step, _nothing()
        if self.rank == 0:
            self._take_in(step, *sums.tolist())

    def _capped(self, table: list[float]) -> list[float]:
        """A saved table, within the caps this job was given."""
        return [rate if self.caps is None else self.caps.within(rate) for rate in map(float, table)]

    @property
    def _next_exchange(self) -> int:
        return self._start + len(self._table)

    def _exchange(self, step: int) -> None:
        """All ranks: bring together what was seen; rank 0: decide; all: take the rates of the next stretch."""
        self._reduced = None  # a metric may have come since
        self.reduce(step - 1)
        length = self._stretch(step)
        news = torch.zeros(length + 2, dtype=torch.float64, device=_device(self._group))
        if self.rank == 0:
            rates = [self.scheduler.lr_at(step + i) for i in range(length)]
            ends_after = self.scheduler.ends_after
            told = [self.scheduler.total_steps, -1 if ends_after is None else ends_after]
            news += torch.tensor([*rates, *map(float, told)], dtype=torch.float64)
        dist.broadcast(news, src=_first(self._group), group=self._group)
        self._start, (*self._table, total, end) = step, news.tolist()
        self._told = (int(total), None if end < 0 else int(end))

    def _take_in(self, step: int, loss: float, losses: float, metric: float, metrics: float) -> None:
        if losses:
            self.scheduler.observe(max(step, 1), loss=loss / losses)
        if metrics:
            self.scheduler.observe(max(step, 1), metric=metric / metrics)

    def _stretch(self, step: int) -> int:
        """How many steps from `step` on share one exchange: to the end of its point, where decisions fall."""
        if self._every is not None:
            return self._every - (step - 1) % self._every
        total, points = self.total_steps, self.forecaster.points
        last = int(last_step_of(int(point_of(step, total, points)), total, points))
        return max(last - step + 1, 1)


def _nothing() -> dict[str, list[float]]:
    """Sum and count of each quantity: nothing seen."""
    return {"loss": [0.0, 0.0], "metric": [0.0, 0.0]}


def _number(value: Any) -> float | None:
    try:
        return None if value is None else float(value.item() if hasattr(value, "item") else value)
    except (TypeError, ValueError, RuntimeError):
        return math.nan


def _device(group: Any) -> torch.device:
    """Where the group's messages have to lie: the CPU if it can, else this rank's accelerator."""
    backend = str(dist.get_backend(group))
    if "gloo" in backend or "mpi" in backend or not torch.cuda.is_available():
        return torch.device("cpu")
    return torch.device("cuda", torch.cuda.current_device())


def _first(group: Any) -> int:
    return 0 if group is None else dist.get_global_rank(group, 0)
