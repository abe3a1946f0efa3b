"""The import itself, on a tracker in memory: what is fetched, what is stored, what is said; also after mishaps."""

import json

import pytest
from tests.importers.shelf import Shelf, curves

from lodestar._errors import TrackerError
from lodestar.importers import AbstractBulkReader, Choices, import_runs
from lodestar.importers.ledger import FILE
from lodestar.runs import RunStore


@pytest.fixture
def shelf():
    shelf = Shelf()
    for key in ("a", "b", "c"):
        shelf.put(key, curves(), state="FINISHED", group="digits", config={"seed": 3, "depth": 2})
    return shelf


@pytest.fixture
def store(tmp_path):
    return RunStore(tmp_path / "store")


def test_runs_are_stored_with_what_is_known(shelf, store):
    report = import_runs(shelf, store)
    assert report.imported == ["a", "b", "c"] and not report.left_out
    run = store.read()[0]
    assert (run.facts.task, run.facts.seed, run.facts.source) == ("digits", 3, "shelf the shelf")
    assert run.facts.extra["depth"] == 2


def test_a_second_import_fetches_nothing(shelf, store):
    import_runs(shelf, store)
    shelf.fetched.clear()
    report = import_runs(shelf, store)
    assert (report.imported, report.unchanged, shelf.fetched) == ([], ["a", "b", "c"], [])


def test_only_changed_and_new_runs_are_fetched(shelf, store):
    import_runs(shelf, store)
    shelf.fetched.clear()
    shelf.put("b", curves(12), version="2")
    shelf.put("d", curves())
    report = import_runs(shelf, store)
    assert sorted(shelf.fetched) == ["b", "d"]
    assert (report.imported, report.replaced, report.unchanged) == (["b", "d"], ["b"], ["a", "c"])
    assert store.read(["b"])[0].last_step == 12


def test_a_changed_mapping_fetches_again(shelf, store):
    import_runs(shelf, store)
    report = import_runs(shelf, store, Choices(direction="min"))
    assert report.replaced == ["a", "b", "c"]
    assert import_runs(shelf, store, Choices(task="other")).replaced == ["a", "b", "c"]


def test_a_run_removed_from_the_store_comes_back(shelf, store):
    import_runs(shelf, store)
    store.remove(["b"])
    assert import_runs(shelf, store).imported == ["b"]


def test_a_torn_run_is_left_out_with_its_reason_and_not_fetched_again(shelf, store):
    shelf.broken = {"b"}
    report = import_runs(shelf, store)
    assert (report.imported, report.left_out) == (["a", "c"], [("b", "run 'b' is torn. Fix: none")])
    shelf.fetched.clear()
    again = import_runs(shelf, store)
    assert again.left_out == report.left_out and shelf.fetched == []


def test_a_left_out_run_is_tried_again_when_it_changes(shelf, store):
    shelf.broken = {"b"}
    import_runs(shelf, store)
    shelf.broken = set()
    shelf.change("b", version="2")
    assert import_runs(shelf, store).imported == ["b"]


def test_a_damaged_memory_of_left_out_runs_is_not_fatal(shelf, store, caplog):
    shelf.broken = {"b"}
    import_runs(shelf, store)
    (store.path / FILE).write_text("{not json")
    assert len(import_runs(shelf, store).left_out) == 1
    assert "cannot be read" in caplog.text


def test_the_memory_of_left_out_runs_has_a_version(shelf, store):
    shelf.broken = {"b"}
    import_runs(shelf, store)
    assert json.loads((store.path / FILE).read_text())["lodestar left out"] == 1


def test_a_dead_line_keeps_what_came_before(store):
    shelf = Shelf()
    for number in range(20):
        shelf.put(f"run-{number:02d}", curves())
    shelf.cut_after = 11
    with pytest.raises(TrackerError, match="line is dead"):
        import_runs(shelf, store)
    assert 5 <= len(store) <= 11
    shelf.cut_after = None
    assert len(import_runs(shelf, store).unchanged) + len(shelf.fetched) >= 20
    assert len(store) == 20


def test_runs_of_one_name_are_told_apart_by_their_id(store):
    shelf = Shelf()
    for key in ("0123456789ab", "ba9876543210"):
        shelf.put(key, curves(), name="train")
    report = import_runs(shelf, store)
    assert sorted(report.imported) == ["train", "train (ba987654)"]
    assert any("another run is called 'train'" in note for _, note in report.notes)
    shelf.put("c0ffee0000", curves(), name="train")
    assert import_runs(shelf, store).imported == ["train (c0ffee00)"]
    assert len(import_runs(shelf, store).unchanged) == 3


def test_a_renamed_run_keeps_its_first_name_in_the_store(shelf, store):
    import_runs(shelf, store)
    shelf.change("b", name="better", version="2")
    assert import_runs(shelf, store).replaced == ["b"]
    assert any("called 'better' in the tracker by now" in note for note in store.read(["b"])[0].notes)


def test_a_total_that_says_not_stated_is_no_total(store):
    shelf = Shelf()
    shelf.put("a", curves(), config={"max_steps": -1})
    assert import_runs(shelf, store).notes == []


def test_a_run_from_elsewhere_is_not_overwritten(shelf, store):
    import_runs(shelf, store)
    other = Shelf("another shelf")
    other.put("a", curves(20))
    assert import_runs(other, store).imported == ["a (a)"]
    assert store.read(["a"])[0].last_step == 10


def test_a_run_without_a_loss_says_what_it_has(shelf, store):
    shelf.put("bare", {"val_acc": {1: 0.5}})
    report = import_runs(shelf, store)
    assert report.left_out[0][0] == "bare" and "it logged 'val_acc'" in report.left_out[0][1]
    assert "bare" not in shelf.fetched


def test_a_run_with_trouble_is_never_fetched(shelf, store):
    shelf.put("torn", curves(), trouble="the file is torn")
    assert import_runs(shelf, store).left_out == [("torn", "the file is torn")]
    assert "torn" not in shelf.fetched


def test_names_and_numbers_limit_an_import(shelf, store):
    assert import_runs(shelf, store, name="[ab]").imported == ["a", "b"]
    assert import_runs(shelf, store, limit=1).unchanged == ["a"]
    with pytest.raises(TrackerError, match="none of the 3 runs in the shelf is called 'z"):
        import_runs(shelf, store, name="z*")


def test_an_empty_tracker_says_so(store):
    with pytest.raises(TrackerError, match="the shelf holds no runs"):
        import_runs(Shelf(), store)


def test_progress_is_told(shelf, store):
    told = []
    import_runs(shelf, store, on_progress=lambda *what: told.append(what))
    assert told[0] == (0, 0, "listing: 1 runs") and told[-1] == (3, 3, "fetching")


def test_a_store_at_an_address_works_as_well(shelf):
    store = RunStore("memory://imported")
    shelf.broken = {"b"}
    import_runs(shelf, store)
    assert len(RunStore("memory://imported")) == 2
    assert len(import_runs(shelf, RunStore("memory://imported")).unchanged) == 2


class Bulk(Shelf, AbstractBulkReader):
    """A shelf that hands out many at once, and remembers how many."""

    bulk = 4

    def __init__(self):
        super().__init__()
        self.groups = []

    def fetch_many(self, runs, quantities):
        self.groups.append(len(runs))
        return {run.key: self.fetch(run, quantities) for run in runs}


def test_a_bulk_tracker_is_asked_for_many_at_once_and_fewer_where_runs_are_long(store):
    shelf = Bulk()
    for number in range(12):
        shelf.put(f"run-{number:02d}", curves(), points=10 if number < 8 else 60_000)
    assert len(import_runs(shelf, store).imported) == 12
    assert sorted(shelf.groups) == [2, 2, 4, 4]


def test_one_torn_run_in_a_group_leaves_the_others(store):
    shelf = Bulk()
    for number in range(6):
        shelf.put(f"run-{number}", curves())
    shelf.broken = {"run-2"}
    report = import_runs(shelf, store)
    assert len(report.imported) == 5 and [run for run, _ in report.left_out] == ["run-2"]
