"""Lodestar without feedback: the default preset's plan, made before the first update, followed to the end.

What the closed loop (`lodestar`) adds is the difference to this row. It learns for itself from the same runs with the
same seed, and so arrives at the same forecaster.
"""

import dataclasses

from lodestar_bench.methods import lodestar_default

METHOD = dataclasses.replace(
    lodestar_default.METHOD, name="lodestar-open", title="Lodestar, its first plan replayed", open_loop=True
)
