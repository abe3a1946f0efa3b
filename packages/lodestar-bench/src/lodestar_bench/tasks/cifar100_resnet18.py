"""cifar100-resnet18: ResNet-18 on CIFAR-100, AdamW with weight decay 1e-2, random crops and flips.

Comes in: a scale. Goes out: a problem. Paper scale: 64 channels, the small stem (the paper's accuracy of 74 % is out of
reach of the ImageNet stem at 32x32), batch 256, 60 epochs. Cpu scale: all 18 layers, few channels, 16x16 (8x8 after a
stem of stride 2), convolutions as products, few epochs.
"""

from lodestar_bench.data import cifar
from lodestar_bench.models import layers
from lodestar_bench.models.model import Model
from lodestar_bench.models.resnet import resnet
from lodestar_bench.problem import TrainingRecipe
from lodestar_bench.tasks.classification import Classification
from lodestar_bench.tasks.images import CIFAR100, cropped_and_flipped
from lodestar_bench.tasks.small_images import small_splits
from lodestar_bench.tasks.task import Sizes, Task

RATES = {
    "paper": (1e-3, 5e-3, 1e-2, 5e-2, 1e-1),  # as in the paper
    "cpu": (3e-4, 1e-3, 3e-3, 1e-2, 3e-2),
    "smoke": (1e-3, 3e-3, 1e-2, 3e-2, 1e-1),
}
SIZES = {
    "paper": Sizes(width=64, batch=256, epochs=60, looks=10, image=32, validation=5000),
    "cpu": Sizes(width=8, batch=32, epochs=1.5, looks=14, image=16, train=22400, validation=1000, test=3000),
    "smoke": Sizes(width=4, batch=16, epochs=2, looks=10, image=16, train=320, validation=100, test=100),
}


def model(scale: str) -> Model:
    """18 layers."""
    stride, conv = (1, layers.conv) if scale == "paper" else (2, layers.conv_as_product)
    return resnet(18, channels=3, width=SIZES[scale].width, classes=100, stem_stride=stride, conv=conv)


def problem(scale: str) -> Classification:
    """The task at a scale."""
    size = SIZES[scale]
    return Classification(
        task=TASK.name,
        scale=scale,
        recipe=TrainingRecipe("adamw", rates=RATES[scale], weight_decay=1e-2),
        model=model(scale),
        splits=small_splits(*cifar.cifar(100), size, "cifar100"),
        **size.lengths,
        convolutional=scale == "paper",
        prepare=cropped_and_flipped(CIFAR100, pad=size.image // 8),
    )


TASK = Task("cifar100-resnet18", "ResNet-18 on CIFAR-100", problem, model, (cifar.SOURCES[100],))
