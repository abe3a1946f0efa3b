"""Keeps what an item found on a task, and how it was made, in a folder that opens after a kill at any moment.

    FOLDER/table1/digits-mlp-cpu/
      made.json     the task, the command, the machine, versions, seeds, seconds; written last (format version 1)
      *.csv, *.parquet    the data

Comes in: findings. Goes out: `Made`, the same again. A folder without made.json is an item that was not finished. Draws
nothing.
"""

import hashlib
import json
from pathlib import Path
from typing import Any

from lodestar import _disk
from lodestar._errors import StoreError
from lodestar.runs import Direction
from lodestar_bench._errors import BenchError
from lodestar_bench.home import BenchFacts
from lodestar_bench.paper.context import ItemContext
from lodestar_bench.paper.item import AbstractItem, Findings, Made
from lodestar_bench.paper.sheet import read_sheet

VERSION = 1
FILE = "made.json"


def fingerprint(item: AbstractItem, context: ItemContext) -> str:
    """What the item would be made from: its own version, the task, every run of the home, the wishes of the command,
    and whatever else the item names.
    """
    records = sorted(repr(record) for record in context.results.records.values())
    others = sorted(map(str, item.inputs(context)))
    parts = [item.name, item.version, repr(context.facts.fixed), context.seed, context.seeds, *records, *others]
    return hashlib.sha256("\n".join(map(str, parts)).encode()).hexdigest()[:16]


def keep(folder: Path, facts: BenchFacts, found: Findings, record: dict[str, Any]) -> None:
    """Write the sheets, then made.json."""
    make_folder(folder)
    (folder / FILE).unlink(missing_ok=True)
    for sheet in found.sheets:
        for old in folder.glob(f"{sheet.name}.*"):
            old.unlink()
        _disk.write_whole(folder / sheet.file, sheet.to_bytes())
    data = {
        "lodestar paper": VERSION,
        "task": facts.task,
        "title": facts.title,
        "scale": facts.scale,
        "metric_name": facts.metric_name,
        "direction": str(facts.direction),
        "sheets": {sheet.name: {"file": sheet.file, "columns": sheet.kinds()} for sheet in found.sheets},
        "record": {**record, "seeds": list(found.seeds), "notes": list(found.notes)},
    }
    _disk.write_whole(folder / FILE, (json.dumps(data, indent=1) + "\n").encode())


def kept(folder: Path) -> Made | None:
    """What was kept; None where nothing was, or it was not finished."""
    try:
        data = json.loads((folder / FILE).read_text())
        if data["lodestar paper"] > VERSION:
            raise BenchError(
                f"{folder / FILE} has format {data['lodestar paper']}, this version knows {VERSION}. Fix: upgrade"
            )
        sheets = {
            name: read_sheet(name, told["file"], told["columns"], (folder / told["file"]).read_bytes())
            for name, told in data["sheets"].items()
        }
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise BenchError(f"{folder / FILE} cannot be read: {error}. Fix: make it anew with --again") from error
    return Made(
        task=data["task"],
        title=data["title"],
        scale=data["scale"],
        metric_name=data["metric_name"],
        direction=Direction(data["direction"]),
        sheets=sheets,
        record=data["record"],
    )


def make_folder(folder: Path) -> None:
    """The folder, or a sentence why not."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(_disk.cannot_write(folder, error)) from error
