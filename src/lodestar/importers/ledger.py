"""What earlier imports into a store did: which runs are there, at which version, and which were left out and why.

Comes in: a store and a tracker's identity. Goes out: for each key what is known, and names that are free. Runs that
were stored carry their key and stamp among their own facts, so what this says of them is always true of the store, even
after a kill or a removal. Runs that were left out have nothing there; they are kept in a small file beside the
segments. It holds no data of runs: without it, they are merely looked at again.
"""

import json
import logging

from lodestar.importers.building import KEY, STAMP, TRACKER
from lodestar.importers.tracker import AbstractTracker, Listed
from lodestar.runs import RunStore
from lodestar.runs.folder import AbstractFolder, open_folder

log = logging.getLogger(__name__)
FILE = "left-out.json"
VERSION = 1


def identity(tracker: AbstractTracker) -> str:
    """What makes a key unique: the kind, and the address unless keys are unique in the world."""
    return tracker.kind if tracker.keys_are_global else f"{tracker.kind} {tracker.address}"


class Ledger:
    """The memory of one store about one tracker."""

    def __init__(self, store: RunStore, who: str):
        self._folder = open_folder(store.address)
        self._who = who
        self._names: dict[str, str] = {}
        self._stamps: dict[str, str] = {}
        self._taken: set[str] = set()
        for summary in store.list(skip_damaged=True) if store.exists() else ():
            extra = summary.facts.extra
            self._taken.add(summary.name)
            if extra.get(TRACKER) == who:
                self._names[str(extra[KEY])] = summary.name
                self._stamps[str(extra[KEY])] = str(extra[STAMP])
        self._left_out = _read(self._folder).get(who, {})

    def stored(self, run: Listed) -> str | None:
        """The name under which a run is in the store, if it is."""
        return self._names.get(run.key)

    def is_current(self, run: Listed, stamp: str) -> bool:
        """Whether the store holds the run just so."""
        return self._stamps.get(run.key) == stamp

    def left_out(self, run: Listed, stamp: str) -> str | None:
        """Why the run was left out before, if it has not changed since."""
        known, reason = self._left_out.get(run.key, ("", ""))
        return reason if known == stamp else None

    def name(self, run: Listed) -> str:
        """The run's name in the store: its own, with its id where another run has it. Steady from import to import."""
        if run.key in self._names:
            return self._names[run.key]
        own = run.name.strip() or run.key
        tries = (own, f"{own} ({run.key[:8]})", f"{own} ({run.key})")
        name = next((name for name in tries if name not in self._taken), f"{own} ({self._who} {run.key})")
        self._names[run.key] = name
        self._taken.add(name)
        return name

    def remember_left_out(self, run: Listed, stamp: str, reason: str) -> None:
        """Keep why a run was left out (see `save`)."""
        self._left_out[run.key] = (stamp, reason)

    def save(self) -> None:
        """Write the file, if there is anything to write."""
        everyone = _read(self._folder)
        if everyone.get(self._who, {}) == self._left_out:
            return
        everyone[self._who] = self._left_out
        whole = {"lodestar left out": VERSION, "runs": everyone}
        self._folder.write(FILE, json.dumps(whole, indent=1).encode() + b"\n")


def _read(folder: AbstractFolder) -> dict[str, dict[str, tuple[str, str]]]:
    """What the file says; nothing if it is not there, and nothing (with a warning) if it is damaged or newer."""
    try:
        whole = json.loads(folder.read(FILE))
        if whole["lodestar left out"] != VERSION:
            raise ValueError("it was written by another version")
        return {
            who: {key: (str(stamp), str(reason)) for key, (stamp, reason) in runs.items()}
            for who, runs in whole["runs"].items()
        }
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        log.warning("%s cannot be read (%s): runs that were left out are looked at again", folder.place(FILE), error)
        return {}
