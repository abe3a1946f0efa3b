"""diamonds-mlp: how clear is a diamond? A dense network on a table of 53,940 stones. Not in the paper; for the arena.

Comes in: a scale. Goes out: a problem: eight grades of clarity from weight, size, price, colour and cut. Nothing but
products of matrices, so that many runs go at once in one program.
"""

import numpy as np
from numpy.typing import NDArray

from lodestar_bench.data import diamonds
from lodestar_bench.data.rows import Rows, Splits
from lodestar_bench.data.split import shuffled
from lodestar_bench.models.mlp import mlp
from lodestar_bench.models.model import Model
from lodestar_bench.problem import TrainingRecipe
from lodestar_bench.tasks.classification import Classification
from lodestar_bench.tasks.task import Sizes, Task

RATES = (1e-3, 3e-3, 1e-2, 3e-2, 1e-1)
FEATURES = len(diamonds.MEASURES) + len(diamonds.CUTS) + len(diamonds.COLOURS)
TESTED = 8000
SIZES = {
    "paper": Sizes(width=512, batch=256, epochs=50, looks=10, validation=5000),
    "cpu": Sizes(width=128, batch=64, epochs=3.2, looks=12.5, train=40000, validation=2500),
    "smoke": Sizes(width=16, batch=32, epochs=1, looks=10, train=640, validation=200, test=200),
}


def model(scale: str, narrower: int = 1) -> Model:
    """Three hidden layers, eight grades."""
    width = SIZES[scale].width // narrower
    return mlp((FEATURES, width, width, width, len(diamonds.CLARITIES)))


def features(stones: diamonds.Stones) -> NDArray[np.float32]:
    """Logarithms of weight and price, the other measures as they are, standardised; a column for each grade."""
    measures = stones.measures.copy()
    for name in ("carat", "price"):
        column = diamonds.MEASURES.index(name)
        measures[:, column] = np.log(measures[:, column])
    spread = measures.std(axis=0)
    measures = (measures - measures.mean(axis=0)) / np.where(spread > 0, spread, 1)
    grades = [np.eye(len(diamonds.CUTS))[stones.cut], np.eye(len(diamonds.COLOURS))[stones.colour]]
    return np.hstack([np.clip(measures, -5, 5), *grades]).astype(np.float32)


def splits(scale: str) -> Splits:
    """Shuffled by name: those to test on, those to validate, and the rest to learn from."""
    size, stones = SIZES[scale], diamonds.diamonds()
    every = Rows(features(stones), stones.clarity)[shuffled(len(stones.clarity), "diamonds-mlp")]
    tested = min(TESTED, len(every) // 5)
    validated = min(size.validation, len(every) // 5)
    train = every[tested + validated :]
    return Splits(train[: size.train], every[tested : tested + validated], every[:tested][: size.test])


def problem(scale: str) -> Classification:
    """The task at a scale."""
    size = SIZES[scale]
    return Classification(
        task=TASK.name,
        scale=scale,
        recipe=TrainingRecipe("adamw", rates=RATES, weight_decay=1e-2),
        model=model(scale),
        splits=splits(scale),
        **size.lengths,
        convolutional=False,
        judged_at_once=1000,
    )


TASK = Task(
    "diamonds-mlp", "how clear is a diamond? A dense network on a table", problem, model, (diamonds.SOURCE,), model
)
