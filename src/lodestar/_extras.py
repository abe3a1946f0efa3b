"""Optional packages: one helper, one message that ends in the line to type."""

import importlib
from types import ModuleType

from lodestar._errors import MissingExtra


def need(module: str, extra: str) -> ModuleType:
    """Import `module`, or say which extra brings it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        top = module.split(".")[0]
        raise MissingExtra(
            f"{top!r} is not installed, and this part of Lodestar needs it. Fix: pip install 'lodestar-lr[{extra}]'"
        ) from error
