"""Finds tasks by name: those of this folder, those registered, and a user's own in a file of theirs.

Comes in: "cifar100-resnet18", or "my_file.py:MyTask". Goes out: a `Task`, or its problem at a scale, built once in a
process so that compiled programs are shared. A new task of ours is one file and one line here.
"""

import difflib
import functools
import importlib
import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

from lodestar_bench import blocks
from lodestar_bench._errors import BenchError
from lodestar_bench.problem import SCALES, AbstractProblem
from lodestar_bench.tasks.classification import Classification
from lodestar_bench.tasks.task import Task

FILES = {  # the name of a task: its file in this folder
    "fmnist-cnn": "fmnist_cnn",
    "fmnist-resnet18": "fmnist_resnet18",
    "cifar100-resnet18": "cifar100_resnet18",
    "imagenet-resnet34": "imagenet_resnet34",
    "tinystories-gpt": "tinystories_gpt",
    "digits-mlp": "digits_mlp",
    "manual-gru": "manual_gru",
    "reviews-bag": "reviews_bag",
    "cifar10-mlp": "cifar10_mlp",
    "cifar10-resnet": "cifar10_resnet",
    "stories-chars": "stories_chars",
    "diamonds-mlp": "diamonds_mlp",
}
_REGISTERED: dict[str, Task] = {}


def names() -> tuple[str, ...]:
    """All tasks that can be asked for by name."""
    return (*FILES, *_REGISTERED)


def register(task: Task) -> None:
    """Add a task of your own to this process."""
    if task.name in FILES:
        raise ValueError(f"name must be new, but {task.name!r} is a task of the bench. Fix: choose another name")
    _REGISTERED[task.name] = task


def task(name: str) -> Task:
    """The task of this name; or of a file: "path/to/file.py:NAME", NAME being a `Task` or taking a scale."""
    if name in _REGISTERED:
        return _REGISTERED[name]
    if name in FILES:
        return importlib.import_module(f"lodestar_bench.tasks.{FILES[name]}").TASK
    if ":" in name:
        return _from_file(name)
    near = difflib.get_close_matches(name, names(), n=1)
    hint = f"did you mean {near[0]!r}?" if near else "name one of them, or your own as my_file.py:MyTask"
    raise BenchError(f"there is no task {name!r}. The tasks are: {', '.join(names())}. Fix: {hint}")


def problem(name: str, scale: str, block: str = blocks.OWN) -> AbstractProblem:
    """A task at a scale, its data loaded; the same object for the same arguments. `block`: under which optimizer."""
    return _problem(name, scale, block)


@functools.lru_cache(maxsize=16)
def _problem(name: str, scale: str, block: str) -> AbstractProblem:
    if block != blocks.OWN:
        found = problem(name, scale)
        return found.with_recipe(blocks.block(block).turned(found.recipe))
    if scale not in SCALES:
        raise ValueError(f"scale must be one of {', '.join(SCALES)}, got {scale!r}")
    found = task(name)
    if scale not in found.scales:
        able = [one for one in FILES if scale in task(one).scales]
        raise BenchError(
            f"task {found.name!r} has no scale {scale!r}, only {', '.join(found.scales)}. "
            f"Fix: take another scale, or a task that has this one: {', '.join(able)}"
        )
    return found.build(scale)


@functools.lru_cache(maxsize=16)
def narrower(name: str, scale: str, times: int) -> AbstractProblem:
    """The same task with a network so many times narrower."""
    known, whole = task(name), problem(name, scale)
    if known.narrow is None or not isinstance(whole, Classification):
        able = [one for one in FILES if task(one).narrow is not None]
        raise BenchError(f"task {known.name!r} has no narrower network. Fix: take {', '.join(able)}")
    return whole.with_model(known.narrow(scale, times))


def _from_file(name: str) -> Task:
    place, _, attribute = name.rpartition(":")
    found = getattr(_module(place, name), attribute, None)
    if found is None:
        raise BenchError(f"task {name!r}: {place} has no {attribute!r}. Fix: name a Task or a function of a scale")
    if isinstance(found, Task):
        return found
    if not callable(found):
        raise BenchError(
            f"task {name!r}: {attribute} must be a Task, or something called with a scale that gives an "
            f"AbstractProblem; got {type(found).__name__}"
        )
    title = (found.__doc__ or attribute).strip().splitlines()[0]
    return Task(attribute, title, cast(Callable[..., Any], found), scales=SCALES)


def _module(place: str, name: str) -> Any:
    path = Path(place).resolve()
    if path.suffix != ".py":
        raise BenchError(f"task {name!r}: {place!r} must be a Python file. Fix: my_file.py:MyTask")
    if not path.is_file():
        raise BenchError(f"task {name!r}: there is no file {path}. Fix: check the path")
    spec = importlib.util.spec_from_file_location(f"lodestar_task_{path.stem}", path)
    assert spec is not None and spec.loader is not None
    if spec.name not in sys.modules or sys.modules[spec.name].__file__ != str(path):
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module
        spec.loader.exec_module(module)
    return sys.modules[spec.name]
