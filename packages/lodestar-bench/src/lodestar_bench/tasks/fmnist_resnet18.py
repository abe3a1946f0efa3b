"""fmnist-resnet18: ResNet-18 on Fashion-MNIST, AdamW with weight decay 1e-4.

Comes in: a scale. Goes out: a problem. Paper scale: 64 channels, the small stem, 28x28, batch 256, 60 epochs. Cpu
scale: all 18 layers, 14x14 (7x7 after a stem of stride 2), few channels, a part of the images.
"""

from lodestar_bench.data import fashion
from lodestar_bench.models.model import Model
from lodestar_bench.models.resnet import resnet
from lodestar_bench.problem import TrainingRecipe
from lodestar_bench.tasks.classification import Classification
from lodestar_bench.tasks.fashion_images import fashion_problem
from lodestar_bench.tasks.task import Sizes, Task

RATES = {
    "paper": (1e-3, 5e-3, 1e-2, 5e-2, 1e-1),  # as in the paper
    "cpu": (1e-3, 3e-3, 1e-2, 3e-2, 1e-1),
    "smoke": (1e-3, 3e-3, 1e-2, 3e-2, 1e-1),
}
SIZES = {
    "paper": Sizes(width=64, batch=256, epochs=60, looks=10, image=28, validation=5000),
    "cpu": Sizes(width=8, batch=32, epochs=2, looks=10, image=14, train=9600, validation=500, test=2000),
    "smoke": Sizes(width=4, batch=16, epochs=2, looks=10, image=14, train=320, validation=100, test=100),
}


def model(scale: str) -> Model:
    """18 layers."""
    stride = 1 if scale == "paper" else 2
    return resnet(18, channels=1, width=SIZES[scale].width, classes=10, stem_stride=stride)


def problem(scale: str) -> Classification:
    """The task at a scale."""
    recipe = TrainingRecipe("adamw", rates=RATES[scale], weight_decay=1e-4)
    return fashion_problem(TASK.name, scale, size=SIZES[scale], recipe=recipe, model=model(scale))


TASK = Task("fmnist-resnet18", "ResNet-18 on Fashion-MNIST", problem, model, (fashion.SOURCE,))
