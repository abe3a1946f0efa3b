"""Testing: contracts and stand-ins that ship with the package, for our tests and for those who extend it."""

from lodestar.testing.forecasters import random_forecaster as random_forecaster
from lodestar.testing.forecasters import random_weights as random_weights

_CONTRACTS = {"AdapterContract": "adapter_contract", "ReaderContract": "reader_contract", "Written": "reader_contract"}
_RELEASE_ONE = {"TrackerContract": "ReaderContract"}


def __getattr__(name: str):
    name = _RELEASE_ONE.get(name, name)
    if name in _CONTRACTS:  # these need pytest, which a training job has not
        import importlib
        import sys

        import pytest

        module = f"lodestar.testing.{_CONTRACTS[name]}"
        if module not in sys.modules:
            pytest.register_assert_rewrite(module)  # so that a failure shows its values
        return getattr(importlib.import_module(module), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
