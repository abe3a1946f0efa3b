"""How many digits tell figures apart: four, or more where they differ only later."""

import itertools
import math
from collections.abc import Iterable

LEAST, MOST = 4, 9


def digits(values: Iterable[float | None]) -> int:
    """Significant digits that show the smallest step between two values in two digits. None and NaN do not count."""
    known = sorted({float(value) for value in values if value is not None and math.isfinite(value)})
    steps = [after - before for before, after in itertools.pairwise(known)]
    size = max((abs(value) for value in known), default=0.0)
    apart = min((step for step in steps if step > size * 10.0**-MOST), default=0.0)
    return (
        LEAST if not apart else min(max(math.floor(math.log10(size)) - math.floor(math.log10(apart)) + 2, LEAST), MOST)
    )
