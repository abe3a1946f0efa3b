"""Thinning: a curve with more points than pixels, drawn with fewer, its peaks and dips kept.

Comes in: x and y. Goes out: the first and last point, and the lowest and highest of each of some stretches of equal
count, so that no spike is lost. A gap (NaN) is kept as one. Knows nothing of charts.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

MOST = 300


def thin(x: ArrayLike, y: ArrayLike, most: int = MOST) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """At most `most` points and a few; all of them where there are no more than that."""
    if most < 4:
        raise ValueError(f"most must be at least 4, got {most}")
    xs, ys = np.asarray(x, float), np.asarray(y, float)
    if len(xs) != len(ys):
        raise ValueError(f"x and y must have the same length, got {len(xs)} and {len(ys)}")
    if len(xs) <= most:
        return xs, ys
    kept = np.unique(np.concatenate([[0, len(xs) - 1], *_extremes(ys, most // 2 - 1)]))
    return xs[kept], ys[kept]


def corners(x: ArrayLike, y: ArrayLike, most: int = MOST, close: float = 1e-3) -> tuple[NDArray, NDArray]:
    """For schedules: points on a straight line between their neighbours are left out, to `close` of the peak."""
    xs, ys = np.asarray(x, float), np.asarray(y, float)
    if len(xs) < 3:
        return xs, ys
    kept = np.sort(_corners(xs, ys, close * float(np.nanmax(np.abs(ys)))))
    return thin(xs[kept], ys[kept], most)


def _extremes(ys: NDArray[np.float64], buckets: int) -> list[NDArray[np.int64]]:
    """Where each stretch is lowest and highest; its middle where it holds no number at all."""
    size, longer = divmod(len(ys), buckets)  # the first ones have one more
    cut, found = longer * (size + 1), []
    for first, part in ((0, ys[:cut].reshape(longer, size + 1)), (cut, ys[cut:].reshape(buckets - longer, size))):
        starts, none = first + np.arange(len(part)) * part.shape[1], np.isnan(part)
        for filled in (np.where(none, np.inf, part).argmin(axis=1), np.where(none, -np.inf, part).argmax(axis=1)):
            found.append(starts + np.where(none.all(axis=1), part.shape[1] // 2, filled))
    return found


def _corners(xs: NDArray[np.float64], ys: NDArray[np.float64], off: float) -> NDArray[np.int64]:
    """Ramer, Douglas and Peucker's way, vertical distance, without recursion."""
    kept, todo = [0, len(xs) - 1], [(0, len(xs) - 1)]
    while todo:
        first, last = todo.pop()
        if last - first < 2:
            continue
        inner = slice(first + 1, last)
        straight = np.interp(xs[inner], [xs[first], xs[last]], [ys[first], ys[last]])
        gap = np.abs(ys[inner] - straight)
        worst = int(np.argmax(gap))
        if not gap[worst] <= off:
            middle = first + 1 + worst
            kept.append(middle)
            todo += [(first, middle), (middle, last)]
    return np.array(kept)
