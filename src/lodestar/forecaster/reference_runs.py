"""The reference runs: the good training runs a forecaster carries along, on its grid, in model units.

They give a new job its initial plan (before the first window there is nothing to encode, so the best run's first window
is encoded, the paper's step 1) and the scheduler candidates beyond local noise. Runs are in order of merit, judged by
the model's own reconstruction of their final metric: one run's last value is mostly seed noise.
"""

import dataclasses

import numpy as np
from numpy.typing import NDArray

from lodestar.forecaster.axes import RunMask, RunValues
from lodestar.forecaster.forecast import Context


@dataclasses.dataclass(frozen=True)
class ReferenceRuns:
    """Best runs first. `merit` is the model's reading of each final metric, in the user's units."""

    names: tuple[str, ...]
    values: RunValues
    mask: RunMask
    merit: NDArray[np.float64]  # (runs,)

    def __len__(self) -> int:
        return len(self.names)

    def context(self, run: int, start: int, stop: int) -> Context:
        """Points [start, stop) of a run, as if it were live."""
        return Context(self.values[run, start:stop], self.mask[run, start:stop], start)
