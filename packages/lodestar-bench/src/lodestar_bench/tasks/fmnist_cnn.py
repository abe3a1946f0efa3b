"""fmnist-cnn: the paper's CNN on Fashion-MNIST, AdamW with weight decay 1e-3.

Comes in: a scale. Goes out: a problem. Paper scale: 64 and 128 channels, 28x28, 60 epochs, batch 256 (the paper does
not say for this model; 256 is that of its others). Laptop scale: 28x28, few channels, two epochs of all images. Cpu
scale: 14x14, fewer channels, a part of the images, few epochs.
"""

from lodestar_bench.data import fashion
from lodestar_bench.models.cnn import cnn
from lodestar_bench.models.model import Model
from lodestar_bench.problem import SCALES, TrainingRecipe
from lodestar_bench.tasks.classification import Classification
from lodestar_bench.tasks.fashion_images import fashion_problem
from lodestar_bench.tasks.task import Sizes, Task

RATES = {
    "paper": (1e-3, 5e-3, 1e-2, 5e-2, 1e-1),  # as in the paper
    "laptop": (3e-4, 1e-3, 3e-3, 1e-2, 3e-2),
    "cpu": (3e-4, 1e-3, 3e-3, 1e-2, 3e-2),
    "smoke": (1e-3, 3e-3, 1e-2, 3e-2, 1e-1),
}
SIZES = {
    "paper": Sizes(width=64, batch=256, epochs=60, looks=10, image=28, validation=5000),
    "laptop": Sizes(width=8, batch=64, epochs=2, looks=10, image=28, validation=2000),
    "cpu": Sizes(width=8, batch=32, epochs=2, looks=15, image=14, train=12800, validation=500, test=3000),
    "smoke": Sizes(width=4, batch=16, epochs=3, looks=10, image=14, train=320, validation=100, test=100),
}


def model(scale: str) -> Model:
    """Four convolutions, two dense layers."""
    size = SIZES[scale]
    hidden = {"paper": 256, "laptop": 64}.get(scale, 4 * size.width)
    drop = (0.0, 0.1) if scale == "laptop" else (0.25, 0.25)  # eight channels have none to spare
    return cnn(image=size.image, channels=1, width=size.width, hidden=hidden, classes=10, drop=drop)


def problem(scale: str) -> Classification:
    """The task at a scale."""
    recipe = TrainingRecipe("adamw", rates=RATES[scale], weight_decay=1e-3)
    return fashion_problem(TASK.name, scale, size=SIZES[scale], recipe=recipe, model=model(scale))


TASK = Task("fmnist-cnn", "the paper's CNN on Fashion-MNIST", problem, model, (fashion.SOURCE,), scales=SCALES)
