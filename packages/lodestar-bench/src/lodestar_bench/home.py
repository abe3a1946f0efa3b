"""Where a bench of one task at one scale lives on the disk, and what it remembers from one command to the next.

    OUT/digits-mlp-cpu/
      bench.json        the task, the methods that took part and the size of the table (format version 1)
      runs/             a run store: every training run (lodestar runs OUT/digits-mlp-cpu/runs lists them)
      learnings/        a run store with a one-line entry for each learning
      learned/          what methods learned: METHOD/SETTING/knowledge, and the decisions made with it
      failures.jsonl    trials that failed, and why
      lock              held while a command works here
      diary/            when the bench worked, on which machine, by which command
      published/        results of a report that were taken over (--published)

Comes in: a folder. Goes out: a plan and results, without JAX, without curves. Everything is written whole; a kill at
any moment leaves a folder that opens. Runs nothing.
"""

import contextlib
import dataclasses
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from lodestar import _disk
from lodestar._errors import StoreError
from lodestar.runs import Direction, RunStore
from lodestar.sweep.journal import held
from lodestar_bench import published
from lodestar_bench._errors import BenchError
from lodestar_bench.blocks import OWN
from lodestar_bench.diary import Diary
from lodestar_bench.entrant import Entrant
from lodestar_bench.plan import TablePlan
from lodestar_bench.results import Record, Results

VERSION = 1
FILE = "bench.json"


@dataclasses.dataclass(frozen=True)
class BenchFacts:
    """What the results of a folder rest on. `fixed` tells a changed task from the one that was run."""

    task: str
    title: str
    scale: str
    metric_name: str
    direction: Direction
    fixed: Mapping[str, Any]
    plan: TablePlan
    block: str = OWN


class Home:
    """The folder of one task at one scale."""

    def __init__(self, path: Path):
        self.path = path
        self.runs = RunStore(path / "runs")
        self.learnings = RunStore(path / "learnings")

    @classmethod
    def all(cls, out: Path) -> "list[Home]":
        """Every bench in a folder; the folder itself if it is one."""
        if (out / FILE).is_file():
            return [Home(out)]
        found = [Home(path.parent) for path in sorted(out.glob(f"*/{FILE}"))]
        if not found:
            raise BenchError(
                f"there are no results of a bench in {out}. Fix: name the folder given as --out to lodestar bench "
                "table1, or run that first"
            )
        return found

    @property
    def published(self) -> Path:
        """Where results of a report lie that were taken over."""
        return self.path / "published"

    def take_over(self, folder: Path, facts: BenchFacts) -> None:
        """Count the results of a report as made: of `folder`, or of the folder in it that is called like this one."""
        place = published.find(folder, self.path.name)
        published.take_over(place, self.published, task=facts.task, scale=facts.scale, fixed=facts.fixed)

    def knowledge(self, learning: str) -> Path:
        """The file that a learning leaves; its name is that of the trial: learn/METHOD/SETTING/SEED."""
        _, method, setting, _ = learning.split("/")
        return self.path / "learned" / method / setting / "knowledge"

    def facts(self) -> BenchFacts:
        """What was asked for so far."""
        try:
            data = json.loads((self.path / FILE).read_text())
            version = data.pop("lodestar bench")
            if version > VERSION:
                raise BenchError(f"{self.path / FILE} has format {version}, this version knows {VERSION}. Fix: upgrade")
            plan = data.pop("plan")
            people = {key: tuple(map(_entrant, plan.pop(key))) for key in ("entrants", "shapes")}
            return BenchFacts(**{**data, "direction": Direction(data["direction"])}, plan=TablePlan(**people, **plan))
        except FileNotFoundError:
            raise BenchError(f"there is no bench in {self.path} (no {FILE}). Fix: check the path") from None
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise BenchError(
                f"{self.path / FILE} cannot be read: {error}. Fix: rerun the command that made it"
            ) from error

    def remember(self, facts: BenchFacts) -> BenchFacts:
        """Keep what is asked for now; methods of earlier commands stay in the table. Refuses another task's folder."""
        if (self.path / FILE).is_file():
            before = self.facts()
            changed = [key for key in facts.fixed if before.fixed.get(key) != facts.fixed[key]]
            if changed:
                key = changed[0]
                raise BenchError(
                    f"the results in {self.path} are of another {facts.task}: {key} was {before.fixed.get(key)}, now "
                    f"it is {facts.fixed[key]}. Fix: give a new --out, so that the two are not mixed"
                )
            facts = dataclasses.replace(facts, plan=_joined(before.plan, facts.plan))
        plan = dataclasses.asdict(facts.plan)
        data = {"lodestar bench": VERSION, **dataclasses.asdict(facts), "plan": plan}
        self._make()
        _disk.write_whole(self.path / FILE, (json.dumps(data, indent=1) + "\n").encode())
        return facts

    def results(self, facts: BenchFacts, *, to_tell: bool = False) -> Results:
        """Every run and learning so far. `to_tell`: published learnings too that no further run can be made with."""
        records = {}
        for store in (self.runs, self.learnings):
            if store.exists():
                records |= {summary.name: Record.of(summary) for summary in store.list()}
        lost = [name for name in records if name.startswith("learn/") and not self.knowledge(name).is_file()]
        for name in lost:  # the entry without the file is worth nothing: it is learned again
            del records[name]
        others = published.read_records(self.published)
        if not to_tell:
            seeds = range(facts.plan.first_seed, facts.plan.first_seed + facts.plan.seeds)
            others = published.usable(others, records, seeds)
        records = others | records
        failures = {name: why for name, why in self._failures() if name not in records}
        return Results(facts.direction, facts.metric_name, records, failures)

    @contextlib.contextmanager
    def at_work(self, command: str, slots: int) -> Iterator[Diary]:
        """The right to run trials here, held by one command at a time, and the diary of it."""
        self._make()
        with held(self.path):
            diary = Diary(self.path / "diary", command, slots)
            diary.sign(now=True)
            try:
                yield diary
            finally:
                diary.sign(now=True)

    def note_failure(self, name: str, reason: str, detail: str) -> None:
        """Remember that a trial failed."""
        line = json.dumps({"trial": name, "reason": reason, "detail": detail[-2000:]}) + "\n"
        try:
            with (self.path / "failures.jsonl").open("ab") as file:
                file.write(line.encode())
        except OSError as error:
            raise StoreError(_disk.cannot_write(self.path, error)) from error

    def forget_failures(self) -> None:
        """Let failed trials be run again."""
        (self.path / "failures.jsonl").unlink(missing_ok=True)

    def _failures(self) -> Iterator[tuple[str, str]]:
        with contextlib.suppress(FileNotFoundError):
            for line in (self.path / "failures.jsonl").read_text(errors="replace").splitlines():
                with contextlib.suppress(ValueError):  # a line cut by a kill: that trial is run again
                    data = json.loads(line)
                    yield data["trial"], data["reason"]

    def _make(self) -> None:
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(_disk.cannot_write(self.path, error)) from error


def _entrant(data: Mapping[str, Any]) -> Entrant:
    return Entrant(**{**data, "grid": tuple(data["grid"])})


def _joined(before: TablePlan, now: TablePlan) -> TablePlan:
    """Now's sizes; the methods of both, in the order of first appearance, each as described now."""
    people = {entrant.name: entrant for entrant in before.entrants}
    people |= {entrant.name: entrant for entrant in now.entrants}
    return dataclasses.replace(now, entrants=tuple(people.values()), shapes=now.shapes or before.shapes)
