"""Modules of release one under the names they have now: the old import works, and says what to write instead.

Comes in: the name of a module that is not there. Goes out: a stand-in for the module that took its place. One finder at
the very end of the import path, asked only for what nothing else finds: cheaper to keep than a folder for every name.
"""

import importlib
import importlib.abc
import importlib.machinery
import sys
import types
import warnings
from collections.abc import Sequence

MOVED = {
    "lodestar.averaging": "lodestar.schedule_free",
    "lodestar.bench": "lodestar_bench",
    "lodestar.bench.optimisers": "lodestar_bench.optimizers",
    "lodestar.curvature": "lodestar_bench.curvature",
    "lodestar.forecaster.bands": "lodestar.forecaster.intervals",
    "lodestar.forecaster.library": "lodestar.forecaster.reference_runs",
    "lodestar.forecaster.quality": "lodestar.fitting.quality",
    "lodestar.latent": "lodestar.fitting",
    "lodestar.latent.fit": "lodestar.fitting.ensemble",
    "lodestar.latent.pieces": "lodestar.fitting.contexts",
    "lodestar.prepare": "lodestar.forecaster.preprocessing",
    "lodestar.prepare.dataset": "lodestar.fitting.dataset",
    "lodestar.prepare.survey": "lodestar.fitting.survey",
    "lodestar.runs.diverged": "lodestar.doctor.diverged",
    "lodestar.runs.doctor": "lodestar.doctor",
    "lodestar.runs.columns": "lodestar.importers.roles",
    "lodestar.runs.table": "lodestar.importers.tables",
    "lodestar.runs.words": "lodestar.importers.words",
    "lodestar.runs.shape": "lodestar.schedules.recognise",
    "lodestar.scheduler.plan": "lodestar.schedules",
    "lodestar.sweep.endings": "lodestar.sweep.events",
    "lodestar.sweep.shapes": "lodestar.schedules",
    "lodestar.sweep.local": "lodestar.sweep",
    "lodestar.sweep.place": "lodestar.sweep",
    "lodestar.sweep.ray_place": "lodestar.sweep.executors.ray",
    "lodestar.trackers": "lodestar.importers",
    "lodestar.trackers.kinds": "lodestar.importers.registry",
    "lodestar.trackers.tracker": "lodestar.importers.reader",
    "lodestar.writers": "lodestar.exporters",
    "lodestar.writers.kinds": "lodestar.exporters.writer",
}
"""Old module to new. A module below an old package is looked for below the new one."""


def new_name(old: str) -> str | None:
    """What a module of release one is called now; None if it never moved."""
    head, rest = old, ""
    while head not in MOVED:
        head, dot, last = head.rpartition(".")
        if not dot:
            return None
        rest = f".{last}{rest}"
    return MOVED[head] + rest


class _StandIn(types.ModuleType):
    """Everything is looked up in the module that took the place."""

    def __init__(self, name: str):
        super().__init__(name)
        self.__path__ = []  # a package, so that modules below it come to the finder too

    def __getattr__(self, name: str) -> object:
        return getattr(importlib.import_module(str(new_name(self.__name__))), name)


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds the modules of `MOVED`."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """A stand-in where a module was moved."""
        moved = fullname.startswith("lodestar.") and new_name(fullname) is not None
        return importlib.machinery.ModuleSpec(fullname, self, is_package=True) if moved else None

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        """The stand-in; the new module must be there."""
        new = str(new_name(spec.name))
        try:
            importlib.import_module(new)
        except ModuleNotFoundError as error:
            if error.name != new and not new.startswith(f"{error.name}."):
                raise  # it is there, and lacks something itself
            bench = ". Fix: pip install -e packages/lodestar-bench, in the clone"
            fix = bench if new.startswith("lodestar_bench") else ""
            raise ModuleNotFoundError(f"{spec.name} is now {new}, which is not installed{fix}") from error
        warnings.warn(f"{spec.name} is now {new}", DeprecationWarning, stacklevel=2)
        return _StandIn(spec.name)

    def exec_module(self, module: types.ModuleType) -> None:
        """Nothing to run."""


def install() -> None:
    """Ask this finder last. Once is enough."""
    if not any(isinstance(finder, Finder) for finder in sys.meta_path):
        sys.meta_path.append(Finder())
