"""Testing: contracts and stand-ins that ship with the package, for our tests and for those who extend it."""

from lodestar.testing.forecasters import random_forecaster as random_forecaster
from lodestar.testing.forecasters import random_weights as random_weights


def __getattr__(name: str):
    if name == "AdapterContract":  # needs pytest, which a training job has not
        import pytest

        pytest.register_assert_rewrite("lodestar.testing.adapter_contract")  # so that a failure shows its values
        from lodestar.testing.adapter_contract import AdapterContract

        return AdapterContract
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
