"""Runs from where people keep them: one file a tracker, one way of reading them all.

    tracker = open_tracker("mlflow", "http://localhost:5000")
    report = import_runs(tracker, RunStore("runs"))

Names are fetched when first used: listing the kinds loads nothing.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lodestar.importers.importing import TrackerImport as TrackerImport
    from lodestar.importers.importing import import_runs as import_runs
    from lodestar.importers.kinds import KINDS as KINDS
    from lodestar.importers.kinds import open_tracker as open_tracker
    from lodestar.importers.mapping import Choices as Choices
    from lodestar.importers.tracker import AbstractBulkTracker as AbstractBulkTracker
    from lodestar.importers.tracker import AbstractTracker as AbstractTracker
    from lodestar.importers.tracker import Listed as Listed
    from lodestar.importers.tracker import Logged as Logged

_HOMES = {
    "AbstractBulkTracker": "tracker",
    "AbstractTracker": "tracker",
    "Choices": "mapping",
    "KINDS": "kinds",
    "Listed": "tracker",
    "Logged": "tracker",
    "TrackerImport": "importing",
    "import_runs": "importing",
    "open_tracker": "kinds",
}
__all__ = [*_HOMES]  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(f"lodestar.importers.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
