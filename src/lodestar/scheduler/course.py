"""A course: the learning rate from some point of the run to its end, and what is forecast to happen under it.

Nodes stand on the grid of points: node j is at the fraction (start + j) / points of the run, node 0 is the present.
Loss and metric are the forecast the course was chosen for; the guard and the hysteresis compare the live run with them.
Plain data in and out. Knows neither steps nor forecasters.
"""

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclasses.dataclass(frozen=True)
class Course:
    """Curves (nodes,) from point `start` to the end, in the user's units."""

    start: int
    lr: NDArray[np.float64]
    loss: NDArray[np.float64]
    metric: NDArray[np.float64]

    def __post_init__(self):
        if not len(self.lr) == len(self.loss) == len(self.metric) >= 1:
            raise ValueError(
                f"a course needs lr, loss and metric of one length, got {len(self.lr)}, {len(self.loss)} and "
                f"{len(self.metric)}. Fix: one value for each node"
            )

    @property
    def predicted(self) -> float:
        """The metric forecast for the end of the run."""
        return float(self.metric[-1])

    def in_gear(self, gear: float) -> "Course":
        """The same course for a job to which a rate means `gear` times as much."""
        return self if gear == 1.0 else dataclasses.replace(self, lr=self.lr / gear)

    def stretched(self, start: int, points: int, here: float) -> "Course":
        """The rest of this course, from its node position `here`, spread over the points from `start` to the end."""
        nodes = max(points - start, 0) + 1
        at = np.linspace(min(max(here, 0.0), len(self.lr) - 1.0), len(self.lr) - 1.0, nodes)
        old = np.arange(len(self.lr))
        return Course(start, *(np.interp(at, old, part) for part in (self.lr, self.loss, self.metric)))

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {"start": self.start} | {name: getattr(self, name).tolist() for name in ("lr", "loss", "metric")}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "Course":
        """Back from `to_dict`."""
        return cls(int(data["start"]), *(np.asarray(data[name], dtype=np.float64) for name in ("lr", "loss", "metric")))
