"""Damage, a read-only folder and a full disk: a clear error, and nothing that was stored is lost."""

import contextlib
import json
import os
import random
import resource
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.hostile import TRIES, some_bytes, some_value

from lodestar._errors import StoreError
from lodestar.runs import Direction, Facts, Run, RunStore, Series
from lodestar.runs.catalog import segment_name

_CURVE = Series(range(20), [1 / (i + 1) for i in range(20)])
RUN = Run("a", _CURVE, _CURVE, _CURVE, Direction.MAX)


@pytest.fixture
def two(tmp_path, make_run) -> tuple[RunStore, Path, Path]:
    """A store of two segments, with runs a and b in the first and c in the second."""
    store = RunStore(tmp_path / "s")
    store.add_many([make_run("a"), make_run("b")])
    store.add(make_run("c"))
    first, second = sorted(store.path.glob("runs-*"))
    return store, first, second


@pytest.mark.parametrize("size", [0, 3, 200, -200, -1])
def test_a_truncated_file_is_named_and_the_rest_can_be_read(two, size, caplog):
    store, first, _ = two
    data = first.read_bytes()
    first.write_bytes(data[:size])
    with pytest.raises(StoreError, match=rf"{first.name} is damaged.*other 1 runs are fine.*skip_damaged=True"):
        RunStore(store.path).list()
    assert [s.name for s in RunStore(store.path).list(skip_damaged=True)] == ["c"]
    assert "is damaged" in caplog.text
    assert [run.name for run in RunStore(store.path).iter(skip_damaged=True)] == ["c"]
    assert [damage.file for damage in RunStore(store.path).damage()] == [first]


def test_damage_in_a_curve_is_found_when_it_is_read_and_names_the_runs(two):
    store, first, _ = two
    data = bytearray(first.read_bytes())
    columns = pq.read_metadata(first).row_group(0)
    data[columns.column(columns.num_columns - 1).data_page_offset + 40] ^= 0xFF
    first.write_bytes(data)
    with pytest.raises(StoreError, match=r"does not match the checksum.*It holds a, b.*other 1 runs"):
        list(RunStore(store.path).iter())
    assert [run.name for run in RunStore(store.path).read(skip_damaged=True)] == ["c"]


@given(where=st.floats(0, 1, exclude_max=True), flip=st.integers(1, 255))
@settings(max_examples=150, deadline=None)
def test_no_flipped_byte_goes_unnoticed(where, flip):
    with tempfile.TemporaryDirectory() as folder:
        store = RunStore(Path(folder) / "s")
        store.add(RUN)
        [file] = store.path.glob("runs-*")
        data = bytearray(file.read_bytes())
        data[int(where * len(data))] ^= flip
        file.write_bytes(data)
        with contextlib.suppress(StoreError):
            RunStore(store.path).list()  # may or may not see it, but must not crash
        with pytest.raises(StoreError):
            RunStore(store.path).read()


def tampered(folder: Path, change: Callable[[Path], None]) -> RunStore:
    """A store whose one file a stranger has changed, checksums and all."""
    store = RunStore(folder)
    store.add_many([RUN, RUN.replace(name="b", facts=Facts("t", "linear", 1e-3, 0, "table x", {"batch": 8}))])
    [file] = store.path.glob("runs-*")
    change(file)
    data = file.read_bytes()
    file.rename(file.with_name(segment_name(1, "aa", data)) if len(data) > 8 else file)
    return RunStore(folder)


def test_a_store_with_a_stranger_s_list_of_runs(tmp_path):
    """The checksums hold, since they are no signature: a `StoreError`, or runs that are runs."""
    rng, refused = random.Random(1), 0

    def change(file: Path) -> None:
        table = pq.read_table(file)
        told = dict(pq.read_metadata(file).metadata)
        told[b"lodestar.rows"] = json.dumps(some_value(json.loads(told[b"lodestar.rows"]), rng)).encode()
        pq.write_table(table.replace_schema_metadata(told), file)

    for number in range(TRIES):
        store = tampered(tmp_path / str(number), change)
        try:
            listed, runs = store.list(), store.read()
        except StoreError:
            refused += 1
            continue
        assert json.dumps([summary.as_dict() for summary in listed])
        assert all(isinstance(run, Run) for run in runs)
    assert refused > TRIES / 3


def test_a_store_with_a_stranger_s_bytes(tmp_path):
    rng = random.Random(2)
    for number in range(TRIES):
        store = tampered(
            tmp_path / str(number), lambda file: (file.write_bytes(some_bytes(file.read_bytes(), rng)), None)[1]
        )
        with contextlib.suppress(StoreError):
            assert all(isinstance(run, Run) for run in store.read())


@pytest.mark.parametrize("text", ["[" * 100_000, "{}", "[]", '{"lodestar store": [1]}', '{"lodestar store": 1e999}'])
def test_a_damaged_header_is_told(tmp_path, text):
    RunStore(tmp_path / "s").add(RUN)
    (tmp_path / "s" / "store.json").write_text(text)
    with pytest.raises(StoreError, match=r"store\.json is damaged"):
        RunStore(tmp_path / "s").list()


@pytest.mark.parametrize("lock", ["scan.lock", "compact.lock"])
def test_a_lock_is_not_sought_behind_a_link(tmp_path, lock):
    """Somebody with access to the folder could have us make or hold a file of ours elsewhere."""
    store = RunStore(tmp_path / "s")
    store.add(RUN)
    (store.path / lock).unlink()
    (store.path / lock).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StoreError, match=r"symbolic link.*Fix: remove the link"):
        store.compact()
    (store.path / "store.json").unlink()
    with pytest.raises(StoreError, match="symbolic link"):
        RunStore.create(store.path)
    assert not (tmp_path / "elsewhere").exists()


def test_a_strange_parquet_file_is_damage_not_a_crash(two, tmp_path):
    store, _, _ = two
    pq.write_table(pa.table({"x": [1]}), store.path / "runs-1-a-b.parquet")
    with pytest.raises(StoreError, match=r"runs-1-a-b\.parquet is damaged"):
        RunStore(store.path).list()


def test_compact_refuses_to_drop_a_damaged_file(two):
    store, first, _ = two
    first.write_bytes(first.read_bytes()[:100])
    with pytest.raises(StoreError, match="damaged"):
        RunStore(store.path).compact()
    assert first.exists()


@contextlib.contextmanager
def not_allowed_to_write(folder: Path):
    """Take the right to write away; root has every right, so root becomes nobody for a while."""
    folder.chmod(0o555)
    if os.geteuid() == 0:
        try:
            os.seteuid(65534)
        except PermissionError:
            pytest.skip("root may write anywhere, and this root may not become another user")
    try:
        yield
    finally:
        if os.getuid() == 0:
            os.seteuid(0)
        folder.chmod(0o755)


@pytest.fixture
def open_folder():
    """A folder that any user can reach (pytest's own is closed to others)."""
    path = Path(tempfile.mkdtemp())
    path.chmod(0o755)
    yield path
    shutil.rmtree(path)


def test_a_read_only_store_can_be_read_and_refuses_writes(open_folder, make_run):
    store = RunStore(open_folder / "s")
    store.add(make_run("a"))
    files = sorted(store.path.iterdir())
    with not_allowed_to_write(store.path):
        assert RunStore(store.path).read()[0] == make_run("a")
        for write in (lambda: store.add(make_run("b")), lambda: store.remove(["a"]), store.compact):
            with pytest.raises(StoreError, match=r"cannot write.*read-only.*Fix.*stored before is untouched"):
                write()
    assert sorted(store.path.iterdir()) == files
    assert len(RunStore(store.path)) == 1


def test_a_store_cannot_be_made_in_a_read_only_folder(open_folder, make_run):
    with not_allowed_to_write(open_folder), pytest.raises(StoreError, match="read-only"):
        RunStore(open_folder / "s").add(make_run())


def test_a_write_that_does_not_fit_loses_nothing(tmp_path, make_run):
    store = RunStore(tmp_path / "s")
    store.add(make_run("a"))
    files = sorted(store.path.iterdir())
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard))
    try:
        with pytest.raises(StoreError, match=r"larger than this system lets us write.*0 are stored"):
            store.add(make_run("b"))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert sorted(store.path.iterdir()) == files
    assert RunStore(store.path).read()[0] == make_run("a")


def test_a_full_disk_loses_nothing(tmp_path, make_run):
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=100k", "tmpfs", disk], capture_output=True)
    if mounted.returncode:
        pytest.skip("only root may mount a small disk; the test above covers a write that does not fit")
    try:
        store = RunStore(disk / "s")
        added = []
        with pytest.raises(StoreError, match=r"the disk is full. Fix: free some space"):
            for number in range(1000):
                store.add(make_run(f"r{number}", points=200))
                added.append(f"r{number}")
        stored = RunStore(store.path).read()
        assert [run.name for run in stored] == sorted(added)
        assert len(added) > 2
        assert all(len(run.loss) == 200 for run in stored)
        assert not list(store.path.glob(".partial*"))
    finally:
        subprocess.run(["umount", disk], check=True)


def test_a_batch_that_fails_says_how_many_went_in(tmp_path, make_run, monkeypatch):
    monkeypatch.setattr("lodestar.runs.store.BATCH_RUNS", 2)
    store = RunStore(tmp_path / "s")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    big = [make_run("c", points=3000), make_run("d", points=3000)]
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, hard))
    try:
        with pytest.raises(StoreError, match="2 are stored, the others not"):
            store.add_many([make_run("a"), make_run("b"), *big])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert [s.name for s in RunStore(store.path).list()] == ["a", "b"]
