"""Blocks: the optimizers under which schedules are compared, like with like.

Comes in: a task's own recipe. Goes out: the recipe of a block. Within a block every method makes its updates with the
same optimizer, so that what is claimed for a schedule is not the merit of an optimizer. Methods that bring an optimizer
of their own (schedule-free, Mechanic, Prodigy, hypergradient descent) are no part of a comparison within a block.
"""

import dataclasses
from collections.abc import Callable

from lodestar_bench._errors import BenchError
from lodestar_bench.problem import TrainingRecipe

OWN = "own"
_SGD_RATES, _SGD_DECAY = 30.0, 5e-4  # momentum 0.9 wants a rate that many times Adam's; the usual weight decay


@dataclasses.dataclass(frozen=True)
class Block:
    """One optimizer for all: how a recipe becomes that of the block."""

    name: str
    title: str
    turned: Callable[[TrainingRecipe], TrainingRecipe]


def _sgd(recipe: TrainingRecipe) -> TrainingRecipe:
    rates = tuple(_SGD_RATES * rate for rate in recipe.rates)
    return dataclasses.replace(recipe, optimizer="sgd", rates=rates, weight_decay=_SGD_DECAY)


_ALL = (
    Block(OWN, "the recipe's own optimizer (AdamW, Adam)", lambda recipe: recipe),
    Block("sgd", "SGD with Nesterov momentum 0.9", _sgd),
    Block("averaged", "schedule-free averaging", lambda recipe: dataclasses.replace(recipe, averaged=True)),
)
BLOCKS = {block.name: block for block in _ALL}


def block(name: str) -> Block:
    """The block of this name."""
    if name not in BLOCKS:
        raise BenchError(f"there is no block {name!r}. Fix: take one of {', '.join(BLOCKS)}")
    return BLOCKS[name]
