"""Runs: what training jobs left behind, as immutable data.

Names are fetched when first used: a live job needs no store.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lodestar.runs.note import Note as Note
    from lodestar.runs.note import NoteKind as NoteKind
    from lodestar.runs.run import Direction as Direction
    from lodestar.runs.run import Facts as Facts
    from lodestar.runs.run import Run as Run
    from lodestar.runs.run import Scalar as Scalar
    from lodestar.runs.run import Series as Series
    from lodestar.runs.run import Status as Status
    from lodestar.runs.runset import RunSet as RunSet
    from lodestar.runs.store import RunStore as RunStore
    from lodestar.runs.summary import RunSummary as RunSummary

_HOMES = {
    **dict.fromkeys(("Note", "NoteKind"), "note"),
    **dict.fromkeys(("Direction", "Facts", "Run", "Scalar", "Series", "Status"), "run"),
    "RunSet": "runset",
    "RunStore": "store",
    "RunSummary": "summary",
}
__all__ = [*_HOMES]  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(f"lodestar.runs.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
