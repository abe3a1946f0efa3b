"""The networks of the test models: pure functions on dictionaries of arrays."""

from lodestar_bench.models.model import Model

__all__ = ["Model"]
