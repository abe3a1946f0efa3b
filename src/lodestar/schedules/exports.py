"""A schedule in a framework's own terms: plain torch, Optax and Keras objects that run without Lodestar."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lodestar._extras import need


def lambda_lr(rates: NDArray[np.float64], optimizer: Any) -> Any:
    """A torch `LambdaLR` over a list of multipliers.

    Parameter groups keep their ratios: the first group follows the rates, the others in proportion to their lr.
    """
    schedulers = need("torch.optim.lr_scheduler", "torch")
    lead = optimizer.param_groups[0]
    start = float(lead.get("initial_lr", lead["lr"]))
    if start <= 0:
        raise ValueError(f"the first parameter group's lr must be above 0 to be scaled, got {start}. Fix: set it")
    multipliers = [rate / start for rate in rates.tolist()]
    last = len(multipliers) - 1
    return schedulers.LambdaLR(optimizer, lambda done: multipliers[min(done, last)])


def optax_schedule(rates: NDArray[np.float64]) -> Any:
    """An Optax schedule: update count (from 0) to lr."""
    jnp = need("jax.numpy", "optax")
    table = jnp.asarray(rates)
    return lambda count: table[jnp.clip(count, 0, len(table) - 1)]


def keras_schedule(rates: NDArray[np.float64]) -> Any:
    """A Keras `LearningRateSchedule`: iteration (from 0) to lr."""
    keras = need("keras", "keras")

    class FrozenSchedule(keras.optimizers.schedules.LearningRateSchedule):
        def __init__(self, rates: Sequence[float]):
            super().__init__()
            self.rates = list(rates)

        def __call__(self, step: Any) -> Any:
            table = keras.ops.convert_to_tensor(self.rates, dtype="float32")
            at = keras.ops.clip(keras.ops.cast(step, "int32"), 0, len(self.rates) - 1)
            return keras.ops.take(table, at)

        def get_config(self) -> dict[str, Any]:
            return {"rates": self.rates}

    return FrozenSchedule(rates.tolist())
