"""Lodestar with its default preset on the recipe's own optimizer, momentum and all, without averaged weights.

What averaging adds is the difference between this row and `lodestar`.
"""

import dataclasses

from lodestar_bench.methods import lodestar_default

METHOD = dataclasses.replace(
    lodestar_default.METHOD, name="lodestar-plain", title="Lodestar, the recipe's own optimizer", sweep_form="recipe"
)
