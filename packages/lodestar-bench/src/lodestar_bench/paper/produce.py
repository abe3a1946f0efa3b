"""Makes items from homes: only what is not there yet, or was made from other inputs; then figures, words and the page.

Comes in: items, homes, a folder for the results. Goes out: files, and an `ItemOutcome` for each item and task. An item
that cannot be made on a task is told and the rest goes on. Prints nothing: `tell` hears of progress.
"""

import contextlib
import dataclasses
import datetime
import shutil
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from lodestar._errors import LodestarError
from lodestar_bench._errors import BenchError
from lodestar_bench.diary import machine
from lodestar_bench.home import FILE, Home
from lodestar_bench.paper.context import ItemContext
from lodestar_bench.paper.item import AbstractItem
from lodestar_bench.paper.keep import fingerprint, keep, kept

SCRATCH = "unfinished"


@dataclasses.dataclass(frozen=True)
class ItemOutcome:
    """One item on one task: seconds it took now (0: it was there already), or why it could not be made."""

    item: str
    task: str
    seconds: float = 0.0
    trouble: str | None = None


@dataclasses.dataclass(frozen=True)
class Order:
    """What is wished: where the results go, which command it was, what may run at once, how many seeds, anew or not."""

    folder: Path
    command: str
    jobs: int = 1
    seed: int = 0
    seeds: int | None = None
    again: bool = False


Tell = Callable[[str, str, int, int, str], None]
"""Told of progress: item, task, done, of how many, what."""


def find_homes(out: Path, tasks: Sequence[str], scale: str) -> list[tuple[str, Home]]:
    """The homes of some tasks with the word that names each; all of that scale if none is named."""
    named = {_stem(task): task for task in tasks}
    homes = [Home(out / f"{stem}-{scale}") for stem in named]
    for task, home in zip(named.values(), homes, strict=True):
        if not (home.path / FILE).is_file():
            raise BenchError(
                f"there is no bench of {task} at scale {scale} in {out}. Fix: lodestar bench table1 --task {task} "
                f"--scale {scale} --out {out}"
            )
    if named:
        return list(zip(named.values(), homes, strict=True))
    found = [home for path in sorted(out.glob(f"*/{FILE}")) if (home := Home(path.parent)).facts().scale == scale]
    if not found:
        raise BenchError(
            f"there is no bench at scale {scale} in {out}. Fix: name the folder given as --out to table1, or run one: "
            f"lodestar bench table1 --task digits-mlp --scale {scale} --out {out}"
        )
    return [(home.facts().task, home) for home in found]


def produce(
    items: Sequence[AbstractItem], homes: Sequence[tuple[str, Home]], order: Order, tell: Tell | None = None
) -> list[ItemOutcome]:
    """Make what is missing. Figures and pages are a matter of `publish`."""
    return [_produce(item, spec, home, order, tell) for item in items for spec, home in homes]


def _produce(item: AbstractItem, spec: str, home: Home, order: Order, tell: Tell | None) -> ItemOutcome:
    folder = order.folder / item.name / home.path.name
    scratch = order.folder / SCRATCH / f"{item.name}-{home.path.name}"
    heard = tell or (lambda *told: None)
    context = ItemContext(
        home=home,
        spec=spec,
        scratch=scratch,
        jobs=order.jobs,
        seed=order.seed,
        seeds=order.seeds,
        tell=lambda done, of, what: heard(item.name, home.path.name, done, of, what),
    )
    try:
        mark = fingerprint(item, context)
        before = None if order.again else kept(folder)
        if before is not None and before.record.get("inputs") == mark:
            return ItemOutcome(item.name, home.path.name)
        seconds = _make(item, context, folder, order, mark)
    except LodestarError as error:
        return ItemOutcome(item.name, home.path.name, trouble=str(error))
    finally:
        _tidy(scratch)
    return ItemOutcome(item.name, home.path.name, seconds)


def _make(item: AbstractItem, context: ItemContext, folder: Path, order: Order, mark: str) -> float:
    """What an item leaves in its scratch folder is of these inputs only: others' leavings are cleared away."""
    sign = context.scratch / mark
    if order.again or not sign.exists():
        shutil.rmtree(context.scratch, ignore_errors=True)
    sign.mkdir(parents=True, exist_ok=True)
    context.tell(0, 1, "reading")
    began, clock = datetime.datetime.now(datetime.UTC), time.perf_counter()
    found = item.make(context)
    seconds = time.perf_counter() - clock
    record = {
        "item": item.name,
        "inputs": mark,
        "command": order.command,
        "began": began.isoformat(timespec="seconds"),
        "seconds": round(seconds, 2),
        "jobs": order.jobs,
        "seed": order.seed,
        "machine": machine(),
    }
    keep(folder, context.facts, found, record)
    shutil.rmtree(context.scratch, ignore_errors=True)
    return seconds


def _tidy(scratch: Path) -> None:
    """Remove folders without a file in them; what an unfinished item has kept for its next try stays."""
    if scratch.exists() and not any(path.is_file() for path in scratch.rglob("*")):
        shutil.rmtree(scratch, ignore_errors=True)
    with contextlib.suppress(OSError):
        scratch.parent.rmdir()


def _stem(task: str) -> str:
    """The name of a task's home: that of the task, for one from a file too."""
    if ".py:" not in task:
        return task
    from lodestar_bench import tasks

    return tasks.task(task).name
