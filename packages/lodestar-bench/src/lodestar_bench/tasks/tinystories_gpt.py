"""tinystories-gpt: the paper's miniGPT on TinyStories, Adam, next-token accuracy.

Comes in: a scale. Goes out: a problem. Paper scale: GPT-2's 50,257 tokens, context 256, six blocks of width 256 with 8
heads (28.2M weights; the paper says 28M, not how many blocks). Laptop and cpu scale: the 1,023 most frequent tokens and
one for all others, context 32, narrow; at laptop scale four times as many updates, in batches twice as large, from four
times the text.
"""

import dataclasses

import numpy as np
from numpy.typing import NDArray

from lodestar_bench.data import bpe
from lodestar_bench.data.rows import Rows, Splits
from lodestar_bench.data.stories import PART, stories
from lodestar_bench.models.gpt import gpt
from lodestar_bench.models.model import Model
from lodestar_bench.problem import SCALES, TrainingRecipe
from lodestar_bench.tasks.classification import Classification
from lodestar_bench.tasks.task import Task


@dataclasses.dataclass(frozen=True)
class GptSizes:
    """How large the task is at one scale; `text` is how many characters are read, `judged` how many windows."""

    vocabulary: int
    context: int
    width: int
    blocks: int
    heads: int
    batch: int
    epochs: float
    looks: float
    text: int | None = None
    judged: int | None = None
    tested: int | None = None


RATES = {
    "paper": (1e-4, 3e-4, 1e-3, 3e-3, 1e-2),
    "laptop": (3e-4, 1e-3, 3e-3, 1e-2, 3e-2),
    "cpu": (3e-4, 1e-3, 3e-3, 1e-2, 3e-2),
    "smoke": (1e-3, 3e-3, 1e-2, 3e-2, 1e-1),
}
SIZES = {
    "paper": GptSizes(bpe.VOCABULARY, 256, 256, 6, 8, batch=256, epochs=1, looks=100),
    "laptop": GptSizes(1024, 32, 48, 2, 4, batch=16, epochs=1.4, looks=36, text=6_000_000, judged=500, tested=2000),
    "cpu": GptSizes(1024, 32, 48, 2, 4, batch=8, epochs=0.7, looks=64, text=1_500_000, judged=128, tested=500),
    "smoke": GptSizes(256, 16, 16, 1, 2, batch=8, epochs=1, looks=25, text=40_000, judged=50, tested=50),
}


def model(scale: str) -> Model:
    """Feed-forward layers as wide as the embedding."""
    s = SIZES[scale]
    shape = {"vocabulary": s.vocabulary, "context": s.context, "width": s.width, "hidden": s.width}
    return gpt(**shape, blocks=s.blocks, heads=s.heads)


def problem(scale: str) -> Classification:
    """The task at a scale."""
    size = SIZES[scale]
    train, validation, test = stories(scale == "paper", size.text)
    kept = frequent(train, size.vocabulary)
    windows = [_windows(kept[part], size.context) for part in (train, validation, test)]
    return Classification(
        task=TASK.name,
        scale=scale,
        recipe=TrainingRecipe("adam", rates=RATES[scale]),
        model=model(scale),
        splits=Splits(windows[0], windows[1][: size.judged], windows[2][: size.tested]),
        batch_size=size.batch,
        epochs=size.epochs,
        looks_per_epoch=size.looks,
        convolutional=False,
        prepare=lambda tokens, key: tokens,
        judged_at_once=128,
    )


def frequent(tokens: NDArray[np.uint16], vocabulary: int) -> NDArray[np.int32]:
    """A new number for each token: the most frequent get 1, 2, ...; all others 0. Nothing changes if all have room."""
    if vocabulary >= bpe.VOCABULARY:
        return np.arange(bpe.VOCABULARY, dtype=np.int32)
    counts = np.bincount(tokens, minlength=bpe.VOCABULARY)
    ranked = np.argsort(-counts, kind="stable")[: vocabulary - 1]
    numbers = np.zeros(bpe.VOCABULARY, np.int32)
    numbers[ranked] = np.arange(1, vocabulary)
    return numbers


def _windows(tokens: NDArray[np.int32], context: int) -> Rows:
    """Neighbouring windows; each position is to name the token that follows it."""
    count = (len(tokens) - 1) // context
    inputs = tokens[: count * context].reshape(count, context)
    return Rows(inputs, tokens[1 : count * context + 1].reshape(count, context))


TASK = Task("tinystories-gpt", "the paper's miniGPT on TinyStories", problem, model, (PART, bpe.SOURCE), scales=SCALES)
