"""The networks of the test models: pure functions on dictionaries of arrays."""

from lodestar.bench.models.model import Model

__all__ = ["Model"]
