"""digits-mlp: a small network on scikit-learn's 1,797 handwritten digits. Needs no download; seconds a run.

Comes in: a scale. Goes out: a problem. The budget is short on purpose (few epochs of small batches): that is where
schedules differ. Laptop scale: a wider network, 100 epochs of digits shifted by up to a pixel. Not in the paper.
"""

import gzip
import importlib.util
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from lodestar_bench._errors import BenchError
from lodestar_bench.data.rows import Rows, Splits
from lodestar_bench.data.split import shuffled
from lodestar_bench.models.mlp import mlp
from lodestar_bench.models.model import Model
from lodestar_bench.problem import SCALES, TrainingRecipe
from lodestar_bench.tasks.classification import Classification, scaled
from lodestar_bench.tasks.task import Sizes, Task

RECIPE = TrainingRecipe("adamw", rates=(1e-3, 3e-3, 1e-2, 3e-2, 1e-1), weight_decay=1e-3)
SIZES = {
    "paper": Sizes(width=256, batch=16, epochs=20, looks=10),
    "laptop": Sizes(width=192, batch=16, epochs=100, looks=0.5),
    "cpu": Sizes(width=64, batch=8, epochs=3, looks=33),
    "smoke": Sizes(width=16, batch=32, epochs=2, looks=10),
}


def model(scale: str, narrower: int = 1) -> Model:
    """64 pixels, three hidden layers (smoke: two), 10 digits."""
    hidden = [SIZES[scale].width // narrower] * (2 if scale == "smoke" else 3)
    return mlp((64, *hidden, 10))


def shifted(digits: jax.Array, key: jax.Array | None) -> jax.Array:
    """While learning, each digit moved by up to a pixel each way; what comes in from outside is blank."""
    if key is None:
        return scaled(digits, None)
    pictures = jnp.pad(digits.reshape(-1, 8, 8), ((0, 0), (1, 1), (1, 1)))
    corners = jax.random.randint(key, (len(digits), 2), 0, 3)
    part = jax.vmap(lambda picture, corner: jax.lax.dynamic_slice(picture, corner, (8, 8)))
    return scaled(part(pictures, corners).reshape(-1, 64), None)


def splits() -> Splits:
    """797 digits to learn from, 500 to validate, 500 to test."""
    table = digits()
    order = shuffled(len(table), "digits-mlp")
    every = Rows((table[order, :-1] / 16.0).astype(np.float32), table[order, -1].astype(np.int32))
    return Splits(every[:797], every[797:1297], every[1297:])


def digits() -> NDArray[np.float64]:
    """64 pixels from 0 to 16 and a label in each row: the file that `load_digits` reads.

    It is read here because importing scikit-learn takes a process longer than a run at smoke scale does.
    """
    package = importlib.util.find_spec("sklearn")
    if package is None or package.origin is None:
        raise BenchError("digits-mlp needs scikit-learn's handwritten digits. Fix: pip install scikit-learn")
    with gzip.open(Path(package.origin).parent / "datasets" / "data" / "digits.csv.gz", "rt") as file:
        return np.loadtxt(file, delimiter=",")


def problem(scale: str) -> Classification:
    """The task at a scale."""
    size = SIZES[scale]
    return Classification(
        task=TASK.name,
        scale=scale,
        recipe=RECIPE,
        model=model(scale),
        splits=splits(),
        **size.lengths,
        prepare=shifted if scale == "laptop" else scaled,
        convolutional=False,
    )


TASK = Task(
    "digits-mlp", "a dense network on scikit-learn's handwritten digits", problem, model, (), model, scales=SCALES
)
