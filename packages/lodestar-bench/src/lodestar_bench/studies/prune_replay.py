"""Pruning in replay: recorded trials, in random orders, under each pruner; who keeps the best trial for the least work.

Comes in: tables of recorded runs. For each order a random pool of them is handed to a pruner one after the other, value
by value, through the real package: Optuna's pruners in a study, Ray's ASHA as Tune calls it, ours. Goes out, for
budgets that are shares of all the updates in the pool: regret, the best kept trial's distance from the best of the pool
in units of the distance from the pool's median to its best; and whether the eventual best was stopped. A row is written
as soon as it is known, and a second call goes on where the first ended.

    python -m lodestar_bench.studies.prune_replay runs/*.parquet --out replay.jsonl --orders 20 --most 200
    python -m lodestar_bench.studies.prune_replay --out replay.jsonl --table
"""

import argparse
import dataclasses
import itertools
import json
import math
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from lodestar.pruning import Pruner
from lodestar.pruning.background import GROWTH
from lodestar.pruning.pruner import due
from lodestar.runs import Direction, Run, RunStore, Series, Status
from lodestar.schedules import Schedule

BUDGETS = (0.1, 0.25, 0.5)
NOBODY = "no pruner"


@dataclasses.dataclass(frozen=True)
class Recorded:
    """One recorded trial: values at steps, NaN from where it diverged; `run` as a finished run, None if it did."""

    name: str
    steps: np.ndarray
    loss: np.ndarray
    metric: np.ndarray
    lr: np.ndarray
    direction: Direction

    @property
    def final(self) -> float:
        return float(self.metric[-1])

    def until(self, count: int, total: int, *, status: Status) -> Run:
        """The first `count` values as a run."""
        fine = np.isfinite(self.loss[:count])
        steps = self.steps[:count]
        return Run(
            self.name,
            Series(steps[fine], self.loss[:count][fine]) if fine.any() else Series(steps, self.loss[:count]),
            Series(steps, self.metric[:count]),
            Series(steps, self.lr[:count]),
            self.direction,
            status,
            total,
        )

    def schedule(self) -> Schedule:
        """The whole rate, known before the trial begins."""
        at = np.arange(1, int(self.steps[-1]) + 1)
        return Schedule("recorded", np.interp(at, self.steps, self.lr))


class Stopper(Protocol):
    """What the replay asks a pruner."""

    def begin(self, trial: Recorded) -> None: ...
    def stops(self, place: int) -> bool: ...
    def end(self, *, stopped: bool) -> None: ...


class Nobody:
    """Every trial to its end."""

    def begin(self, trial: Recorded) -> None: ...
    def stops(self, place: int) -> bool:
        return False

    def end(self, *, stopped: bool) -> None: ...


class Ours:
    """`lodestar.pruning`, fitted anew when there are a third more finished trials, as in `Background`."""

    def __init__(self, *, knows_schedule: bool, **settings: Any):
        self.pruner = Pruner(**settings)
        self._knows = knows_schedule
        self._ended: list[Run] = []
        self._known = 0
        self.fit_seconds = self.judge_seconds = 0.0

    def begin(self, trial: Recorded) -> None:
        self._trial, self._place, self._judged = trial, 0, 0.0
        self._schedule = trial.schedule() if self._knows else None

    def stops(self, place: int) -> bool:
        self._place = place
        now = float(self._trial.steps[place] / self._trial.steps[-1])
        if np.isfinite(self._trial.metric[place]) and not due(self._judged, now):
            return False
        self._judged = now
        began = time.process_time()
        total = int(self._trial.steps[-1])
        verdict = self.pruner.judge(self._trial.until(place + 1, total, status=Status.CUT_SHORT), self._schedule)
        self.judge_seconds += time.process_time() - began
        return verdict.stop

    def end(self, *, stopped: bool) -> None:
        finite = math.isfinite(self._trial.metric[self._place])
        if not finite:
            return
        status = Status.CUT_SHORT if stopped else Status.FINISHED
        self._ended.append(self._trial.until(self._place + 1, int(self._trial.steps[-1]), status=status))
        finished = sum(run.status is Status.FINISHED for run in self._ended)
        if finished >= max(self.pruner.startup, math.ceil(self._known * GROWTH)) and finished > self._known:
            began = time.process_time()
            self.pruner.learn(self._ended)
            self._known, self.fit_seconds = finished, self.fit_seconds + time.process_time() - began


class Optunas:
    """A pruner of Optuna in a study of its own."""

    def __init__(self, pruner: Any, direction: Direction, seed: int):
        import optuna

        optuna.logging.set_verbosity(optuna.logging.ERROR)
        way = "maximize" if direction is Direction.MAX else "minimize"
        sampler = optuna.samplers.RandomSampler(seed=seed)
        self._states = optuna.trial.TrialState
        self._study = optuna.create_study(direction=way, pruner=pruner, sampler=sampler)

    def begin(self, trial: Recorded) -> None:
        self._recorded, self._trial, self._place = trial, self._study.ask(), 0

    def stops(self, place: int) -> bool:
        self._place = place
        self._trial.report(float(self._recorded.metric[place]), place + 1)
        return self._trial.should_prune()

    def end(self, *, stopped: bool) -> None:
        value = float(self._recorded.metric[self._place])
        if stopped:
            self._study.tell(self._trial, state=self._states.PRUNED)
        elif math.isfinite(value):
            self._study.tell(self._trial, value)
        else:
            self._study.tell(self._trial, state=self._states.FAIL)


class RayASHA:
    """Ray Tune's asynchronous successive halving, called as Tune's controller calls it."""

    def __init__(self, direction: Direction, points: int):
        from ray.tune.schedulers import ASHAScheduler, TrialScheduler

        self._stop = TrialScheduler.STOP
        self._scheduler = ASHAScheduler(
            time_attr="training_iteration", metric="value", mode=str(direction), max_t=points, grace_period=1
        )
        self._numbers = itertools.count()

    def begin(self, trial: Recorded) -> None:
        from types import SimpleNamespace

        self._recorded, self._place = trial, 0
        self._trial = SimpleNamespace(trial_id=f"{next(self._numbers):05d}", config={})
        self._scheduler.on_trial_add(None, self._trial)  # pyright: ignore[reportArgumentType]

    def stops(self, place: int) -> bool:
        self._place = place
        asked = self._scheduler.on_trial_result(None, self._trial, self._result())  # pyright: ignore[reportArgumentType]
        return asked == self._stop and place + 1 < len(self._recorded.metric)

    def end(self, *, stopped: bool) -> None:
        self._scheduler.on_trial_complete(None, self._trial, self._result())  # pyright: ignore[reportArgumentType]

    def _result(self) -> dict[str, Any]:
        value = float(self._recorded.metric[self._place])
        return {"training_iteration": self._place + 1, "value": value if math.isfinite(value) else 1e30}


def stoppers(direction: Direction, points: int, seed: int) -> dict[str, Callable[[], Stopper]]:
    """Each pruner, made fresh; settings are the packages' defaults."""
    from optuna import pruners

    theirs: dict[str, Callable[[], Any]] = {
        "Median": pruners.MedianPruner,
        "Percentile 25": lambda: pruners.PercentilePruner(25.0),
        "Patient": lambda: pruners.PatientPruner(pruners.MedianPruner(), patience=max(1, points // 10)),
        "SuccessiveHalving": pruners.SuccessiveHalvingPruner,
        "Hyperband": lambda: pruners.HyperbandPruner(max_resource=points),
        "Wilcoxon": pruners.WilcoxonPruner,
    }
    made: dict[str, Callable[[], Stopper]] = {
        NOBODY: Nobody,
        "lodestar": lambda: Ours(knows_schedule=True, seed=seed),
        "lodestar, no rates": lambda: Ours(knows_schedule=False, seed=seed),
        "Ray ASHA": lambda: RayASHA(direction, points),
    }
    return made | {name: (lambda make=make: Optunas(make(), direction, seed)) for name, make in theirs.items()}


def replay(trials: Sequence[Recorded], stopper: Stopper) -> dict[str, Any]:
    """One order: regret at each budget, what was spent in all, and whether the best of the pool was stopped."""
    sign = 1.0 if trials[0].direction is Direction.MAX else -1.0
    worth = np.array([sign * trial.final if math.isfinite(trial.final) else -np.inf for trial in trials])
    whole = float(sum(trial.steps[-1] for trial in trials))
    winner, middle = int(np.argmax(worth)), float(np.median(worth[np.isfinite(worth)]))
    spent, kept, stopped_winner, marks, shares = 0.0, -np.inf, False, [(0.0, -np.inf)], []
    for number, trial in enumerate(trials):
        stopper.begin(trial)
        place = stop = 0
        for place in range(len(trial.steps)):
            stop = stopper.stops(place) and place + 1 < len(trial.steps)
            if stop:
                break
        stopper.end(stopped=bool(stop))
        spent += float(trial.steps[place])
        shares.append(trial.steps[place] / trial.steps[-1])
        stopped_winner |= bool(stop) and number == winner
        if not stop:
            kept = max(kept, float(worth[number]))
        marks.append((spent, kept))
    found: dict[str, Any] = {"spent": spent / whole, "winner_stopped": stopped_winner, "mean_share": np.mean(shares)}
    for budget in BUDGETS:
        best = max(value for cost, value in marks if cost <= budget * whole)
        best = middle if not math.isfinite(best) else best
        found[f"regret_{budget:g}"] = (worth[winner] - best) / max(worth[winner] - middle, 1e-12)
    for name in ("fit_seconds", "judge_seconds"):
        found[name] = getattr(stopper, name, 0.0)
    return {key: value if isinstance(value, bool) else float(value) for key, value in found.items()}


def read(path: Path) -> list[Recorded]:
    """The trials of a run store or of a table with a metric; values after a NaN stay NaN."""
    if path.is_dir():
        return [_of_run(run) for run in RunStore.open(path).iter() if len(run.metric) and len(run.lr)]
    import pyarrow.parquet

    table = {name: column.to_numpy() for name, column in _columns(pyarrow.parquet.read_table(path))}
    metric, direction = ("valid_loss", Direction.MIN) if "valid_loss" in table else ("val_accuracy", Direction.MAX)
    found = []
    for name in dict.fromkeys(table["run"].tolist()):
        rows = np.flatnonzero(table["run"] == name)
        steps = table["step"][rows].astype(np.int64)
        steps = steps + (1 - steps[0]) if steps[0] < 1 else steps
        loss, value, lr = (table[key][rows].astype(float) for key in ("train_loss", metric, "lr"))
        lr = np.where(np.isfinite(lr) & (lr >= 0), lr, 0.0)
        found.append(Recorded(str(name), steps, loss, value, lr, direction))
    return found


def _columns(table: Any) -> Iterator[tuple[str, Any]]:
    return ((name, table.column(name)) for name in table.column_names)


def _of_run(run: Run) -> Recorded:
    at = run.metric.steps
    loss, lr = (np.interp(at, series.steps, series.values) for series in (run.loss, run.lr))
    metric = run.metric.values.copy()
    if run.status is Status.DIVERGED:
        metric[-1] = np.nan
    return Recorded(run.name, at, loss, metric, lr, run.direction)


def work(paths: Sequence[Path], out: Path, orders: int, most: int, without: Sequence[str]) -> None:
    """Every task, order and pruner that has no row yet; orders outermost, so that a stop leaves all tasks covered."""
    rows = rows_of(out)
    if rows:  # without a half line that a kill may have left
        out.write_text("".join(json.dumps(row) + "\n" for row in rows))
    done = {(row["task"], row["pool"], row["order"], row["pruner"]) for row in rows}
    tasks = {path.stem: read(path) for path in paths}
    for order, (task, trials) in itertools.product(range(orders), tasks.items()):
        picked = np.random.default_rng([order, 16]).permutation(len(trials))[:most]
        pool = [trials[place] for place in picked]
        points = int(np.median([len(trial.steps) for trial in pool]))
        for name, make in stoppers(pool[0].direction, points, order).items():
            key = (task, len(pool), order, name)
            if key in done or name in without:
                continue
            row = dict(zip(("task", "pool", "order", "pruner"), key, strict=True)) | replay(pool, make())
            with out.open("a") as file:
                file.write(json.dumps(row) + "\n")


def rows_of(out: Path) -> list[dict[str, Any]]:
    """What has been written; a half line after a kill is passed over."""
    lines = out.read_text().splitlines() if out.exists() else []
    return [json.loads(line) for line in lines if line.endswith("}")]


def table(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Means for each pruner over the tasks and orders that every pruner has."""
    names = list(dict.fromkeys(row["pruner"] for row in rows))
    have = {name: {(r["task"], r["pool"], r["order"]) for r in rows if r["pruner"] == name} for name in names}
    shared = set.intersection(*have.values()) if have else set()
    picked = [row for row in rows if (row["task"], row["pool"], row["order"]) in shared]
    figures = [f"regret_{budget:g}" for budget in BUDGETS] + ["winner_stopped", "spent", "fit_seconds", "judge_seconds"]
    found = []
    for name in names:
        own = [row for row in picked if row["pruner"] == name]
        found.append({"pruner": name, "orders": len(own)} | {k: float(np.mean([r[k] for r in own])) for k in figures})
    return sorted(found, key=lambda row: row["regret_0.25"])


def main() -> None:
    """Replay what is missing, then print the table."""
    told = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    told.add_argument("runs", type=Path, nargs="*", help="tables or run stores, one a task")
    told.add_argument("--out", type=Path, required=True, help="rows, a JSON object a line; goes on where it ends")
    told.add_argument("--orders", type=int, default=20, help="random pools and orders of each task")
    told.add_argument("--most", type=int, default=200, help="trials in a pool")
    told.add_argument("--without", nargs="+", default=[], help="leave these pruners out")
    told.add_argument("--task", help="in the table: this task only")
    given = told.parse_args()
    work(given.runs, given.out, given.orders, given.most, given.without)
    rows = [row for row in rows_of(given.out) if given.task in (None, row["task"])]
    print("pruner               orders  regret at 10 %  25 %    50 %    winner stopped  spent   fits s  judging s")
    for row in table(rows):
        print(
            f"{row['pruner']:20} {row['orders']:6d}  {row['regret_0.1']:14.4f}  {row['regret_0.25']:.4f}  "
            f"{row['regret_0.5']:.4f}  {row['winner_stopped']:14.2f}  {row['spent']:.3f}  {row['fit_seconds']:6.1f}  "
            f"{row['judge_seconds']:9.1f}"
        )


if __name__ == "__main__":
    main()
