"""How an action becomes a learning rate. An action is a number in [-1, 1]; 0 leaves things as they are.

Comes in: the first rate, the run's length, then actions. Goes out: the rates of the coming updates. Two laws: a scale
on the running rate (Xu et al. 2019), a nudge on a base schedule (Xiong et al. 2022). Knows no policy and no model.
"""

import abc

import numpy as np
from numpy.typing import NDArray

from lodestar.schedules import cosine


class AbstractLaw(abc.ABC):
    """What actions do to the rate."""

    @abc.abstractmethod
    def act(self, action: float) -> None:
        """From the next update on."""

    @abc.abstractmethod
    def rates(self, first: int, count: int) -> NDArray[np.float64]:
        """The rates of these updates, as things stand."""


class Scale(AbstractLaw):
    """The rate is multiplied by 2^action, and stays within a hundredth and a hundred times of the first."""

    def __init__(self, first_rate: float, total_steps: int):
        del total_steps
        self._low, self._high = first_rate / 100, first_rate * 100
        self.rate = first_rate

    def act(self, action: float) -> None:
        """Halved at -1, doubled at 1."""
        self.rate = min(max(self.rate * 2.0**action, self._low), self._high)

    def rates(self, first: int, count: int) -> NDArray[np.float64]:
        """The running rate."""
        del first
        return np.full(count, self.rate)


class Nudge(AbstractLaw):
    """A cosine from the first rate to zero, times 0.9 to 1.1."""

    def __init__(self, first_rate: float, total_steps: int):
        self._base = cosine(first_rate, total_steps).rates
        self._factor = 1.0

    def act(self, action: float) -> None:
        """10 % below the base at -1, 10 % above at 1."""
        self._factor = 1 + 0.1 * action

    def rates(self, first: int, count: int) -> NDArray[np.float64]:
        """The base schedule, nudged."""
        return self._factor * self._base[first - 1 : first - 1 + count]
