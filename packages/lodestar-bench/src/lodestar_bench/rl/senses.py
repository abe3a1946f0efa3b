"""What a learned controller sees of a run: a short list of numbers at each decision.

Comes in: the losses since the last decision, a look at the model, the rate, how far the run is. Goes out: one vector,
always finite. `Summary` is the list of Xu et al. 2019; the layers of Xiong et al. 2022 are in `layers.py`. Knows no
policy.
"""

import abc
import dataclasses

import numpy as np
from numpy.typing import NDArray

from lodestar_bench.method import AbstractLook
from lodestar_bench.problem import AbstractProblem

FAR = 1e3  # what stands in for a number that is not finite, or larger than this


@dataclasses.dataclass(frozen=True)
class Sensed:
    """A place in a run."""

    loss: float
    rate: float
    progress: float
    look: AbstractLook


class AbstractSenses(abc.ABC):
    """Turns moments of one run into vectors; remembers what it needs from the moment before."""

    size: int

    @abc.abstractmethod
    def see(self, moment: Sensed) -> NDArray[np.float32]:
        """What there is to see now."""


class Summary(AbstractSenses):
    """Seven numbers: training loss, validation loss, variance of the predictions and of their change since the last
    decision, mean and variance of the output weights, and the (decimal logarithm of the) learning rate."""

    size = 7

    def __init__(self, problem: AbstractProblem):
        self._problem = problem
        self._outputs: NDArray | None = None

    def see(self, moment: Sensed) -> NDArray[np.float32]:
        """As Xu et al. list them."""
        outputs = np.asarray(moment.look.outputs(), dtype=np.float64)
        before = np.zeros_like(outputs) if self._outputs is None else self._outputs
        weights = np.asarray(self._problem.output_weights(moment.look.params), dtype=np.float64)
        self._outputs = outputs
        return tame(
            [
                moment.loss,
                moment.look.validation().loss,
                outputs.var(),
                (outputs - before).var(),
                weights.mean(),
                weights.var(),
                np.log10(max(moment.rate, 1e-30)),
            ]
        )


def tame(values: list[float] | NDArray) -> NDArray[np.float32]:
    """Finite and bounded: a run that blew up must not blow up its controller."""
    return np.nan_to_num(np.clip(np.asarray(values, dtype=np.float64), -FAR, FAR), nan=FAR).astype(np.float32)
