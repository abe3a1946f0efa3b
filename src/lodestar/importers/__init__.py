"""Runs from where people keep them: one file a source, tracker or table, and one way of reading them all.

    reader = open_reader("mlflow", "http://localhost:5000")
    report = import_runs(reader, RunStore("runs"))

Names are fetched when first used: listing the readers loads nothing.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lodestar.importers.choices import Choices as Choices
    from lodestar.importers.importing import RunImport as RunImport
    from lodestar.importers.importing import import_runs as import_runs
    from lodestar.importers.reader import AbstractBulkReader as AbstractBulkReader
    from lodestar.importers.reader import AbstractReader as AbstractReader
    from lodestar.importers.reader import ListedRun as ListedRun
    from lodestar.importers.reader import LoggedCurve as LoggedCurve
    from lodestar.importers.registry import READERS as READERS
    from lodestar.importers.registry import open_reader as open_reader
    from lodestar.importers.tables import import_tables as import_tables
    from lodestar.importers.tables import read_tables as read_tables

_HOMES = {
    "Choices": "choices",
    **dict.fromkeys(("RunImport", "import_runs"), "importing"),
    **dict.fromkeys(("AbstractBulkReader", "AbstractReader", "ListedRun", "LoggedCurve"), "reader"),
    **dict.fromkeys(("READERS", "open_reader"), "registry"),
    **dict.fromkeys(("import_tables", "read_tables"), "tables"),
}
_RELEASE_ONE = {
    "AbstractBulkTracker": "AbstractBulkReader",
    "AbstractTracker": "AbstractReader",
    "KINDS": "READERS",
    "Listed": "ListedRun",
    "Logged": "LoggedCurve",
    "TrackerImport": "RunImport",
    "open_tracker": "open_reader",
}
__all__ = [*_HOMES]  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    name = _RELEASE_ONE.get(name, name)
    if name in _HOMES:
        return getattr(importlib.import_module(f"lodestar.importers.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
