"""cifar10-mlp: a dense network on CIFAR-10 at 16x16, with few updates. Not in the paper; made for the arena.

Comes in: a scale. Goes out: a problem. Nothing but products of matrices, so that many runs go at once in one program;
at cpu scale the budget is short and the data hard, so that schedules differ. Laptop scale: 40 epochs of crops and flips
of 20,000 images, where the order of the shapes is another.
"""

import jax

from lodestar_bench.data import cifar
from lodestar_bench.models.mlp import mlp
from lodestar_bench.models.model import Model
from lodestar_bench.problem import SCALES, TrainingRecipe
from lodestar_bench.tasks.classification import Classification
from lodestar_bench.tasks.images import CIFAR10, cropped_and_flipped, standardised
from lodestar_bench.tasks.small_images import small_splits
from lodestar_bench.tasks.task import Sizes, Task

RATES = {
    "paper": (1e-4, 3e-4, 1e-3, 3e-3, 1e-2),
    "laptop": (3e-4, 1e-3, 2e-3, 4e-3, 1e-2),
    "cpu": (3e-4, 1e-3, 3e-3, 1e-2, 3e-2),
    "smoke": (1e-3, 3e-3, 1e-2, 3e-2, 1e-1),
}
SIZES = {
    "paper": Sizes(width=1024, batch=128, epochs=20, looks=10, image=32, validation=5000),
    "laptop": Sizes(width=256, batch=64, epochs=40, looks=1, image=16, train=20000, validation=2000, test=10000),
    "cpu": Sizes(width=128, batch=64, epochs=1.6, looks=25, image=16, train=40000, validation=2000, test=10000),
    "smoke": Sizes(width=16, batch=32, epochs=1, looks=10, image=8, train=640, validation=200, test=200),
}
_standardised = standardised(CIFAR10)
_augmented = cropped_and_flipped(CIFAR10, pad=2)


def model(scale: str, narrower: int = 1) -> Model:
    """Pixels, two hidden layers, ten classes."""
    size = SIZES[scale]
    width = size.width // narrower
    return mlp((3 * size.image**2, width, width, 10))


def flat(images: jax.Array, key: jax.Array | None) -> jax.Array:
    """Standardised, the pixels of an image in a row."""
    return _standardised(images, key).reshape(len(images), -1)


def augmented(images: jax.Array, key: jax.Array | None) -> jax.Array:
    """The same, cropped and mirrored at random while learning."""
    return _augmented(images, key).reshape(len(images), -1)


def problem(scale: str) -> Classification:
    """The task at a scale."""
    size = SIZES[scale]
    return Classification(
        task=TASK.name,
        scale=scale,
        recipe=TrainingRecipe("adamw", rates=RATES[scale], weight_decay=1e-2),
        model=model(scale),
        splits=small_splits(*cifar.cifar(10), size, "cifar10"),
        **size.lengths,
        convolutional=False,
        prepare=augmented if scale == "laptop" else flat,
        judged_at_once=1000,
    )


TASK = Task(
    "cifar10-mlp",
    "a dense network on CIFAR-10 at 16x16",
    problem,
    model,
    (cifar.SOURCES[10],),
    model,
    scales=SCALES,
)
