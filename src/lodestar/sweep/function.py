"""Finds a training function by its name, and checks all of the contract in `trial.py` that needs no call."""

import difflib
import functools
import importlib
import importlib.util
import inspect
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from lodestar._errors import SweepError

GIVEN = ("schedule", "seed", "total_steps", "report", "settings")
FLAGS = {"size": "sizes", "batch_size": "batches"}
EXAMPLE = "def train(*, schedule, seed, total_steps, report)"


@functools.cache
def find(name: str) -> Callable[..., Any]:
    """The function called "module:name" or "file.py:name"; the module is imported."""
    home, colon, attribute = name.rpartition(":")
    if not colon or not home or not attribute:
        raise SweepError(f"{name!r} names no function. Fix: write module:name, such as my_module:train")
    module = _from_file(Path(home)) if home.endswith(".py") else _from_module(home)
    target: Any = module
    for part in attribute.split("."):
        if not hasattr(target, part):
            near = difflib.get_close_matches(part, [n for n in dir(target) if callable(getattr(target, n))], n=3)
            perhaps = f" (perhaps {' or '.join(near)})" if near else ""
            raise SweepError(f"{home} has no {attribute!r}. Fix: check the name{perhaps}")
        target = getattr(target, part)
    return target


def name_of(function: Callable[..., Any]) -> str:
    """The name by which another process finds `function`; it must stand at the top of a module."""
    module = inspect.getmodule(function)
    path = getattr(function, "__qualname__", "")
    if module is None or not path or "<" in path:
        raise SweepError(
            f"{getattr(function, '__name__', function)!r} cannot be found by other processes. Fix: define it with def "
            "at the top of a module, not as a lambda or inside another function"
        )
    if module.__name__ != "__main__":
        return f"{module.__name__}:{path}"
    file = getattr(module, "__file__", None)
    if file is None or not Path(file).is_file():
        raise SweepError(
            f"{path} lives in a notebook or a prompt. Fix: put it into a file, my_module.py, and import it"
        )
    return f"{Path(file).resolve()}:{path}"


def check(name: str, function: Callable[..., Any], *, sets_rate: bool, scales: Sequence[str] = ()) -> None:
    """Refuse what cannot be called with the five keywords, and `scales`. `sets_rate`: the sweep sets the rate."""
    if not callable(function):
        raise SweepError(f"{name} is a {type(function).__name__}, not a function. Fix: name a function: {EXAMPLE}")
    if inspect.iscoroutinefunction(function) or inspect.isgeneratorfunction(function):
        raise SweepError(f"{name} is async or a generator. Fix: make it a plain function: {EXAMPLE}")
    parameters = inspect.signature(function).parameters.values()
    needs = [p for p in parameters if p.default is p.empty and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    strange = [p.name for p in needs if p.name not in (*GIVEN, *scales) or p.kind is p.POSITIONAL_ONLY]
    if strange:
        raise SweepError(
            f"{name} wants {strange[0]!r}, which a sweep cannot give: it gives {', '.join(GIVEN)}, as keywords. "
            f"Fix: {_cure(strange[0])}; {EXAMPLE}"
        )
    for wanted in scales:
        if wanted not in taken(function, scales):
            raise SweepError(
                f"{name} has no parameter {wanted!r}, so every trial would be of one {wanted.replace('_', ' ')}. "
                f"Fix: def train(*, schedule, seed, total_steps, report, {wanted}), or leave out --{FLAGS[wanted]}"
            )
    for wanted in ("report", "schedule") if sets_rate else ("report",):
        if wanted not in taken(function):
            raise SweepError(f"{name} has no parameter {wanted!r}, so the sweep would learn nothing. Fix: {EXAMPLE}")


def _cure(name: str) -> str:
    flag = f"--{FLAGS[name]} 16,8,4, or " if name in FLAGS else ""
    return f"{flag}give {name!r} a default, or read it from settings"


def taken(function: Callable[..., Any], scales: Sequence[str] = ()) -> tuple[str, ...]:
    """Which of the five keywords, and of `scales`, `function` takes."""
    parameters = inspect.signature(function).parameters
    if any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
        return (*GIVEN, *scales)
    return tuple(name for name in (*GIVEN, *scales) if name in parameters)


def planned_steps(name: str) -> int:
    """The length of a run that the function names itself: the default of its `total_steps`."""
    parameter = inspect.signature(find(name)).parameters.get("total_steps")
    if parameter is None or not isinstance(parameter.default, int) or parameter.default < 1:
        raise SweepError(
            f"how many updates has a run of {name}? Fix: --steps N (total_steps=N), or give its parameter total_steps "
            "a default"
        )
    return parameter.default


def _from_module(name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and (name == error.name or name.startswith(error.name + ".")):
            raise SweepError(
                f"there is no module {name!r} here or among the installed packages. Fix: run this in the folder of "
                f"{name.split('.')[0]}.py, or name the file: path/to/{name.split('.')[-1]}.py:function"
            ) from error
        raise SweepError(
            f"{name} cannot be imported: it needs {error.name!r}, which is not installed. Fix: pip install it"
        ) from error
    except Exception as error:
        raise SweepError(f"{name} cannot be imported: {_told(error)}. Fix: python -c 'import {name}'") from error


def _from_file(path: Path) -> ModuleType:
    if not path.is_file():
        raise SweepError(f"there is no file {path}. Fix: check the path")
    name = f"lodestar_sweep_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    sys.path.insert(0, str(path.parent.resolve()))
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise SweepError(f"{path} cannot be imported: {_told(error)}. Fix: python {path}") from error
    return module


def _told(error: Exception) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
