"""stories-chars: a dense network guesses the next character of TinyStories. Not in the paper; made for the arena.

Comes in: a scale. Goes out: a problem: of a window of characters, which one follows? Accuracy is the metric. Nothing
but products of matrices, so that many runs go at once in one program.
"""

import numpy as np
from numpy.typing import NDArray

from lodestar_bench.data.rows import Rows, Splits
from lodestar_bench.data.stories import PART, texts
from lodestar_bench.models.model import Model
from lodestar_bench.models.window import window
from lodestar_bench.problem import TrainingRecipe
from lodestar_bench.tasks.classification import Classification
from lodestar_bench.tasks.task import Sizes, Task

SIGNS = 64  # 63 most frequent characters, and one for all others
LENGTH = 16
EMBEDDING = {"paper": 32, "cpu": 16, "smoke": 4}
TEXT = {"paper": None, "cpu": 5_500_000, "smoke": 60_000}  # characters that are read
RATES = (1e-3, 3e-3, 1e-2, 3e-2, 1e-1)
SIZES = {
    "paper": Sizes(width=1024, batch=256, epochs=1, looks=100, validation=10000, test=50000),
    "cpu": Sizes(width=96, batch=128, epochs=1, looks=32, train=102400, validation=2500, test=10000),
    "smoke": Sizes(width=16, batch=32, epochs=1, looks=10, train=640, validation=100, test=100),
}


def model(scale: str, narrower: int = 1) -> Model:
    """A vector for each character, two hidden layers."""
    width = SIZES[scale].width // narrower
    return window(signs=SIGNS, length=LENGTH, embedding=EMBEDDING[scale], hidden=(width, width))


def numbers_of(text: str) -> dict[str, int]:
    """A number for each of the most frequent characters, from 1; of equally frequent ones the lower code first."""
    found, counts = np.unique(_codes(text), return_counts=True)
    ranked = found[np.argsort(-counts, kind="stable")][: SIGNS - 1]
    return {chr(code): number for number, code in enumerate(ranked, 1)}


def numbered(text: str, numbers: dict[str, int]) -> NDArray[np.uint8]:
    """The text as numbers, 0 for a rare character."""
    codes = _codes(text)
    table = np.zeros(int(codes.max(initial=0)) + 1, np.uint8)
    for character, number in numbers.items():
        if ord(character) < len(table):
            table[ord(character)] = number
    return table[codes]


def windows(numbers: NDArray[np.uint8], most: int | None) -> Rows:
    """`most` windows, spread evenly over the text (neighbouring ones if None), each with the character after it."""
    views = np.lib.stride_tricks.sliding_window_view(numbers, LENGTH + 1)
    stride = LENGTH + 1 if most is None else max(1, len(views) // most)
    chosen = views[::stride][:most]
    return Rows(np.ascontiguousarray(chosen[:, :LENGTH]), chosen[:, LENGTH].astype(np.int32))


def splits(scale: str) -> Splits:
    """Stories are kept whole: no validation or test window comes from a story that is learned from."""
    size = SIZES[scale]
    parts = texts(scale == "paper", TEXT[scale])
    numbers = numbers_of(parts[0])
    limits = (size.train, size.validation, size.test)
    return Splits(*(windows(numbered(part, numbers), most) for part, most in zip(parts, limits, strict=True)))


def problem(scale: str) -> Classification:
    """The task at a scale."""
    size = SIZES[scale]
    return Classification(
        task=TASK.name,
        scale=scale,
        recipe=TrainingRecipe("adamw", rates=RATES, weight_decay=1e-2, b2=0.99),
        model=model(scale),
        splits=splits(scale),
        **size.lengths,
        convolutional=False,
        prepare=lambda text, key: text,
        judged_at_once=1000,
    )


def _codes(text: str) -> NDArray[np.uint32]:
    return np.frombuffer(text.encode("utf-32-le"), np.uint32)


TASK = Task(
    "stories-chars", "a dense network guesses the next character of TinyStories", problem, model, (PART,), model
)
