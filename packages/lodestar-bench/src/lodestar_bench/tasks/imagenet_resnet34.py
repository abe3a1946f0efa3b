"""imagenet-resnet34: ResNet-34 on ImageNet, SGD with Nesterov momentum and weight decay 1e-4.

Comes in: a scale. Goes out: a problem. Paper scale: 1,000 classes, 224x224 parts of pictures read from disk at 256x256,
batch 256, 60 epochs, one validation figure at an epoch's end. Cpu scale: the first 20 classes, 32x32, few channels. The
test split is the official validation folder; the validation split is taken from train, as everywhere.
"""

import numpy as np

from lodestar_bench.data import pictures
from lodestar_bench.data.rows import Rows, Splits, split
from lodestar_bench.models.model import Model
from lodestar_bench.models.resnet import resnet
from lodestar_bench.problem import TrainingRecipe
from lodestar_bench.tasks.classification import Classification
from lodestar_bench.tasks.images import IMAGENET, cropped_and_flipped
from lodestar_bench.tasks.task import Sizes, Task

RATES = {
    "paper": (0.005, 0.01, 0.05, 0.1, 0.256),  # as in the paper
    "cpu": (0.003, 0.01, 0.03, 0.1, 0.3),
    "smoke": (0.001, 0.003, 0.01, 0.03, 0.1),
}
SIZES = {
    "paper": Sizes(width=64, batch=256, epochs=60, looks=1, image=224, validation=50000),
    "cpu": Sizes(width=8, batch=64, epochs=3, looks=7, image=32, train=4096, validation=250, test=1000),
    "smoke": Sizes(width=4, batch=16, epochs=2, looks=10, image=32, train=320, validation=40, test=40),
}
CLASSES = {"paper": 1000, "cpu": 20, "smoke": 20}
_MARGIN = 8 / 7  # pictures are kept this much larger than the part that is looked at: 256 for 224


def model(scale: str) -> Model:
    """34 layers, the large stem."""
    return resnet(34, channels=3, width=SIZES[scale].width, classes=CLASSES[scale], large_stem=True)


def problem(scale: str) -> Classification:
    """The task at a scale."""
    size = SIZES[scale]
    side = round(size.image * _MARGIN)
    (path,) = pictures.SOURCE.get()
    train, test = pictures.pictures(path, side, classes=CLASSES[scale])
    parts = split(train, test, validation=size.validation, name="imagenet", most=size.train, tested=size.test)
    return Classification(
        task=TASK.name,
        scale=scale,
        recipe=TrainingRecipe("sgd", rates=RATES[scale], weight_decay=1e-4),
        model=model(scale),
        splits=parts if scale == "paper" else Splits(*map(_in_memory, (parts.train, parts.validation, parts.test))),
        **size.lengths,
        convolutional=True,
        prepare=cropped_and_flipped(IMAGENET, side=size.image),
    )


def _in_memory(rows: Rows) -> Rows:
    assert isinstance(rows.inputs, pictures.Pictures)
    return Rows(rows.inputs.decoded(), np.asarray(rows.labels))


TASK = Task("imagenet-resnet34", "ResNet-34 on ImageNet", problem, model, (pictures.SOURCE,))
