"""A task as a user would bring it: the digits at smoke scale, under another name."""

from lodestar_bench.tasks import digits_mlp
from lodestar_bench.tasks.classification import Classification


def my_digits(scale: str) -> Classification:
    """My digits."""
    found = digits_mlp.problem(scale)
    found.task = "my-digits"
    return found
