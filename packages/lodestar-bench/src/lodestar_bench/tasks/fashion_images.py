"""What the tasks on Fashion-MNIST share: the images, their splits, how they are shown to a network.

Comes in: a network, a recipe, sizes. Goes out: a problem. Both tasks see the same rows at the same scale. Which network
is a task's own affair.
"""

from lodestar_bench.data import fashion
from lodestar_bench.models.model import Model
from lodestar_bench.problem import TrainingRecipe
from lodestar_bench.tasks.classification import Classification
from lodestar_bench.tasks.images import FASHION, standardised
from lodestar_bench.tasks.small_images import small_splits
from lodestar_bench.tasks.task import Sizes


def fashion_problem(task: str, scale: str, *, size: Sizes, recipe: TrainingRecipe, model: Model) -> Classification:
    """Clothes, told apart by a network of convolutions."""
    return Classification(
        task=task,
        scale=scale,
        recipe=recipe,
        model=model,
        splits=small_splits(*fashion.fashion(), size, "fmnist"),
        convolutional=True,
        prepare=standardised(FASHION),
        **size.lengths,
    )
