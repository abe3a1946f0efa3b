"""Methods under test: a file each, and one line here. `names()` lists them, `method(name)` fetches one.

Your own is a file too: `method("my_file.py:MyMethod")` takes any `AbstractMethod` (a class, or an instance).
"""

import difflib
import functools
import importlib
import importlib.util
from pathlib import Path
from typing import Any

from lodestar_bench._errors import BenchError
from lodestar_bench.method import AbstractMethod

_HOMES = {
    "constant": "constant",
    "cosine": "cosine",
    "onecycle": "onecycle",
    "step": "step",
    "hypergradient": "hypergradient",
    "schedule-free": "schedule_free",
    "rl-xu": "rl_xu",
    "rl-graph": "rl_graph",
    "linear": "linear",
    "wsd": "wsd",
    "plateau": "plateau",
    "greedy": "greedy",
    "prodigy": "prodigy",
    "mechanic": "mechanic",
    "averaged": "averaged_flat",
    "lodestar-paper": "lodestar_paper",
    "lodestar-plain": "lodestar_plain",
    "lodestar-open": "lodestar_open",
    "lodestar-tune": "lodestar_tune",
    "lodestar-tune-steered": "lodestar_tune_steered",
    "lodestar": "lodestar_default",
}


def names() -> tuple[str, ...]:
    """Every method that comes with Lodestar: the paper's baselines first, then today's, then Lodestar."""
    return tuple(_HOMES)


@functools.cache
def method(name: str) -> AbstractMethod:
    """A method by its name, or from your own file as `path/to/file.py:Name`."""
    if name in _HOMES:
        return importlib.import_module(f"{__name__}.{_HOMES[name]}").METHOD
    if ".py:" in name:
        return _from_file(name)
    near = difflib.get_close_matches(name, _HOMES, n=1)
    hint = f"did you mean {near[0]!r}?" if near else "name one of them, or your own as my_file.py:MyMethod"
    raise BenchError(f"there is no method {name!r}. The methods are: {', '.join(_HOMES)}. Fix: {hint}")


def _from_file(name: str) -> AbstractMethod:
    file, wanted = name.rsplit(":", 1)
    path = Path(file).resolve()
    if not path.is_file():
        raise BenchError(f"method {name!r}: there is no file {path}. Fix: give its path, as my_file.py:MyMethod")
    spec = importlib.util.spec_from_file_location(f"lodestar_method_{path.stem}", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise BenchError(f"method {name!r}: {path} cannot be imported: {error!r}. Fix: mend that file") from error
    return _checked(name, getattr(module, wanted, None))


def _checked(name: str, found: Any) -> AbstractMethod:
    if isinstance(found, type) and issubclass(found, AbstractMethod):
        try:
            found = found()
        except TypeError as error:
            raise BenchError(
                f"method {name!r} cannot be made without arguments: {error}. Fix: name an instance"
            ) from None
    if not isinstance(found, AbstractMethod):
        what = "no such name in that file" if found is None else f"it is a {type(found).__name__}"
        raise BenchError(
            f"method {name!r} must be a lodestar_bench.method.AbstractMethod: {what}. Fix: derive your class from it"
        )
    return found
