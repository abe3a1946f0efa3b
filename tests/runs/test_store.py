"""The store: what goes in comes out exactly, the newest version counts, and errors name the cure."""

import json
import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lodestar._errors import RunError, StoreError
from lodestar.runs import Direction, Facts, Run, RunStore, Series, Status, segment
from lodestar.runs import store as store_module
from lodestar.runs.folder import LocalFolder

values = st.floats(allow_nan=True, allow_infinity=True)
rates = st.floats(min_value=0, allow_infinity=False)
texts = st.text(max_size=30)


@st.composite
def series(draw, elements=values, least=0):
    steps = sorted(draw(st.sets(st.integers(0, 2**40), min_size=least, max_size=12)))
    return Series(steps, draw(st.lists(elements, min_size=len(steps), max_size=len(steps))))


scalars = texts | st.integers(-(2**70), 2**70) | st.booleans() | st.floats(allow_nan=False)
facts = st.builds(
    Facts,
    task=st.none() | texts,
    schedule=st.none() | texts,
    peak_lr=st.none() | st.floats(allow_nan=False),
    seed=st.none() | st.integers(-(2**70), 2**70),
    source=st.none() | texts,
    extra=st.dictionaries(texts, scalars, max_size=3),
)
runs = st.builds(
    Run,
    name=st.text(min_size=1, max_size=40).filter(str.strip),
    loss=series(least=1),
    metric=series(),
    lr=series(rates),
    direction=st.sampled_from(Direction),
    status=st.sampled_from(Status),
    metric_name=texts,
    facts=facts,
    notes=st.lists(texts, max_size=2).map(tuple),
)


@given(st.lists(runs, min_size=1, max_size=4, unique_by=lambda run: run.name))
@settings(max_examples=60, deadline=None)
def test_a_round_trip_is_exact(given_runs):
    with tempfile.TemporaryDirectory() as folder:
        store = RunStore(Path(folder) / "s")
        store.add_many(given_runs)
        assert {run.name: run for run in RunStore(store.path).iter()} == {run.name: run for run in given_runs}


def test_a_listing_tells_what_the_runs_tell(tmp_path, make_run):
    run = make_run("a", facts=Facts(task="t", schedule="cosine", seed=3, source="here"), notes=("odd",))
    RunStore(tmp_path / "s").add(run)
    [summary] = RunStore(tmp_path / "s").list()
    assert (summary.name, summary.points, summary.metric_points, summary.lr_points) == ("a", 50, 10, 50)
    assert (summary.final_metric, summary.peak_lr) == (run.final_metric, run.peak_lr)
    assert (summary.task, summary.schedule, summary.seed, summary.source) == ("t", "cosine", 3, "here")
    assert summary.notes == ("odd",)
    json.dumps(summary.as_dict(), allow_nan=False)


def test_a_listing_reads_no_curves(tmp_path, make_run, monkeypatch):
    RunStore(tmp_path / "s").add(make_run("a"))
    monkeypatch.setattr(segment, "decode", lambda *_: pytest.fail("a curve was read"))
    assert len(RunStore(tmp_path / "s").list()) == 1


def test_the_last_write_wins(tmp_path, make_run):
    one, other = RunStore(tmp_path / "s"), RunStore(tmp_path / "s")
    one.add(make_run("a", points=10))
    other.add(make_run("a", points=20))
    one.add_many([make_run("a", points=25), make_run("a", points=30)])
    assert [len(run.loss) for run in RunStore(tmp_path / "s").iter()] == [30]
    assert len(other) == 1


def test_a_clock_set_back_does_not_hide_a_write(tmp_path, make_run, monkeypatch):
    RunStore(tmp_path / "s").add(make_run("a", points=10))
    monkeypatch.setattr("time.time_ns", lambda: 1)
    RunStore(tmp_path / "s").add(make_run("a", points=20))
    assert len(RunStore(tmp_path / "s").read()[0].loss) == 20


def test_the_last_write_wins_between_open_writers_whose_clocks_differ(tmp_path, make_run, monkeypatch):
    ahead, behind = RunStore(tmp_path / "s"), RunStore(tmp_path / "s")
    now = 10**18
    monkeypatch.setattr("time.time_ns", lambda: now)
    behind.add(make_run("b"))
    now += 3600 * 10**9
    ahead.add(make_run("a", points=10))
    now -= 3600 * 10**9
    behind.add(make_run("a", points=20))
    assert len(RunStore(tmp_path / "s").read(["a"])[0].loss) == 20
    behind.remove(["a"])
    assert "a" not in RunStore(tmp_path / "s")


def test_a_merge_beside_an_iteration_is_decoded_once(tmp_path, make_run, monkeypatch):
    store, reads = RunStore(tmp_path / "s"), []
    for number in range(20):
        store.add(make_run(f"run-{number:02d}"))
    read = LocalFolder.read
    monkeypatch.setattr(LocalFolder, "read", lambda self, name: reads.append(name) or read(self, name))
    runs = RunStore(tmp_path / "s").iter()
    names = [next(runs).name]
    RunStore(tmp_path / "s").compact()
    reads.clear()
    names += [run.name for run in runs]
    assert names == [f"run-{number:02d}" for number in range(20)]
    assert sum(name.startswith("runs-") for name in reads) <= 2  # the one that is gone, and the merged one


def test_names_are_sorted_and_a_choice_keeps_its_order(tmp_path, make_run):
    store = RunStore(tmp_path / "s")
    store.add_many(make_run(name) for name in "cab")
    assert [run.name for run in store.read()] == ["a", "b", "c"]
    assert [run.name for run in store.read(["c", "a"])] == ["c", "a"]
    assert "b" in store and "d" not in store


def test_asking_for_a_run_that_is_not_there_says_how_to_list(tmp_path, make_run):
    store = RunStore(tmp_path / "s")
    store.add(make_run("a"))
    with pytest.raises(StoreError, match=r"no run called 'x'.*lodestar runs"):
        store.read(["a", "x"])


def test_removed_runs_are_gone_and_can_come_back(tmp_path, make_run):
    store = RunStore(tmp_path / "s")
    store.add_many([make_run("a"), make_run("b")])
    assert store.remove(["a"]) == 1
    assert [s.name for s in RunStore(tmp_path / "s").list()] == ["b"]
    with pytest.raises(StoreError, match="no run called 'a'"):
        store.remove(["b", "a"])
    assert "b" in store
    store.add(make_run("a"))
    assert len(store) == 2


def test_compact_changes_nothing_but_the_files(tmp_path, make_run):
    store = RunStore(tmp_path / "s")
    for number in range(6):
        store.add(make_run(f"r{number % 4}", points=10 + number))
    store.remove(["r1"])
    before = store.read()
    store.compact()
    assert len(list(store.path.glob("runs-*"))) == 1
    assert RunStore(tmp_path / "s").read() == before
    assert len(store) == 3


def test_a_write_after_a_compaction_snapshot_still_wins(tmp_path, make_run, monkeypatch):
    store, other = RunStore(tmp_path / "s"), RunStore(tmp_path / "s")
    store.add(make_run("a", points=10))
    encode = segment.encode

    def encode_late(runs, written):  # another process writes while the merged segment is being made
        data = encode(runs, written)
        monkeypatch.setattr(segment, "encode", encode)
        other.add(make_run("a", points=20))
        return data

    monkeypatch.setattr(segment, "encode", encode_late)
    store.compact()
    assert [len(run.loss) for run in RunStore(tmp_path / "s").iter()] == [20]


def test_a_stream_goes_on_when_its_segments_are_merged_away(tmp_path, make_run):
    store = RunStore(tmp_path / "s")
    for name in "abc":
        store.add(make_run(name))
    stream = store.iter()
    first = next(stream)
    RunStore(tmp_path / "s").compact()
    assert sorted([first.name, *(run.name for run in stream)]) == ["a", "b", "c"]


def test_a_stream_holds_one_segment_at_a_time(tmp_path, make_run, monkeypatch):
    monkeypatch.setattr(store_module, "BATCH_RUNS", 2)
    store = RunStore(tmp_path / "s")
    assert store.add_many(make_run(f"r{i}") for i in range(7)) == 7
    assert len(list(store.path.glob("runs-*"))) == 4
    sizes = []
    decode = segment.decode
    monkeypatch.setattr(segment, "decode", lambda *a: sizes.append(len(found := list(decode(*a)))) or found)
    assert sum(1 for _ in store.iter()) == 7
    assert max(sizes) == 2


@pytest.mark.parametrize("name", ["a/b/../c", "名前 🚀", "x" * 10_000, "nul\0byte", ".hidden", "CON", "[red]x"])
def test_any_name_is_stored_and_never_used_as_a_file_name(tmp_path, make_run, name):
    store = RunStore(tmp_path / "s")
    store.add(make_run(name))
    assert store.read([name])[0].name == name
    assert {p.name.split("-")[0] for p in store.path.iterdir()} == {"store.json", "scan.lock", "compact.lock", "runs"}


def test_a_name_no_file_can_hold_is_refused(tmp_path, make_run):
    with pytest.raises(RunError, match="not valid Unicode"):
        RunStore(tmp_path / "s").add(make_run("\ud800"))


def test_a_fact_that_is_no_scalar_is_refused(tmp_path, make_run):
    with pytest.raises(RunError, match=r"'sizes'.*got list"):
        RunStore(tmp_path / "s").add(make_run(facts=Facts(extra={"sizes": [1, 2]})))  # pyright: ignore


def test_a_missing_store_says_how_to_make_one(tmp_path):
    for ask in (RunStore.open, lambda path: RunStore(path).list(), lambda path: len(RunStore(path))):
        with pytest.raises(StoreError, match=r"there is no run store at .*lodestar import"):
            ask(tmp_path / "none")
    assert not (tmp_path / "none").exists()


def test_an_empty_store_is_empty_not_broken(tmp_path):
    store = RunStore.create(tmp_path / "s")
    assert store.list() == [] and len(store.read()) == 0 and list(store.iter()) == []
    store.compact()
    assert RunStore.open(tmp_path / "s").damage() == ()


def test_a_folder_of_other_things_is_not_written_to(tmp_path, make_run):
    (tmp_path / "thesis.tex").write_text("mine")
    with pytest.raises(StoreError, match=r"thesis.tex.*new or empty folder"):
        RunStore(tmp_path).add(make_run())
    assert [p.name for p in tmp_path.iterdir()] == ["thesis.tex"]


def test_a_store_inside_a_file_is_refused(tmp_path, make_run):
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="Fix: name a folder"):
        RunStore(tmp_path / "file").add(make_run())
    with pytest.raises(StoreError, match="Fix: name a folder"):
        RunStore(tmp_path / "file" / "s").add(make_run())


def test_a_newer_store_is_refused_with_a_sentence(tmp_path, make_run, monkeypatch):
    store = RunStore(tmp_path / "s")
    store.add(make_run())
    (store.path / "store.json").write_text('{"lodestar store": 99}')
    with pytest.raises(StoreError, match=r"newer Lodestar \(format 99.*Fix: (git -C|install a newer)"):
        RunStore.open(store.path)


def test_a_newer_segment_is_refused_too(tmp_path, make_run, monkeypatch):
    store = RunStore.create(tmp_path / "s")
    monkeypatch.setattr(segment, "VERSION", 2)
    store.add(make_run())
    monkeypatch.setattr(segment, "VERSION", 1)
    (store.path / "store.json").write_text('{"lodestar store": 1}')
    with pytest.raises(StoreError, match="newer Lodestar"):
        RunStore.open(store.path).list(skip_damaged=True)


def test_a_damaged_header_names_the_cure_and_the_cure_works(tmp_path, make_run):
    store = RunStore(tmp_path / "s")
    store.add(make_run("a"))
    (store.path / "store.json").write_text('{"lod')
    with pytest.raises(StoreError, match=r"store.json is damaged.*RunStore.create"):
        store.list()
    (store.path / "store.json").unlink()
    assert RunStore.create(store.path).read(["a"])[0].name == "a"


def test_leftovers_of_a_killed_writer_are_ignored_and_swept_up_later(tmp_path, make_run):
    store = RunStore(tmp_path / "s")
    store.add(make_run("a"))
    fresh, stale = store.path / ".partial-1-aa", store.path / ".partial-2-bb"
    for file in (fresh, stale):
        file.write_bytes(b"half")
    os.utime(stale, (0, 0))
    assert len(store) == 1
    store.compact()
    assert fresh.exists() and not stale.exists()
