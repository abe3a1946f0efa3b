"""The state of a steered job as a small JSON file, for frameworks whose own checkpoint has no place for it.

Comes in: plain data. Goes out: one file with a format name and a version, written to a temporary name and renamed, so
that a kill or a full disk leaves the old file or the new one. No pickle. This file does not know what the state means.
"""

import contextlib
import json
import logging
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from lodestar import _disk
from lodestar._extras import update_line
from lodestar._plain import from_json, shown

FORMAT = "lodestar-state"
VERSION = 1
_failing: set[Path] = set()
_log = logging.getLogger("lodestar.adapters")


def write_state(path: str | os.PathLike[str], state: dict[str, Any]) -> bool:
    """Write `state` to `path`, whole or not at all; whether it was.

    A full disk must not end a training job: it is a warning, once until there is room again, and the last good file
    stays.
    """
    target = Path(path)
    content = json.dumps({"format": FORMAT, "version": VERSION, "state": state})
    try:
        _disk.make_folder(target.parent)
        _disk.replace_file(target, content.encode())
    except OSError as error:
        if target not in _failing:
            _log.warning("the state %s was not saved, training goes on: %s", target, _disk.cannot_write(target, error))
        _failing.add(target)
        return False
    _failing.discard(target)
    return True


def read_state(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The state in the file at `path`. A damaged, foreign or newer file is refused with a sentence."""
    source = Path(path)
    try:
        content = from_json(_disk.read_whole(source))
    except ValueError as error:
        raise ValueError(f"{source} is damaged: {error}. Fix: delete it to start the run afresh") from error
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise ValueError(f"{source} is not a Lodestar state. Fix: give another path, or delete the file")
    if content.get("version") != VERSION:
        raise ValueError(
            f"{source} has version {content.get('version')!r}, this Lodestar reads {VERSION}. Fix: {update_line()}"
        )
    if not isinstance(content.get("state"), dict):
        raise ValueError(f"{source} is damaged: it holds no state. Fix: delete it to start the run afresh")
    return content["state"]


@contextlib.contextmanager
def refusing_damage() -> Iterator[None]:
    """Around reading a state, before any of it is applied: what is missing or of another kind is refused."""
    try:
        yield
    except Exception as error:
        raise ValueError(f"the state is damaged: {shown(error)}. Fix: resume from another checkpoint") from error
