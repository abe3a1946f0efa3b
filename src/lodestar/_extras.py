"""Optional packages, and the line that installs them wherever this copy of Lodestar came from.

Comes in: the name of a module and of the extra that brings it. Goes out: the module, or an error that ends in a line
to type. pip records where a package was installed from (PEP 610, `direct_url.json`): a clone, a wheel, a repository.
"""

import importlib
import json
from collections.abc import Callable
from types import ModuleType
from typing import Any

from lodestar._credentials import stripped
from lodestar._errors import MissingExtra

NAME = "lodestar-lr"


def need(module: str, extra: str) -> ModuleType:
    """Import `module`, or say which extra brings it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        top = module.split(".")[0]
        raise MissingExtra(
            f"{top!r} is not installed, and this part of Lodestar needs it. Fix: {install_line(extra)}"
        ) from error


def stand_in(name: str, home: str, module: str, extra: str) -> Callable[..., Any]:
    """In the place of a function whose package is missing: `help()` shows it, and a call says what to install."""

    def function(*args: Any, **kwargs: Any) -> Any:
        need(module, extra)
        return getattr(importlib.import_module(home), name)(*args, **kwargs)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"Not here yet: {module!r} is not installed. Fix: {install_line(extra)}"
    return function


def picture(thing: object) -> str | None:
    """What a notebook shows of an object (`_repr_html_`); None, and so its plain text, where nothing can be drawn."""
    try:
        return importlib.import_module("lodestar.report.notebook").html_of(thing)
    except ImportError:
        return None


def install_line(extra: str) -> str:
    """The pip command that adds an extra to this very installation."""
    origin = _origin()
    url = stripped(str(origin.get("url", "")))  # a token to install with is in nobody's error message
    if "dir_info" in origin:
        editable = "-e " if origin["dir_info"].get("editable") else ""
        return f"pip install {editable}'{_path(url)}[{extra}]'"
    if "vcs_info" in origin:
        return f"pip install '{NAME}[{extra}] @ {origin['vcs_info']['vcs']}+{url}'"
    if url:
        return f"pip install '{NAME}[{extra}] @ {url}'"
    return f"in a clone of Lodestar, pip install -e '.[{extra}]'"


def update_line() -> str:
    """What brings a newer Lodestar."""
    origin = _origin()
    if origin.get("dir_info", {}).get("editable"):
        return f"git -C '{_path(str(origin['url']))}' pull"
    return "install a newer Lodestar: git pull in its clone, then pip install it again"


def _origin() -> dict[str, Any]:
    """Where pip installed this package from; empty where nobody wrote it down."""
    from importlib import metadata  # only when something is missing: a live job loads no more than it must

    try:
        text = metadata.distribution(NAME).read_text("direct_url.json")
    except metadata.PackageNotFoundError:
        return {}
    return json.loads(text) if text else {}


def _path(url: str) -> str:
    from urllib.parse import urlsplit
    from urllib.request import url2pathname

    return url2pathname(urlsplit(url).path)
