"""cifar10-resnet: a small residual network on a part of CIFAR-10, with batch norm, crops and flips, for twenty epochs.

Comes in: a scale. Goes out: a problem. Ten layers (one block in each of four groups). Laptop scale: 16x16 images, 8x8
after a stem of stride 2, convolutions as products, 12,800 images seen twenty times: many epochs of augmented data, as
most people train on images. Not in the paper.
"""

from lodestar_bench.data import cifar
from lodestar_bench.models import layers
from lodestar_bench.models.model import Model
from lodestar_bench.models.resnet import resnet
from lodestar_bench.problem import SCALES, TrainingRecipe
from lodestar_bench.tasks.classification import Classification
from lodestar_bench.tasks.images import CIFAR10, cropped_and_flipped
from lodestar_bench.tasks.small_images import small_splits
from lodestar_bench.tasks.task import Sizes, Task

RATES = {
    "paper": (3e-4, 1e-3, 3e-3, 1e-2, 3e-2),
    "laptop": (1e-3, 3e-3, 1e-2, 3e-2, 1e-1),
    "cpu": (1e-3, 3e-3, 1e-2, 3e-2, 1e-1),
    "smoke": (1e-3, 3e-3, 1e-2, 3e-2, 1e-1),
}
SIZES = {
    "paper": Sizes(width=64, batch=128, epochs=30, looks=5, image=32, validation=5000),
    "laptop": Sizes(width=16, batch=64, epochs=20, looks=2, image=16, train=12800, validation=2000, test=10000),
    "cpu": Sizes(width=8, batch=64, epochs=10, looks=2, image=16, train=6400, validation=1000, test=3000),
    "smoke": Sizes(width=4, batch=16, epochs=2, looks=10, image=16, train=320, validation=100, test=100),
}


def model(scale: str) -> Model:
    """Ten layers."""
    stride, conv = (1, layers.conv) if scale == "paper" else (2, layers.conv_as_product)
    return resnet(10, channels=3, width=SIZES[scale].width, classes=10, stem_stride=stride, conv=conv)


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
        convolutional=scale == "paper",
        prepare=cropped_and_flipped(CIFAR10, pad=size.image // 8),
        judged_at_once=1000,
    )


TASK = Task(
    "cifar10-resnet",
    "a small residual network on a part of CIFAR-10",
    problem,
    model,
    (cifar.SOURCES[10],),
    scales=SCALES,
)
