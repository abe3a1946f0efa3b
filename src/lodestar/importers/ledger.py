"""What earlier imports into a store did: which runs are there, at which version, and which were left out and why.

Runs that were stored carry their key and stamp among their own facts (`origin`), so what this says of them is always
true of the store, even after a kill or a removal. Runs that were left out have nothing there; they are kept in a small
file beside the segments: without it, they are merely looked at again. Where runs are known by their names alone
(tables), nothing is remembered: a run takes the place of the one of its name.
"""

import json
import logging

from lodestar._credentials import cleaned
from lodestar._plain import from_json
from lodestar.importers.plan import FetchPlan
from lodestar.importers.reader import AbstractReader, ListedRun
from lodestar.runs.folder import AbstractFolder
from lodestar.runs.run import Scalar
from lodestar.runs.store import RunStore

log = logging.getLogger(__name__)
FILE = "left-out.json"
VERSION = 1
_TRACKER, _KEY, _STAMP = "tracker", "tracker_key", "tracker_stamp"


def identity(reader: AbstractReader) -> str:
    """What makes a key unique: the kind, and the address unless keys are unique in the world."""
    return reader.kind if reader.keys_are_global else f"{reader.kind} {reader.address}"


def origin(plan: FetchPlan, reader: AbstractReader) -> dict[str, Scalar]:
    """Facts by which a later import knows the run again."""
    if reader.names_are_keys:
        return {}
    return {_TRACKER: identity(reader), _KEY: plan.run.key, _STAMP: plan.stamp}


class Ledger:
    """The memory of one store about one reader; without a store, that of an empty one."""

    def __init__(self, store: RunStore | None, reader: AbstractReader):
        self._folder = None if store is None or reader.names_are_keys else store.folder
        self._who = identity(reader)
        self._by_name = reader.names_are_keys
        self._names: dict[str, str] = {}
        self._stamps: dict[str, str] = {}
        self._taken: set[str] = set()
        for summary in store.list(skip_damaged=True) if store is not None and store.exists() else ():
            extra = summary.facts.extra
            self._taken.add(summary.name)
            if extra.get(_TRACKER) == self._who:
                self._names[str(extra[_KEY])] = summary.name
                self._stamps[str(extra[_KEY])] = str(extra[_STAMP])
        self._left_out = {} if self._folder is None else _read(self._folder).get(self._who, {})

    def stored(self, run: ListedRun) -> bool:
        return run.name in self._taken if self._by_name else run.key in self._names

    def is_current(self, run: ListedRun, stamp: str) -> bool:
        """Whether the store holds the run just so."""
        return self._stamps.get(run.key) == stamp

    def left_out(self, run: ListedRun, stamp: str) -> str | None:
        """Why the run was left out before, if it has not changed since."""
        known, reason = self._left_out.get(run.key, ("", ""))
        return reason if known == stamp else None

    def name(self, run: ListedRun) -> str:
        """The run's name in the store: its own, with its id where another run has it. Steady from import to import."""
        if self._by_name:
            return run.name
        if run.key in self._names:
            return self._names[run.key]
        own = run.name.strip() or run.key
        tries = (own, f"{own} ({run.key[:8]})", f"{own} ({run.key})")
        name = next((name for name in tries if name not in self._taken), f"{own} ({self._who} {run.key})")
        self._names[run.key] = name
        self._taken.add(name)
        return name

    def remember_left_out(self, run: ListedRun, stamp: str, reason: str) -> None:
        """Keep why a run was left out (see `save`)."""
        self._left_out[run.key] = (stamp, reason)

    def save(self) -> None:
        """Write the file, if there is anything to write."""
        if self._folder is None:
            return
        everyone = _read(self._folder)
        if everyone.get(self._who, {}) == self._left_out:
            return
        everyone[self._who] = self._left_out
        whole = {"lodestar left out": VERSION, "runs": everyone}
        self._folder.write(FILE, json.dumps(whole, indent=1).encode() + b"\n")


def _read(folder: AbstractFolder) -> dict[str, dict[str, tuple[str, str]]]:
    """What the file says; nothing if it is not there, and nothing (with a warning) if it is damaged or newer."""
    try:
        whole = from_json(folder.read(FILE))
        if whole["lodestar left out"] != VERSION:
            raise ValueError("it was written by another version")
        return {
            cleaned(who): {key: (str(stamp), cleaned(reason)) for key, (stamp, reason) in runs.items()}
            for who, runs in whole["runs"].items()
        }
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        log.warning("%s cannot be read (%s): runs that were left out are looked at again", folder.place(FILE), error)
        return {}
