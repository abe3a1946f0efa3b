"""The diamonds table of ggplot2: 53,940 stones, their weight, colour, clarity, cut, price and size.

Comes in: nothing. Goes out: `Stones`: the columns, words as numbers. Reads the official diamonds.csv, which comes with
the Python package plotnine too. Which column is to be guessed from which is not known here.
"""

import csv
import dataclasses
import functools
import math
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from lodestar_bench._errors import BenchError
from lodestar_bench.data.download import Remote
from lodestar_bench.data.source import DataSource, Form

_COMMIT = "c655e414be108797d7acaab3a96a93b407debad0"
SOURCE = DataSource(
    name="diamonds",
    size="2.8 MB",
    forms=(Form(("diamonds.csv",), inside=("diamonds", ""), package="plotnine"),),
    remotes=(
        Remote(
            f"https://raw.githubusercontent.com/tidyverse/ggplot2/{_COMMIT}/data-raw/diamonds.csv",
            "sha256:9574730b03aba241d899c4a97511c5061b19358fab89510774fb6c24168345c4",
            2772143,
        ),
    ),
    advice="It comes with a package too: pip install plotnine",
)
CUTS = ("Fair", "Good", "Very Good", "Premium", "Ideal")
COLOURS = ("J", "I", "H", "G", "F", "E", "D")  # from the worst to the best, as all three lists
CLARITIES = ("I1", "SI2", "SI1", "VS2", "VS1", "VVS2", "VVS1", "IF")
MEASURES = ("carat", "depth", "table", "price", "x", "y", "z")


@dataclasses.dataclass(frozen=True)
class Stones:
    """All stones in the file's order. `measures` (n, 7) in the order of `MEASURES`; grades count from the worst."""

    measures: NDArray[np.float64]
    cut: NDArray[np.int32]
    colour: NDArray[np.int32]
    clarity: NDArray[np.int32]


@functools.lru_cache(maxsize=1)
def diamonds() -> Stones:
    """The whole table."""
    (path,) = SOURCE.get()
    measures, grades = [], []
    for line, row in enumerate(_lines(path), 2):
        measures.append([_number(path, line, name, row.get(name)) for name in MEASURES])
        grades.append(
            [
                _grade(path, line, name, row.get(name), known)
                for name, known in (("cut", CUTS), ("color", COLOURS), ("clarity", CLARITIES))
            ]
        )
    if not grades:
        raise BenchError(f"{path} holds no stones. Fix: fetch it again")
    cut, colour, clarity = np.array(grades, np.int32).T
    return Stones(np.array(measures), cut, colour, clarity)


def _lines(path: Path) -> list[dict[str, str]]:
    try:
        with path.open(encoding="utf-8", newline="") as file:
            return list(csv.DictReader(file))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise BenchError(f"{path} cannot be read ({error}). Fix: fetch it again") from error


def _number(path: Path, line: int, name: str, word: str | None) -> float:
    try:
        found = float(word or "")
    except ValueError:
        found = math.nan
    if not math.isfinite(found):
        raise BenchError(f"{path}, row {line}: {name} must be a number, got {word!r}. Fix: fetch it again")
    return found


def _grade(path: Path, line: int, name: str, word: str | None, known: tuple[str, ...]) -> int:
    if word not in known:
        raise BenchError(
            f"{path}, row {line}: {name} must be one of {', '.join(known)}, got {word!r}. Fix: fetch it again"
        )
    return known.index(word)
