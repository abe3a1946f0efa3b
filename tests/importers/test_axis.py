"""The x axis: a logged step joined by the clock, epochs, and clocks that stand still."""

import numpy as np
import pytest
from tests.importers.shelf import Shelf, curves

from lodestar.importers import Choices, import_runs
from lodestar.runs import RunStore


@pytest.fixture
def stored(tmp_path):
    def stored(shelf, choices=None):
        report = import_runs(shelf, RunStore(tmp_path / "store"), choices)
        return report, (RunStore(tmp_path / "store").read() or [None])[0]

    return stored


def test_a_logged_step_is_joined_by_the_clock(stored):
    shelf = Shelf()
    steps = {tick: 50.0 * tick for tick in range(1, 11)}
    shelf.put("a", {**curves(), "trainer/global_step": steps})
    _, run = stored(shelf, Choices(step="trainer/global_step"))
    assert run.loss.steps.tolist() == list(range(50, 501, 50))
    np.testing.assert_allclose(run.loss.values, [1 / tick for tick in range(1, 11)])


def test_values_without_a_partner_are_left_out_and_counted(stored):
    shelf = Shelf()
    shelf.put("a", {**curves(), "global": {tick: 10.0 * tick for tick in range(1, 8)}})
    _, run = stored(shelf, Choices(step="global"))
    assert len(run.loss) == 7
    assert "9 rows have no step and were left out" in run.notes


def test_a_run_without_the_named_step_is_left_out(stored):
    shelf = Shelf()
    shelf.put("a", {**curves(), "global": {tick: float(tick) for tick in range(1, 11)}})
    shelf.put("b", curves())
    report, _ = stored(shelf, Choices(step="global"))
    assert report.imported == ["a"] and "never logged 'global'" in report.left_out[0][1]


def test_a_clock_that_stands_still_is_counted_where_all_is_logged_together(stored):
    shelf = Shelf()
    shelf.put("a", {"loss": [(0, 3.0), (0, 2.0), (0, 1.0)], "val_acc": [(0, 0.1), (0, 0.2), (0, 0.3)]})
    _, run = stored(shelf)
    assert (run.loss.steps.tolist(), run.loss.values.tolist()) == ([1, 2, 3], [3.0, 2.0, 1.0])
    assert any("logged without steps" in note for note in run.notes)


def test_epochs_stand_in_for_a_clock_that_stands_still(stored):
    shelf = Shelf()
    shelf.put("a", {"loss": [(0, 3.0), (0, 2.0)], "val_acc": [(0, 0.1), (0, 0.2)], "epoch": [(0, 4.0), (0, 8.0)]})
    _, run = stored(shelf)
    assert run.loss.steps.tolist() == [4, 8]
    assert "steps are epochs" in run.notes


def test_without_steps_unequal_curves_are_left_out(stored):
    shelf = Shelf()
    shelf.put("a", {"loss": [(0, 3.0), (0, 2.0), (0, 1.0)], "val_acc": [(0, 0.1)]})
    report, _ = stored(shelf)
    assert "nothing tells which belong together" in report.left_out[0][1]


def test_a_clock_of_epochs_is_said(stored):
    shelf = Shelf(clock="epoch")
    shelf.put("a", {"loss": {0: 2.0, 1: 1.0}, "val_acc": {0: 0.1, 1: 0.2}})
    _, run = stored(shelf)
    assert run.loss.steps.tolist() == [1, 2]
    assert any("steps are epochs, counted from 1" in note for note in run.notes)
