"""The state of a steered job as a small JSON file, for frameworks whose own checkpoint has no place for it.

Comes in: plain data. Goes out: one file with a format name and a version, written to a temporary name and renamed, so
that a kill leaves the old file or the new one. No pickle. This file does not know what the state means.
"""

import json
import os
from pathlib import Path
from typing import Any

from lodestar import _disk
from lodestar._extras import update_line

FORMAT = "lodestar-state"
VERSION = 1


def write_state(path: str | os.PathLike[str], state: dict[str, Any]) -> None:
    """Write `state` to `path`, whole or not at all."""
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    content = json.dumps({"format": FORMAT, "version": VERSION, "state": state})
    _disk.replace_file(target, content.encode())


def read_state(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The state in the file at `path`. A damaged, foreign or newer file is refused with a sentence."""
    source = Path(path)
    try:
        content = json.loads(source.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{source} is damaged: {error}. Fix: delete it to start the run afresh") from error
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise ValueError(f"{source} is not a Lodestar state. Fix: give another path, or delete the file")
    if content.get("version") != VERSION:
        raise ValueError(
            f"{source} has version {content.get('version')!r}, this Lodestar reads {VERSION}. Fix: {update_line()}"
        )
    return content["state"]
