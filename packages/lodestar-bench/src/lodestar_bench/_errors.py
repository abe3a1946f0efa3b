"""What the bench raises on purpose, beside Lodestar's own errors (`lodestar._errors`)."""

from lodestar._errors import LodestarError


class BenchError(LodestarError):
    """A benchmark's task, data or method is missing or broken."""
