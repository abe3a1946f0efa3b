"""A run's config: nested settings made flat (`optimizer.lr`), from YAML and JSON files beside the logs.

What is no plain value (None, objects, long lists) is left out. Python objects are never read from YAML.
"""

import json
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from lodestar._errors import RunError
from lodestar._extras import need
from lodestar.importers.readers._folder import unreadable
from lodestar.runs import Scalar
from lodestar.runs.note import Note, NoteKind

_LONGEST = 200
_MOST_BYTES = 1 << 20
_DEEPEST = 100


def leaves(settings: Mapping[str, Any], separator: str = ".", prefix: str = "") -> Iterator[tuple[str, Any]]:
    """What is no mapping itself, each with its whole name: {"opt": {"lr": 1}} holds ("opt.lr", 1)."""
    for name, value in settings.items():
        if isinstance(value, Mapping):
            yield from leaves(value, separator, f"{prefix}{name}{separator}")
        else:
            yield f"{prefix}{name}", value


def flat(settings: Mapping[str, Any]) -> dict[str, Scalar]:
    """Nested settings as one level, in order."""
    plain = ((name, _plain(value)) for name, value in leaves(settings))
    return {name: value for name, value in plain if value is not None}


def is_number(value: object) -> bool:
    """Whether that is a number as JSON knows them: True is none."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def read_json(path: Path) -> Any:
    """The data of a JSON file; NaN and Infinity are read as what they are."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise unreadable(path, error) from error


def read_yaml(path: Path) -> Any:
    """The data of a YAML file, bounded: an alias may stand for itself, or for a million values."""
    yaml = need("yaml", "cli")
    try:
        text = path.read_bytes()
        if len(text) > _MOST_BYTES:
            raise ValueError(f"it has {len(text):,} bytes, and {_MOST_BYTES:,} are read at the most")
        _check_depth(yaml, text.decode())
        data = yaml.load(text.decode(), Loader=_plain_loader(yaml))
        _check_expanded(data, 10 * len(text) + 1000)
    except (OSError, ValueError, RecursionError) as error:
        raise unreadable(path, error) from error
    except yaml.YAMLError as error:
        raise RunError(f"{path} is no YAML: {error}. Fix: mend the file, or move it away") from error
    return data


def read_settings(path: Path) -> tuple[dict[str, Scalar], tuple[Note, ...]]:
    """The settings in a JSON or YAML file beside a log: none if there is no file, none and a note if it is damaged."""
    if not path.is_file():
        return {}, ()
    try:
        data = read_json(path) if path.suffix == ".json" else read_yaml(path)
        return flat(data) if isinstance(data, Mapping) else {}, ()
    except (RunError, RecursionError) as error:
        why = error if isinstance(error, RunError) else unreadable(path, error)
        return {}, (Note(f"its settings are not known: {why}", NoteKind.LEFT_OUT),)


def _check_depth(yaml: Any, text: str) -> None:
    """`ValueError` before a deep file is loaded: libyaml's loader ends the whole process there."""
    depth = 0
    for event in yaml.parse(text, Loader=_plain_loader(yaml)):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > _DEEPEST:
            raise ValueError(f"it is nested more than {_DEEPEST} deep")


def _check_expanded(data: Any, most: int) -> None:
    """`ValueError` where aliases make a file say far more than it holds."""
    waiting, seen = [data], 0
    while waiting:
        item = waiting.pop()
        seen += 1
        if seen > most:
            raise ValueError("its aliases repeat themselves without end")
        waiting += item.values() if isinstance(item, Mapping) else item if isinstance(item, list | tuple) else ()


def _plain(value: Any) -> Scalar | None:
    if isinstance(value, str | int | float):
        return str(value) if isinstance(value, float) and not math.isfinite(value) else value
    try:
        text = json.dumps(value) if isinstance(value, list | tuple) else None
    except (TypeError, ValueError):
        return None
    return text if text is None or len(text) <= _LONGEST else None


def _plain_loader(yaml: Any) -> Any:
    """PyYAML's safe loader, which passes by what is no plain data (Lightning writes Python objects by name)."""

    class PlainLoader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
        pass

    PlainLoader.add_multi_constructor("tag:yaml.org,2002:python/", _passed_by)
    PlainLoader.add_multi_constructor("!", _passed_by)
    return PlainLoader


def _passed_by(loader: Any, suffix: str, node: Any) -> Any:
    if suffix in ("tuple", "list") and hasattr(node, "value") and isinstance(node.value, list):
        return loader.construct_sequence(node, deep=True)
    return None
