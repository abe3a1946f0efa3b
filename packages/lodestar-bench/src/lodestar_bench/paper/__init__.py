"""The paper's tables and figures from a bench's homes: an item each, a file each, and one line here.

`names()` lists them in the paper's order, `item(name)` fetches one. `lodestar_bench.paper.produce` makes them.
"""

import difflib
import importlib
from collections.abc import Sequence
from pathlib import Path

from lodestar_bench._errors import BenchError
from lodestar_bench.paper.item import AbstractItem

_LINES = {
    "table1": "table1",
    "schedules": "schedules",
    "forecasts": "forecasts",
    "sharpness": "sharpness",
    "ablations": "ablations",
    "cost": "cost",
    "selection": "selection",
    "map": "latent_map",
}
ALL = "all"
_HOMES = {name: file for name, file in _LINES.items() if (Path(__file__).parent / f"{file}.py").is_file()}


def names() -> tuple[str, ...]:
    """Every item."""
    return tuple(_HOMES)


def item(name: str) -> AbstractItem:
    """An item by its name."""
    if name in _HOMES:
        return importlib.import_module(f"{__name__}.{_HOMES[name]}").ITEM
    near = difflib.get_close_matches(name, _HOMES, n=1)
    hint = f"did you mean {near[0]!r}?" if near else "name some of them, or all"
    raise BenchError(f"the paper has no item {name!r}. The items are: {', '.join(_HOMES)}. Fix: {hint}")


def items(wanted: Sequence[str]) -> list[AbstractItem]:
    """The items of a list of words, in the paper's order; `all` is all of them."""
    found = {item(word).name for word in wanted if word != ALL}
    return [item(name) for name in _HOMES if name in found or ALL in wanted]
