"""A mapping written down: a small TOML file that says which quantity is which, to keep beside a project.

    loss = "train/loss"
    metric = "val/acc"
    direction = "max"
    lr = "lr-AdamW/pg1"
    step = "trainer/global_step"
    facts = {width = "model.hidden_size"}

Comes in: a path. Goes out: `Choices`, or a `TrackerError` that names the line. Options on the command line come first.
"""

import dataclasses
import re
import tomllib
from pathlib import Path

from lodestar._errors import TrackerError
from lodestar.importers.choices import Choices
from lodestar.runs.scale import FACTS

KEYS = tuple(field.name for field in dataclasses.fields(Choices))


def read_mapping(path: str | Path) -> Choices:
    """The choices in a TOML file. Any key may be left out; an unknown one is an error."""
    text = _text(Path(path))
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise TrackerError(f'{path} is not TOML: {error}. Fix: write lines such as metric = "val/acc"') from error
    return Choices(**{key: _checked(path, text, key, value) for key, value in table.items()})  # pyright: ignore


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise TrackerError(f"there is no mapping file {path}. Fix: check the path (--mapping FILE)") from error
    except (OSError, UnicodeDecodeError) as error:
        raise TrackerError(
            f"cannot read the mapping file {path}: {error}. Fix: check that it is a text file"
        ) from error


def _checked(path: str | Path, text: str, key: str, value: object) -> str | bool | dict[str, str]:
    where = f"{path}{_line(text, key)}"
    if key not in KEYS:
        raise TrackerError(f"{where}: {key!r} is no key of a mapping. Fix: use {', '.join(KEYS)}")
    if key == "rebuild_lr":
        if not isinstance(value, bool):
            raise TrackerError(f"{where}: rebuild_lr must be true or false, got {value!r}")
        return value
    if key == "facts":
        return _facts(where, value)
    if key == "total" and isinstance(value, int) and not isinstance(value, bool) and value > 0:
        return str(value)
    if not isinstance(value, str) or not value:
        raise TrackerError(f'{where}: {key} must be a text, got {value!r}. Fix: {key} = "NAME", in quotes')
    if key == "direction" and value not in ("max", "min"):
        raise TrackerError(f'{where}: direction must be "max" or "min", got {value!r}')
    return value


def _facts(where: str, value: object) -> dict[str, str]:
    if not isinstance(value, dict) or not all(isinstance(key, str | int | float) for key in value.values()):
        raise TrackerError(f'{where}: facts must be a table, got {value!r}. Fix: facts = {{width = "hidden_size"}}')
    if unknown := [name for name in value if name not in FACTS]:
        raise TrackerError(f"{where}: {unknown[0]!r} is no fact of a run's scale. Fix: use {', '.join(FACTS)}")
    return {name: str(key) for name, key in value.items()}


def _line(text: str, key: str) -> str:
    """Where a key stands, as ", line 3"; empty if it is written in an unusual way."""
    pattern = re.compile(rf"\s*(\[+\s*)?[\"']?{re.escape(key)}[\"']?\s*[=.\]]")
    for number, line in enumerate(text.splitlines(), start=1):
        if pattern.match(line):
            return f", line {number}"
    return ""
