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

_LONGEST = 200


def flat(settings: Mapping[str, Any], separator: str = ".") -> dict[str, Scalar]:
    """Nested settings as one level, in order."""
    return dict(_flat(settings, "", separator))


def is_number(value: object) -> bool:
    """Whether that is a number as JSON knows them: True is none."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def read_json(path: Path) -> Any:
    """The data of a JSON file; NaN and Infinity are read as what they are."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise unreadable(path, error) from error


def read_yaml(path: Path) -> dict[str, Scalar]:
    """The settings of a YAML file; an empty dict where there is no such file."""
    if not path.is_file():
        return {}
    yaml = need("yaml", "cli")
    try:
        data = yaml.load(path.read_text(encoding="utf-8"), Loader=_plain_loader(yaml))
    except (OSError, ValueError) as error:
        raise unreadable(path, error) from error
    except yaml.YAMLError as error:
        raise RunError(f"{path} is no YAML: {error}. Fix: mend the file, or move it away") from error
    return flat(data) if isinstance(data, Mapping) else {}


def _flat(settings: Mapping[str, Any], prefix: str, separator: str) -> Iterator[tuple[str, Scalar]]:
    for name, value in settings.items():
        whole = f"{prefix}{name}"
        if isinstance(value, Mapping):
            yield from _flat(value, f"{whole}{separator}", separator)
        elif isinstance(value, float) and not math.isfinite(value):
            yield whole, str(value)
        elif isinstance(value, str | int | float | bool):
            yield whole, value
        elif isinstance(value, list | tuple) and (text := _as_text(value)) is not None:
            yield whole, text


def _as_text(value: list[Any] | tuple[Any, ...]) -> str | None:
    try:
        text = json.dumps(value)
    except (TypeError, ValueError):
        return None
    return text if len(text) <= _LONGEST else None


def _plain_loader(yaml: Any) -> Any:
    """PyYAML's safe loader, which passes by what is no plain data (Lightning writes Python objects by name)."""

    class PlainLoader(yaml.SafeLoader):
        pass

    PlainLoader.add_multi_constructor("tag:yaml.org,2002:python/", _passed_by)
    PlainLoader.add_multi_constructor("!", _passed_by)
    return PlainLoader


def _passed_by(loader: Any, suffix: str, node: Any) -> Any:
    if suffix in ("tuple", "list") and hasattr(node, "value") and isinstance(node.value, list):
        return loader.construct_sequence(node, deep=True)
    return None
