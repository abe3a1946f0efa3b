"""Where the arena of one task at one scale lives on the disk.

    OUT/cifar10-mlp-cpu/arena/
      arena.json        the task and its sizes (format version 1)
      runs/             a run store: sweep/..., tune/..., and final/MARK/SEED
      fits/             forecasters, by what they were fitted to and with
      decisions/        what the scheduler decided, run by run (lodestar explain reads them)
      results.jsonl     one line for each contestant that was judged
      programs/         compiled programs

Comes in: a folder. Goes out: runs, paths, results. Everything is written whole. Runs nothing.
"""

import contextlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from lodestar import _disk
from lodestar._errors import StoreError
from lodestar.runs import Direction, RunStore
from lodestar.sweep.journal import held
from lodestar_bench._errors import BenchError
from lodestar_bench.arena.result import Result

VERSION = 1
FOLDER, FILE, RESULTS = "arena", "arena.json", "results.jsonl"


class ArenaHome:
    """The folder of one task's arena."""

    def __init__(self, path: Path):
        self.path = path
        self.runs = RunStore(path / "runs")

    @classmethod
    def of(cls, out: Path, task: str, scale: str) -> "ArenaHome":
        """Beside the task's bench, if there is one."""
        return cls(out / f"{task}-{scale}" / FOLDER)

    def about(self) -> dict[str, Any]:
        """The task, its scale, metric and direction, and what must not change."""
        try:
            data = json.loads((self.path / FILE).read_text(encoding="utf-8"))
            version = data.pop("lodestar arena")
            data["direction"] = Direction(data["direction"])
        except FileNotFoundError:
            raise BenchError(
                f"there is no arena in {self.path}. Fix: lodestar bench arena --task ..., or check --out"
            ) from None
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise BenchError(f"{self.path / FILE} cannot be read: {error!r}. Fix: move the folder away") from error
        if version > VERSION:
            raise BenchError(f"{self.path / FILE} has format {version}, this version knows {VERSION}. Fix: upgrade")
        return data

    def remember(self, about: Mapping[str, Any]) -> None:
        """Keep what the task is; refuse a folder of another one."""
        if (self.path / FILE).is_file():
            before = self.about()
            for key, value in about["fixed"].items():
                was = before["fixed"].get(key)
                if was != value:
                    raise BenchError(
                        f"the arena in {self.path} is of another {about['task']}: {key} was {was}, now it is {value}. "
                        "Fix: give a new --out, so that the two are not mixed"
                    )
            return
        self.folder()
        text = json.dumps({"lodestar arena": VERSION, **about}, indent=1) + "\n"
        _disk.write_whole(self.path / FILE, text.encode())

    def results(self) -> list[Result]:
        """Every result so far, oldest first."""
        try:
            lines = (self.path / RESULTS).read_text(encoding="utf-8").splitlines()
        except FileNotFoundError:
            return []
        found = []
        for number, line in enumerate(lines, 1):
            try:
                found.append(Result.from_line(line))
            except (ValueError, KeyError, TypeError) as error:
                raise BenchError(
                    f"{self.path / RESULTS}, line {number} is no result: {error}. Fix: delete that line"
                ) from error
        return found

    def add(self, result: Result) -> None:
        """Keep a result, in place of one of the same mark."""
        kept = [one for one in self.results() if one.mark != result.mark]
        text = "".join(one.to_line() + "\n" for one in (*kept, result))
        _disk.write_whole(self.path / RESULTS, text.encode())

    def folder(self, *names: str) -> Path:
        """A folder in here, made if need be."""
        path = self.path.joinpath(*names)
        try:
            path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(_disk.cannot_write(path, error)) from error
        return path

    @contextlib.contextmanager
    def at_work(self) -> Iterator[None]:
        """The right to work here, held by one command at a time."""
        self.folder()
        with held(self.path):
            yield
