"""A pruner that has really learned, once for all tests of a process."""

import functools

from tests.responding import runs

from lodestar.pruning import Pruner


@functools.cache
def learned_pruner() -> Pruner:
    """From a dozen runs of different schedules. Make a pruner of your own and give it this one's `learned`."""
    pruner = Pruner()
    pruner.learn(runs(12))
    return pruner
