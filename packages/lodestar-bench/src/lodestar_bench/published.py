"""Results that a report left, taken over instead of made again: so that one new scheduler costs its own runs only.

Comes in: the folder of a report (`records.csv`, a line for each run and learning, and `about.json`, what they rest on).
Goes out: the same two files inside a bench's home, and their records. Results of another task, scale or size are
refused. Curves, weights and what was learned are not published: a method that learned must learn again before it makes
a run that is not there. What the figures mean is not known here.
"""

import csv
import dataclasses
import io
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from lodestar import _disk
from lodestar.runs import Status
from lodestar_bench._errors import BenchError
from lodestar_bench.diary import DiaryEntry
from lodestar_bench.results import FINAL, KEYS, LEARN, Record

VERSION = 1
ABOUT, RECORDS = "about.json", "records.csv"
HEAD = ("name", "status", *KEYS)
NEEDED = {"name", "status", "validation", "test"}


@dataclasses.dataclass(frozen=True)
class About:
    """What published results rest on: the task as it was, and who made them when."""

    task: str
    scale: str
    fixed: Mapping[str, Any]
    diary: tuple[DiaryEntry, ...] = ()


def files(about: About, records: Iterable[Record]) -> dict[str, bytes]:
    """Both files."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(HEAD)
    for record in records:
        figures = (getattr(record, key) for key in KEYS)
        writer.writerow([record.name, record.status, *("" if math.isnan(x) else f"{x:.9g}" for x in figures)])
    told = {"lodestar published": VERSION, **dataclasses.asdict(about)}
    return {RECORDS: text.getvalue().encode(), ABOUT: (json.dumps(told, indent=1) + "\n").encode()}


def find(folder: Path, home: str) -> Path:
    """Where the results of a bench (by the name of its home) lie: in the folder of that name, or the folder itself."""
    for place in (folder / home, folder):
        if (place / ABOUT).is_file() and (place / RECORDS).is_file():
            return place
    raise BenchError(
        f"there are no published results of {home} in {folder} (no {ABOUT} with {RECORDS}). Fix: name the folder that "
        "lodestar bench report wrote, or the one above it"
    )


def take_over(place: Path, into: Path, *, task: str, scale: str, fixed: Mapping[str, Any]) -> None:
    """Copy the results at `place` into a home, if they are of the same task."""
    about, data = read_about(place), (place / RECORDS).read_bytes()
    for name, theirs, ours in (("task", about.task, task), ("scale", about.scale, scale)):
        if theirs != ours:
            raise BenchError(f"the published results in {place} are of {name} {theirs!r}, not {ours!r}")
    changed = [key for key in fixed if about.fixed.get(key) != fixed[key]]
    if changed:
        key = changed[0]
        raise BenchError(
            f"the published results in {place} are of another {task}: {key} was {about.fixed.get(key)}, now it is "
            f"{fixed[key]}. Fix: leave out --published, and every run is made"
        )
    _parsed(place / RECORDS, data.decode(errors="replace"))  # before anything is written
    into.mkdir(parents=True, exist_ok=True)
    _disk.write_whole(into / RECORDS, data)
    _disk.write_whole(into / ABOUT, (place / ABOUT).read_bytes())


def read_records(folder: Path) -> dict[str, Record]:
    """The records by name; none if nothing was taken over."""
    path = folder / RECORDS
    return _parsed(path, path.read_text()) if path.is_file() else {}


def read_about(folder: Path) -> About:
    """What they rest on."""
    path = folder / ABOUT
    try:
        told = json.loads(path.read_text())
        version = told.pop("lodestar published")
        if version > VERSION:
            raise BenchError(f"{path} has format {version}, this version knows {VERSION}. Fix: upgrade")
        return About(**{**told, "diary": tuple(DiaryEntry(**one) for one in told["diary"])})
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise BenchError(f"{path} cannot be read: {error}. Fix: get the report anew") from error


def usable(published: Mapping[str, Record], there: Iterable[str], seeds: Sequence[int]) -> dict[str, Record]:
    """Without learnings that left final runs of `seeds` to be made: their knowledge is needed, and it is not here."""
    known = {*published, *there}

    def serves(name: str) -> bool:
        stage, method, setting, _ = name.split("/", 3)
        return stage != LEARN or all(f"{FINAL}/{method}/{setting}/{seed}" in known for seed in seeds)

    return {name: record for name, record in published.items() if serves(name)}


def _parsed(path: Path, text: str) -> dict[str, Record]:
    rows = csv.DictReader(io.StringIO(text))
    if absent := sorted(NEEDED - set(rows.fieldnames or ())):
        raise BenchError(f"{path}: the first line must name {', '.join(absent)} too. Fix: get the report anew")
    known, found = [key for key in KEYS if key in (rows.fieldnames or ())], {}
    for number, row in enumerate(rows, 2):
        try:
            figures = {key: float(row[key]) if row[key] else math.nan for key in known}
            found[row["name"]] = Record(row["name"], Status(row["status"]), **figures)
        except (ValueError, TypeError) as error:
            raise BenchError(f"{path}, line {number}: {error}. Fix: get the report anew") from error
    return found
