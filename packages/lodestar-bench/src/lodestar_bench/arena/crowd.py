"""Many runs of one problem on their way at once, advanced together by one program.

Comes in: a problem, an optimizer, seeds, then rates for every run. Goes out: losses, validation figures, and for each
run what `lodestar_bench.training` would have logged of it. Runs are shared out over lanes, one a core; within a lane
they take turns inside one compiled program (on a CPU as quick as side by side, and with the bench's own numbers bit for
bit) or go side by side in a `vmap`, which is what a GPU wants. Who chooses the rates is not known here.
"""

import functools
import math
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from lodestar_bench._errors import BenchError
from lodestar_bench.compiled import Position, programs
from lodestar_bench.method import Optimizer
from lodestar_bench.problem import AbstractProblem, Figures, ModelState, Params, Split
from lodestar_bench.training import Best


@functools.lru_cache(maxsize=16)
def joint(problem: AbstractProblem, optimizer: Optimizer, side_by_side: bool) -> Callable[..., Any]:
    """The bench's own stretch of updates, for many runs; `first` and `count` are the same for all."""
    stretch = programs(problem, optimizer)._updates
    if side_by_side:
        return jax.jit(jax.vmap(stretch, in_axes=(0, 0, 0, None, None, 0)))

    def in_turn(positions, batches, keys, first, count, rates):
        one = lambda run: stretch(run[0], run[1], run[2], first, count, run[3])  # noqa: E731
        return jax.lax.map(one, (positions, batches, keys, rates))

    return jax.jit(in_turn)


class Lane:
    """Some of the runs, stacked. A lane that is not full repeats its last run, so that all lanes share one program."""

    def __init__(self, problem: AbstractProblem, optimizer: Optimizer, seeds: Sequence[int], rates: Sequence[float]):
        made = programs(problem, optimizer)
        self.problem, self.seeds, self.longest = problem, list(seeds), made.longest
        begun = [problem.begin(seed) for seed in seeds]
        stood = [
            Position(params, state, made.begin(params, np.float32(rate)))
            for (params, state), rate in zip(begun, rates, strict=True)
        ]
        self.position = jax.tree.map(lambda *parts: jnp.stack(parts), *stood)
        self._keys = jnp.stack([jax.random.key(seed) for seed in seeds])
        self._judged = jax.jit(lambda position, run: _judged(optimizer, jax.tree.map(lambda part: part[run], position)))

    def advance(self, program: Callable[..., Any], first: int, rates: NDArray[np.float32]) -> tuple[NDArray, NDArray]:
        """One update at each rate (runs, count); losses, and the rates in effect."""
        count = rates.shape[1]
        drawn = [self.problem.batches(seed, first, count) for seed in self.seeds]
        batches = jax.tree.map(lambda *parts: _filled(np.stack(parts), self.longest), *drawn)
        self.position, losses, used = program(
            self.position, batches, self._keys, np.int32(first), np.int32(count), _filled(rates, self.longest)
        )
        return np.asarray(losses, np.float64)[:, :count], np.asarray(used, np.float64)[:, :count]

    def judged(self, run: int) -> tuple[Params, ModelState]:
        """The weights a run is judged by, and its state."""
        return self._judged(self.position, run)


class Crowd:
    """Runs of the given seeds. `losses`, `rates` are (runs, updates); `made` counts the updates of each run."""

    def __init__(
        self,
        problem: AbstractProblem,
        optimizer: Optimizer,
        seeds: Sequence[int],
        first_rates: Sequence[float],
        *,
        lanes: int | None = None,
        side_by_side: bool | None = None,
    ):
        if problem.convolutional:
            raise BenchError(
                f"task {problem.task!r} has convolutions, which do not go well many at once on a CPU. Fix: judge it "
                f"with lodestar bench table1 --task {problem.task} --methods ..."
            )
        self.problem, self.seeds, self.step = problem, list(seeds), 0
        on_cpu = jax.default_backend() == "cpu"
        self._program = joint(problem, optimizer, not on_cpu if side_by_side is None else side_by_side)
        lanes = min(len(seeds), lanes or (len(os.sched_getaffinity(0)) if on_cpu else 1))
        size = -(-len(seeds) // lanes)
        self._places = [(run // size, run % size) for run in range(len(seeds))]
        self._size, self._pool = size, ThreadPoolExecutor(lanes)
        self._lanes = [self._lane(optimizer, first, first_rates) for first in range(0, len(seeds), size)]
        self.losses = np.full((len(seeds), problem.total_steps), np.nan)
        self.rates = np.full((len(seeds), problem.total_steps), np.nan)
        self.made = np.zeros(len(seeds), int)
        self.lost = np.zeros(len(seeds), bool)
        self.metrics: list[list[tuple[int, float]]] = [[] for _ in seeds]
        self.best: list[Best | None] = [None for _ in seeds]

    def advance(self, rates: NDArray[np.float64]) -> NDArray[np.float64]:
        """One update at each rate (runs, count). A run whose loss is not finite is lost from there on."""
        count, first, single = rates.shape[1], self.step + 1, rates.astype(np.float32)
        go = lambda lane: self._lanes[lane].advance(self._program, first, self._of_lane(single, lane))  # noqa: E731
        losses, used = (np.concatenate(parts)[: len(self.seeds)] for parts in zip(*self._each(go), strict=True))
        for run in np.flatnonzero(~self.lost):
            bad = np.flatnonzero(~np.isfinite(losses[run]))
            made = int(bad[0]) + 1 if len(bad) else count
            here = slice(self.step, self.step + made)
            self.losses[run, here] = losses[run, :made]
            self.rates[run, here] = np.where(used[run] == single[run], rates[run], used[run])[:made]
            self.made[run] += made
            self.lost[run] = bool(len(bad))
        self.step += count
        return losses

    def measure(self) -> list[float | None]:
        """The validation metric of every run that is not lost; the best weights so far are kept."""
        found = self.figures("validation", [None if lost else self.judged(run) for run, lost in enumerate(self.lost)])
        for run, (weights, figures) in enumerate(found):
            if weights is None or figures is None:
                continue
            self.metrics[run].append((self.step, figures.metric))
            self.lost[run] |= not math.isfinite(figures.loss)
            best, better = self.best[run], self.problem.direction.better
            beaten = best is None or better(figures.metric, best.figures.metric)
            if beaten and not self.lost[run] and math.isfinite(figures.metric):
                self.best[run] = Best(self.step, figures, *weights)
        return [None if figures is None else figures.metric for _, figures in found]

    def judged(self, run: int) -> tuple[Params, ModelState]:
        """The weights a run would be judged by now, and its state."""
        lane, place = self._places[run]
        return self._lanes[lane].judged(place)

    def figures(self, split: Split, weights: Sequence[tuple[Params, ModelState] | None]) -> list[tuple[Any, Any]]:
        """Each pair of weights and state with its figures on a split, worked out on all cores."""

        def judge(one: tuple[Params, ModelState] | None) -> Figures | None:
            return None if one is None else self.problem.evaluate(one[0], one[1], split)

        return list(zip(weights, self._pool.map(judge, weights), strict=True))

    def close(self) -> None:
        """Let the threads go."""
        self._pool.shutdown()

    def _lane(self, optimizer: Optimizer, first: int, rates: Sequence[float]) -> Lane:
        chosen = [min(first + place, len(self.seeds) - 1) for place in range(self._size)]
        return Lane(self.problem, optimizer, [self.seeds[i] for i in chosen], [rates[i] for i in chosen])

    def _of_lane(self, values: NDArray, lane: int) -> NDArray:
        part = values[lane * self._size : (lane + 1) * self._size]
        return np.concatenate([part, np.repeat(part[-1:], self._size - len(part), axis=0)])

    def _each(self, go: Callable[[int], Any]) -> list[Any]:
        """Every lane at once; the first time one after the other, so that the program is compiled once."""
        lanes = range(len(self._lanes))
        return [go(lane) for lane in lanes] if self.step == 0 else list(self._pool.map(go, lanes))


def _judged(optimizer: Optimizer, position: Position) -> tuple[Params, ModelState]:
    return optimizer.evaluation(position.params, position.optimizer), position.state


def _filled(part: NDArray, length: int) -> NDArray:
    """Padded along the second axis, so that stretches of any length share one program."""
    room = length - part.shape[1]
    return part if room == 0 else np.concatenate([part, np.repeat(part[:, -1:], room, axis=1)], axis=1)
