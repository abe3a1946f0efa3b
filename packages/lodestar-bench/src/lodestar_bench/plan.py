"""The protocol as data: which runs a table needs, and which of them can be made now.

Comes in: who takes part (`Entrant`), how much tuning, how many fresh seeds, and the results so far. Goes out: `Piece`s,
one for each run or learning that is due. Every method has the same budget: its own grid of values x seeds, chosen by
mean validation; a method that learns by training may make as many runs instead; one that learns from runs gets those of
the four plain shapes, or as many quasi-random ones. Then fresh seeds, the same for all. Pure: touches no file.
"""

import dataclasses
import hashlib
import math
from collections.abc import Iterator, Sequence
from typing import Literal

from lodestar.schedules import PAPER_SHAPES
from lodestar_bench.choice import Choice, choose
from lodestar_bench.entrant import Entrant, Piece
from lodestar_bench.results import FINAL, LEARN, SWEEP, TUNE, Record, Results

Source = Literal["shapes", "sobol"]
SOURCES: tuple[Source, ...] = ("shapes", "sobol")
FIT = 1  # runs that a fit is charged for; what it took in truth stands in the table of costs


@dataclasses.dataclass(frozen=True)
class TablePlan:
    """A whole table for one task at one scale.

    The seeds of tuning count from 0, those of the final runs from `first_seed`, so that no final run repeats what a
    choice was made by.
    """

    entrants: tuple[Entrant, ...]
    shapes: tuple[Entrant, ...] = ()
    """The four plain shapes, needed where a method learns from their tuning, whether they take part or not."""
    tune_values: int = 5
    tune_seeds: int = 5
    seeds: int = 20
    source: Source = "shapes"
    first_seed: int = 1000
    learning_seed: int = 500
    equal: int | None = None
    """Where given, the runs that each method may spend on everything before its final runs: tuning, or the runs that it
    learns from and one more for the fit. Else Lodestar learns from four times as many runs as others are tuned with."""

    def __post_init__(self):
        for name in ("tune_values", "tune_seeds", "seeds"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)}")
        if self.equal is not None and self.equal < 2:
            raise ValueError(f"a budget must be at least 2 runs, got {self.equal}. Fix: 10 or 25")
        if self.source not in SOURCES:
            raise ValueError(f"source must be one of {', '.join(SOURCES)}, got {self.source!r}")
        if self.tune_seeds > self.learning_seed or self.learning_seed >= self.first_seed:
            raise ValueError(
                f"seeds overlap: tuning has {self.tune_seeds}, learning uses {self.learning_seed}, final runs begin at "
                f"{self.first_seed}. Fix: fewer tuning seeds"
            )

    @property
    def budget(self) -> int:
        """Runs every method may spend before it is judged."""
        return self.tune_values * self.tune_seeds if self.equal is None else self.equal

    def seeds_of(self, entrant: Entrant) -> int:
        """How many seeds each value is tried with."""
        return self.tune_seeds if self.equal is None else max(1, self.equal // len(self.values(entrant)))

    def tuning(self, entrant: Entrant) -> list[Piece]:
        """Its tuning runs; none if there is nothing to choose."""
        if entrant.learns != "nothing" or len(self.values(entrant)) < 2:
            return []
        return self._tuning(entrant)

    def _tuning(self, entrant: Entrant) -> list[Piece]:
        return [
            Piece(f"{TUNE}/{entrant.name}/{value:g}/{seed}", entrant, TUNE, value, seed)
            for value in self.values(entrant)
            for seed in range(self.seeds_of(entrant))
        ]

    def values(self, entrant: Entrant) -> tuple[float, ...]:
        """The part of its grid that is tried: the whole, or as many as wished, spread evenly about the middle."""
        grid, wanted = entrant.grid, self.tune_values if self.equal is None else self.equal
        if wanted >= len(grid):
            return grid
        gap = len(grid) / wanted
        return tuple(grid[math.floor(gap * (place + 0.5))] for place in range(wanted))

    def sources(self, form: str = "recipe") -> list[Piece]:
        """The runs that methods which learn from runs look at: 100 by default, none where nobody does.

        `form` is that of the optimizer: the tuning of the four shapes will do only where it is the recipe's own.
        """
        if (self.source == "shapes" and self.equal is None) or not self.shapes:
            tuned = [piece for entrant in self.shapes for piece in self._tuning(entrant)]
            return tuned if form == "recipe" else [_formed(piece, form) for piece in tuned]
        wanted = len(PAPER_SHAPES) * self.budget if self.equal is None else self.equal - FIT
        plain, label = self.shapes[0], "sobol" if form == "recipe" else form
        return [
            Piece(f"{SWEEP}/{label}/{wanted}/{place}", plain, SWEEP, math.nan, 2 * self.first_seed + place, form=form)
            for place in range(wanted)
        ]

    def forms(self) -> tuple[str, ...]:
        """The forms of the optimizer in the runs that anyone here learns from."""
        return tuple(dict.fromkeys(entrant.form for entrant in self.entrants if entrant.learns == "from runs"))

    def learning(self, entrant: Entrant, results: Results) -> Piece | None:
        """How it learns; None while the runs it learns from are still being made."""
        if entrant.learns == "by training":
            name = f"{LEARN}/{entrant.name}/{self.budget}-runs/{self.learning_seed}"
            return Piece(name, entrant, LEARN, math.nan, self.learning_seed, allowed_runs=self.budget)
        wanted = [piece.name for piece in self.sources(entrant.form)]
        if not all(results.ended(name) for name in wanted):
            return None
        found = tuple(name for name in wanted if name in results.records)
        label = f"{len(found)}-runs-{hashlib.sha256(' '.join(found).encode()).hexdigest()[:6]}"
        name = f"{LEARN}/{entrant.name}/{label}/{self.learning_seed}"
        return Piece(name, entrant, LEARN, math.nan, self.learning_seed, sources=found)

    def finals(self, entrant: Entrant, results: Results) -> list[Piece] | None:
        """Its final runs; None while it is not known what to make them with, or if that failed."""
        seeds = range(self.first_seed, self.first_seed + self.seeds)
        value = entrant.grid[0] if entrant.grid else math.nan
        if entrant.learns != "nothing":
            learned = self.learning(entrant, results)
            if learned is None or learned.name not in results.records:
                return None
            label = learned.name.split("/")[2]
            return [
                Piece(f"{FINAL}/{entrant.name}/{label}/{seed}", entrant, FINAL, value, seed, learned.name)
                for seed in seeds
            ]
        choice = self.choice(entrant, results)
        if choice is None:
            return None
        return [
            Piece(f"{FINAL}/{entrant.name}/{choice.value:g}/{seed}", entrant, FINAL, choice.value, seed)
            for seed in seeds
        ]

    def choice(self, entrant: Entrant, results: Results) -> Choice | None:
        """What tuning chose; None while it goes on, or if every run of it failed."""
        values = self.values(entrant)
        if not values:
            return Choice(math.nan, math.nan, 0, 0)
        if len(values) == 1:
            return Choice(values[0], math.nan, 0, 0)
        return choose(values, [(piece.value, piece.name) for piece in self.tuning(entrant)], results)

    def due(self, results: Results) -> list[Piece]:
        """Every trial that can be made now and has not been, the long ones first; empty when the table is done."""
        pieces: dict[str, Piece] = {}
        learning = [self.learning(entrant, results) for entrant in self.entrants if entrant.learns != "nothing"]
        for piece in (*learning, *self._runs(results)):
            if piece is not None and not results.ended(piece.name):
                pieces[piece.name] = piece
        return list(pieces.values())

    def _runs(self, results: Results) -> Iterator[Piece]:
        for form in self.forms():
            yield from self.sources(form)
        for entrant in self.entrants:
            yield from self.tuning(entrant)
        for entrant in self.entrants:
            yield from self.finals(entrant, results) or ()

    def left(self, results: Results) -> tuple[int, int]:
        """How many runs and how many learnings are still to be made, as far as can be known."""
        runs = {piece.name for piece in self._runs(results)}
        learnings = 0
        for entrant in self.entrants:
            if self.finals(entrant, results) is None and not self.lost(entrant, results):
                runs |= {f"{FINAL}/{entrant.name}/?/{place}" for place in range(self.seeds)}
            if entrant.learns != "nothing":
                piece = self.learning(entrant, results)
                learnings += piece is None or not results.ended(piece.name)
        return sum(not results.ended(name) for name in runs), learnings

    def lost(self, entrant: Entrant, results: Results) -> str | None:
        """Why there will be no final run of this method: its learning, or all of its tuning, failed."""
        if entrant.learns != "nothing":
            piece = self.learning(entrant, results)
            return None if piece is None else results.failures.get(piece.name)
        names = [piece.name for piece in self.tuning(entrant)]
        if names and all(name in results.failures for name in names):
            return results.failures[names[0]]
        return None


def _formed(piece: Piece, form: str) -> Piece:
    """A tuning run of a shape made anew in another form of the optimizer, as a run of a sweep."""
    _, shape, value, seed = piece.name.split("/")
    return dataclasses.replace(piece, name=f"{SWEEP}/{form}-{shape}/{value}/{seed}", stage=SWEEP, form=form)


def records_of(pieces: Sequence[Piece] | None, results: Results) -> list[Record]:
    """What came of some trials."""
    return results.of(piece.name for piece in pieces or ())
