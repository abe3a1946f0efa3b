"""Sharpness: the largest eigenvalue of a loss's Hessian, from Hessian-vector products alone.

    from lodestar_bench.curvature.jax import sharpness      # sharpness(loss, params, batch, seed=0)
    from lodestar_bench.curvature.torch import sharpness    # sharpness(module, loss, batch, seed=0)

Both give a `Sharpness`. `Operator` with `measure` does the same for any symmetric matrix you can multiply with, and
`stability` says how large learning rate x sharpness / 2 may be for an optimizer. Imports NumPy and SciPy only; JAX and
torch when their own file is used. Nothing here knows of schedules, runs or files.
"""

from lodestar_bench.curvature.lanczos import lanczos as lanczos
from lodestar_bench.curvature.operator import Operator as Operator
from lodestar_bench.curvature.power import power as power
from lodestar_bench.curvature.sharpness import Edge as Edge
from lodestar_bench.curvature.sharpness import Method as Method
from lodestar_bench.curvature.sharpness import Sharpness as Sharpness
from lodestar_bench.curvature.sharpness import measure as measure
