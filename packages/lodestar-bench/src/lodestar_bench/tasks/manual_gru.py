"""manual-gru: a recurrent network reads the Python manual, sign by sign. Not in the paper; needs no download.

Comes in: a scale. Goes out: a problem whose metric is bits a sign, *smaller* is better. The text is the language
reference that comes with every CPython (pydoc's topics); it differs a little between versions, and so do results.
"""

import importlib

import numpy as np
from numpy.typing import NDArray

from lodestar_bench._errors import BenchError
from lodestar_bench.data.rows import Rows, Splits
from lodestar_bench.data.split import shuffled
from lodestar_bench.models.gru import gru
from lodestar_bench.models.model import Model
from lodestar_bench.problem import TrainingRecipe
from lodestar_bench.tasks.classification import Classification
from lodestar_bench.tasks.task import Sizes, Task

SIGNS = 97  # 95 printable ASCII signs, the end of a line, and one for all others
LENGTH = 32
RATES = (1e-3, 3e-3, 1e-2, 3e-2, 1e-1)
SIZES = {
    "paper": Sizes(width=512, batch=64, epochs=30, looks=10, validation=1000),
    "cpu": Sizes(width=64, batch=32, epochs=1.5, looks=40, validation=100, test=1000),
    "smoke": Sizes(width=16, batch=32, epochs=2, looks=10, train=640, validation=50, test=50),
}


def model(scale: str, narrower: int = 1) -> Model:
    """One recurrent layer."""
    return gru(signs=SIGNS, embedding=32, width=SIZES[scale].width // narrower)


def text() -> str:
    """The manual's topics in alphabetic order."""
    try:
        topics = importlib.import_module("pydoc_data.topics").topics
    except ImportError as error:
        raise BenchError("this Python comes without pydoc_data. Fix: install its whole standard library") from error
    return "\n".join(topics[name] for name in sorted(topics))


def signs(written: str) -> NDArray[np.int32]:
    """A number for each sign."""
    codes = np.frombuffer(written.encode("utf-32-le"), np.uint32).astype(np.int64)
    codes[codes == ord("\n")] = 127
    return np.where((codes >= 32) & (codes < 128), codes - 31, 0).astype(np.int32)


def splits(scale: str) -> Splits:
    """Pieces of the text, shuffled by name: a tenth to test on, a tenth to validate."""
    size, numbers = SIZES[scale], signs(text())
    count = (len(numbers) - 1) // LENGTH
    every = Rows(
        numbers[: count * LENGTH].reshape(count, LENGTH), numbers[1 : count * LENGTH + 1].reshape(count, LENGTH)
    )[shuffled(count, "manual-gru")]
    tenth = count // 10
    test, validation, train = every[:tenth], every[tenth : 2 * tenth], every[2 * tenth :]
    return Splits(train[: size.train], validation[: size.validation], test[: size.test])


def problem(scale: str) -> Classification:
    """The task at a scale."""
    size = SIZES[scale]
    return Classification(
        task=TASK.name,
        scale=scale,
        recipe=TrainingRecipe("adam", rates=RATES),
        model=model(scale),
        splits=splits(scale),
        **size.lengths,
        convolutional=False,
        prepare=lambda text, key: text,
        metric="bits",
    )


TASK = Task("manual-gru", "a recurrent network reads the Python manual, sign by sign", problem, model, narrow=model)
