"""The same steady ground as for the tests of the product."""

from tests.steady import pytest_runtest_protocol as pytest_runtest_protocol
