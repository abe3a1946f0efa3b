"""The contract every reader passes: inherit `ReaderContract` in a test class and write one method, `make`.

Comes in: a way to fill a place with runs through the source's own library. Goes out: pytest tests: everything logged
comes back in order and whole, keys and versions are steady, a changed run has a new version, NaN and inf survive, and
an import through the engine stores the same numbers and fetches nothing twice. Needs pytest; knows no reader.

    class TestMyReader(ReaderContract):
        def make(self, place, runs): ...      # write them with the real library
        def open(self, place): return MyReader(place / "logs")
"""

import dataclasses
import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest

from lodestar._errors import TableError, TrackerError
from lodestar.importers import AbstractReader, import_runs
from lodestar.importers.reader import ListedRun
from lodestar.runs import RunStore, Scalar
from lodestar.runs.scale import scale_of


@dataclasses.dataclass(frozen=True)
class Written:
    """A run to write: each quantity's values by step, and the config."""

    name: str
    curves: Mapping[str, Mapping[int, float]]
    config: Mapping[str, Scalar] = dataclasses.field(default_factory=dict)


class ReaderContract:
    """What every reader promises. Override the names where the source has its own."""

    loss: str = "train_loss"
    metric: str = "val_acc"
    lr: str = "lr"
    keeps_config: bool = True
    keeps_infinities: bool = True
    names_are_mine: bool = True
    """Whether a run keeps the name it is given."""
    remembers: bool = True
    """Whether a run that is in the store already is not fetched again; a table is read each time."""
    precision: float = 1e-12
    points: int = 30

    def make(self, place: Path, runs: Sequence[Written]) -> None:
        """Write finished runs at `place` with the real library. Called twice: the second time with more runs."""
        raise NotImplementedError

    def open(self, place: Path) -> AbstractReader:
        """The reader on what `make` wrote."""
        raise NotImplementedError

    def nowhere(self, place: Path) -> AbstractReader:
        """Open an address where there is nothing: must raise `TrackerError` (a table: `TableError`)."""
        raise NotImplementedError

    def written(self, number: int, *, points: int | None = None) -> Written:
        """Run `number`: a loss at each step, a metric at every fifth, an lr at every second."""
        steps = range(1, (points or self.points) + 1)
        curves = {
            self.loss: {step: 2.0 / (step + number) for step in steps},
            self.metric: {step: 1 - 1.0 / (step + number) for step in steps if step % 5 == 0},
            self.lr: {step: 1e-3 * (1 + number) / step for step in steps if step % 2 == 0},
        }
        return Written(f"run-{number}", curves, {"seed": number, "batch_size": 32})

    @pytest.fixture
    def place(self, tmp_path: Path) -> Path:
        """A folder with two runs."""
        self.make(tmp_path, [self.written(0), self.written(1)])
        return tmp_path

    def test_every_run_is_listed_once(self, place: Path):
        runs = list(self.open(place).list())
        assert len(runs) == len({run.key for run in runs}) == 2
        assert all(run.name and run.version and not run.trouble for run in runs)
        if self.names_are_mine:
            assert sorted(run.name for run in runs) == ["run-0", "run-1"]

    def test_a_listing_names_what_was_logged(self, place: Path):
        for run in self.open(place).list():
            assert {self.loss, self.metric, self.lr} <= set(run.quantities)

    def test_a_listing_has_the_config(self, place: Path):
        seeds = {float(run.config["seed"]) for run in self.open(place).list()} if self.keeps_config else {0.0, 1.0}
        assert seeds == {0.0, 1.0}

    def test_histories_come_back_whole_and_in_order(self, place: Path):
        reader = self.open(place)
        for run in reader.list():
            written = self._written_as(reader, run)
            found = reader.fetch(run, [self.loss, self.metric, self.lr])
            for quantity, curve in written.curves.items():
                assert found[quantity].steps.tolist() == list(curve)
                np.testing.assert_allclose(found[quantity].values, [*curve.values()], rtol=self.precision)
                assert found[quantity].steps.dtype == found[quantity].values.dtype == np.float64

    def test_what_a_run_never_logged_is_left_out(self, place: Path):
        reader = self.open(place)
        run = next(iter(reader.list()))
        assert set(reader.fetch(run, [self.loss, "no such thing"])) == {self.loss}

    def test_a_listing_is_the_same_every_time(self, place: Path):
        first = [(run.key, run.version) for run in self.open(place).list()]
        assert [(run.key, run.version) for run in self.open(place).list()] == first

    def test_nan_and_infinity_survive(self, tmp_path: Path):
        odd = self.written(0)
        values = {1: 1.0, 2: math.nan, 3: 0.5}
        if self.keeps_infinities:
            values |= {4: math.inf, 5: -math.inf}
        self.make(tmp_path, [dataclasses.replace(odd, curves={**odd.curves, self.loss: values})])
        reader = self.open(tmp_path)
        found = reader.fetch(next(iter(reader.list())), [self.loss])[self.loss]
        np.testing.assert_array_equal(found.values, np.array([*values.values()]))

    def test_nothing_there_is_an_error_with_a_cure(self, tmp_path: Path):
        with pytest.raises((TrackerError, TableError), match="Fix: "):
            list(self.nowhere(tmp_path / "nowhere").list())

    def test_an_import_stores_the_same_numbers(self, place: Path, tmp_path: Path):
        report = import_runs(self.open(place), RunStore(tmp_path / "store"))
        assert len(report.imported) == 2 and not report.left_out
        runs = RunStore(tmp_path / "store").read()
        expected = sorted(tuple(self.written(number).curves[self.loss].values()) for number in (0, 1))
        for run, loss in zip(sorted(runs, key=lambda run: float(run.loss.values[0])), expected, strict=True):
            np.testing.assert_allclose(run.loss.values, loss, rtol=self.precision)
            assert len(run.metric) == self.points // 5 and len(run.lr) == self.points // 2

    def test_an_import_knows_the_scale_of_a_run(self, place: Path, tmp_path: Path):
        report = import_runs(self.open(place), RunStore(tmp_path / "store"))
        for run in RunStore(tmp_path / "store").read():
            assert scale_of(run).batch_size == (32 if self.keeps_config else None)
        assert ("batch_size (32)" in report.scale.line) == self.keeps_config

    def test_a_second_import_fetches_only_what_is_new(self, place: Path, tmp_path: Path):
        store = RunStore(tmp_path / "store")
        import_runs(self.open(place), store)
        again = import_runs(self.open(place), store)
        known = len(again.unchanged) if self.remembers else len(again.replaced)
        assert (len(again.imported), known) == (0 if self.remembers else 2, 2)
        self.make(place, [self.written(2)])
        more = import_runs(self.open(place), store)
        assert (len(more.imported), len(more.unchanged)) == ((1, 2) if self.remembers else (3, 0))
        assert len(more.replaced) == (0 if self.remembers else 2)
        assert len(store) == 3

    def _written_as(self, reader: AbstractReader, run: ListedRun) -> Written:
        """Which of the two runs this one is, told by its first loss."""
        first = reader.fetch(run, [self.loss])[self.loss].values[0]
        return min((self.written(0), self.written(1)), key=lambda one: abs(one.curves[self.loss][1] - first))
