"""A schedule in words: "like wsd: 8 % warm-up, peak 3.1e-3, falls from 70 % of the run to zero"."""

import numpy as np
from numpy.typing import NDArray

from lodestar.schedules.recognise import OTHER, UNKNOWN, recognise

_TOP = 0.97  # of the peak: what counts as being at it
_NEXT_TO_NOTHING = 0.02


def describe(rates: NDArray[np.float64]) -> str:
    """One line for a curve over the whole run, each entry an equal part of it."""
    size = len(rates)
    peak = float(rates.max())
    shape = recognise(np.arange(1, size + 1), rates, size)
    at_top = np.flatnonzero(rates >= _TOP * peak)
    first, last = at_top[0] / size, (at_top[-1] + 1) / size
    parts = [f"{first:.0%} warm-up" if first >= 0.01 else "no warm-up", f"peak {peak:.2g}"]
    if last < 0.995:
        end = float(rates[-1]) / peak
        floor = "next to zero" if end < _NEXT_TO_NOTHING else f"{end:.0%} of the peak"
        parts.append(f"falls from {last:.0%} of the run to {floor}")
    else:
        parts.append("stays there")
    name = "" if shape in (OTHER, UNKNOWN) else f"like {shape}: "
    return name + ", ".join(parts)
