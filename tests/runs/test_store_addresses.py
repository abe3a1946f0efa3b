"""Stores at addresses: the same behaviour on a disk, in memory, on a real S3 server, and where a write is a rename."""

import os
import secrets
import threading
import urllib.request

import fsspec
import pytest
from fsspec.implementations.local import LocalFileSystem

from lodestar._errors import MissingExtra, StoreError
from lodestar.runs import RunStore, catalog, segment
from lodestar.runs import store as store_module
from lodestar.runs.folder import is_address, open_folder
from lodestar.runs.remote import RemoteFolder

pytestmark = [
    pytest.mark.filterwarnings("ignore:datetime.datetime.utcnow:DeprecationWarning"),  # botocore and moto
]


@pytest.fixture(scope="module")
def s3(tmp_path_factory):
    """A real S3 server on this machine, with a bucket; the address's package is told by the usual variables."""
    from moto.server import ThreadedMotoServer

    patch = pytest.MonkeyPatch()
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    patch.setenv("AWS_ENDPOINT_URL", f"http://{host}:{port}")
    patch.setenv("AWS_ACCESS_KEY_ID", "testing")
    patch.setenv("AWS_SECRET_ACCESS_KEY", "testing")
    patch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    patch.setenv("AWS_CONFIG_FILE", str(tmp_path_factory.mktemp("aws") / "none"))
    fsspec.filesystem("s3").mkdir("bucket")
    yield "s3://bucket"
    type(fsspec.filesystem("s3")).clear_instance_cache()
    server.stop()
    patch.undo()


@pytest.fixture(params=["file", "memory", "s3", "rename"])
def address(request, tmp_path, monkeypatch) -> str:
    """An empty place for a store, of each kind."""
    name = secrets.token_hex(4)
    if request.param == "file":
        return f"file://{tmp_path}/{name}"
    if request.param == "s3":
        return f"{request.getfixturevalue('s3')}/deep/{name}"
    if request.param == "rename":  # a file system that is no object store; the disk's own, through fsspec
        there = tmp_path / name
        monkeypatch.setattr(
            RemoteFolder, "at", classmethod(lambda cls, text: RemoteFolder(text, LocalFileSystem(), str(there)))
        )
        return f"sftp://host/{name}"
    return f"memory://{name}/runs"


def test_what_goes_in_comes_out(address, make_run):
    store = RunStore(address)
    assert not store.exists()
    store.add_many(make_run(name) for name in "cab")
    other = RunStore.open(address)
    assert other.exists() and len(other) == 3 and "a" in other
    assert [summary.name for summary in other.list()] == ["a", "b", "c"]
    assert list(other.read()) == [make_run(name) for name in "abc"]
    assert other.damage() == ()


def test_the_address_of_a_store_is_the_store(address, make_run):
    RunStore(address).add(make_run("a"))
    assert len(RunStore(RunStore(address).address)) == 1
    assert len(RunStore(address + "/")) == 1


def test_removed_and_replaced_runs_stay_so_through_a_merge(address, make_run):
    store = RunStore.create(address)
    for number in range(6):
        store.add(make_run(f"r{number % 4}", points=10 + number))
    store.remove(["r1"])
    before = store.read()
    store.compact()
    assert RunStore(address).read() == before
    assert [len(run.loss) for run in before] == [14, 12, 13]
    assert len(open_folder(address).names()) <= 4  # one segment, the header, two locks on a disk


def test_a_stream_goes_on_when_its_segments_are_merged_away(address, make_run):
    store = RunStore(address)
    for name in "abc":
        store.add(make_run(name))
    stream = store.iter()
    first = next(stream)
    RunStore(address).compact()
    assert sorted([first.name, *(run.name for run in stream)]) == ["a", "b", "c"]


def test_a_footer_longer_than_the_first_guess_is_read_whole(address, make_run, monkeypatch):
    monkeypatch.setattr(catalog, "_FIRST_GUESS", 100)
    RunStore(address).add_many(make_run(f"r{number}") for number in range(5))
    assert len(RunStore(address).list()) == 5


def test_a_damaged_file_is_named_by_its_address(address, make_run):
    store = RunStore(address)
    store.add(make_run("a"))
    store.add(make_run("b"))
    folder = open_folder(address)
    first, _ = sorted(name for name in folder.names() if name.startswith("runs-"))
    folder.write(first, folder.read(first)[:-50])
    with pytest.raises(StoreError, match=rf"{first} is damaged.*other 1 runs are fine"):
        RunStore(address).list()
    assert [summary.name for summary in RunStore(address).list(skip_damaged=True)] == ["b"]
    assert [str(damage.file) for damage in RunStore(address).damage()] == [str(folder.place(first))]


def test_a_missing_store_says_how_to_make_one(address):
    with pytest.raises(StoreError, match=r"there is no run store at .*lodestar import FILES --out"):
        RunStore.open(address)


def test_a_folder_of_other_things_is_not_written_to(address, make_run):
    folder = open_folder(address)
    folder.make()
    folder.write("thesis.tex", b"mine")
    with pytest.raises(StoreError, match=r"thesis.tex.*new or empty folder"):
        RunStore(address).add(make_run())
    with pytest.raises(StoreError, match=r"is no run store"):
        RunStore.open(address)


def test_a_newer_store_is_refused(address, make_run):
    RunStore(address).add(make_run())
    open_folder(address).write("store.json", b'{"lodestar store": 99}')
    with pytest.raises(StoreError, match=r"newer Lodestar \(format 99"):
        RunStore.open(address)


@pytest.mark.parametrize("address", ["memory", "s3", "rename"], indirect=True)  # a disk has locks
def test_two_merges_at_once_lose_nothing_and_bring_nothing_back(address, make_run, monkeypatch):
    """The slow merge has read run a; before it writes, a is removed and a second merge has come and gone."""
    store, other = RunStore(address), RunStore(address)
    store.add_many([make_run("a"), make_run("b")])
    encode = segment.encode

    def encode_late(runs, written):
        monkeypatch.setattr(segment, "encode", encode)
        other.remove(["a"])
        other.add(make_run("b", points=7))
        other.compact()
        return encode(runs, written)

    monkeypatch.setattr(segment, "encode", encode_late)
    store.compact()
    assert [(run.name, len(run.loss)) for run in RunStore(address).iter()] == [("b", 7)]


@pytest.mark.parametrize("address", ["memory", "s3", "rename"], indirect=True)  # a disk has locks
def test_a_merge_begins_again_when_another_took_its_files(address, make_run, monkeypatch):
    store, other = RunStore(address), RunStore(address)
    monkeypatch.setattr(store_module, "BATCH_RUNS", 1)
    for name in "abc":
        store.add(make_run(name))
    encode = segment.encode

    def encode_late(runs, written):
        monkeypatch.setattr(segment, "encode", encode)
        other.compact()
        return encode(runs, written)

    monkeypatch.setattr(segment, "encode", encode_late)
    store.compact()
    assert [run.name for run in RunStore(address).read()] == ["a", "b", "c"]


def test_writers_a_reader_and_a_merger_at_once(address, make_run):
    RunStore.create(address)
    failures: list[BaseException] = []

    def work(me: str) -> None:
        try:
            store = RunStore(address)
            for number in range(6):
                store.add_many([make_run(f"{me}{number}"), make_run("shared", points=10 + number)])
                if number == 3 and me == "a":
                    store.compact()
        except BaseException as error:  # noqa: BLE001 - told below
            failures.append(error)

    threads = [threading.Thread(target=work, args=(me,)) for me in "abc"]
    for thread in threads:
        thread.start()
    seen = 0
    while any(thread.is_alive() for thread in threads):
        names = [run.name for run in RunStore(address).iter()]
        assert len(names) == len(set(names)) >= seen
        seen = len(names)
    assert not failures
    assert sorted(run.name for run in RunStore(address).read()) == sorted(
        [*(f"{me}{i}" for me in "abc" for i in range(6)), "shared"]
    )


def test_a_merge_between_two_pages_of_a_listing_hides_nothing(s3, make_run, monkeypatch):
    """A listing that misses both the old files and the new one differs from the next, and so is not believed."""
    address = f"{s3}/{secrets.token_hex(4)}"
    for name in "ab":
        RunStore(address).add(make_run(name))
    look = RemoteFolder._look
    looks: list[dict[str, int]] = []

    def torn_look(self):
        found = look(self)
        looks.append(found)
        return {} if len(looks) == 1 else found

    monkeypatch.setattr(RemoteFolder, "_look", torn_look)
    assert len(RunStore(address).list()) == 2


def test_no_bucket_is_said_and_none_is_made(s3, make_run):
    with pytest.raises(
        StoreError, match=r"cannot write to s3://nowhere/runs: there is no such bucket.*make the bucket"
    ):
        RunStore("s3://nowhere/runs").add(make_run())
    with pytest.raises(StoreError, match="there is no run store at s3://nowhere/runs"):
        RunStore.open("s3://nowhere/runs")


def test_no_permission_is_said(s3, make_run):
    store = RunStore(f"{s3}/{secrets.token_hex(4)}")
    _ask_for_keys("0")
    try:
        for use in (lambda: store.add(make_run()), store.list):
            with pytest.raises(StoreError, match=r"the store at s3://.*you have no permission.*credentials.*may list"):
                use()
    finally:
        _ask_for_keys("inf")


def _ask_for_keys(after: str) -> None:
    """After so many requests, the server looks at keys; it knows none."""
    address = f"{os.environ['AWS_ENDPOINT_URL']}/moto-api/reset-auth"
    plain = {"Content-Type": "text/plain"}
    urllib.request.urlopen(urllib.request.Request(address, after.encode(), plain, method="POST")).close()


def test_no_credentials_are_said(s3, make_run, monkeypatch):
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    system = type(fsspec.filesystem("s3"))(skip_instance_cache=True)
    store = RunStore(f"{s3}/x")
    store._folder._system = system  # pyright: ignore[reportAttributeAccessIssue]
    with pytest.raises(StoreError, match=r"redentials.*Fix: check the address, your credentials"):
        store.add(make_run())


def test_an_unknown_protocol_is_said():
    with pytest.raises(StoreError, match=r"there is no protocol 'warp'.*s3://"):
        RunStore("warp://bucket/runs")


def test_a_missing_package_is_named():
    with pytest.raises(MissingExtra, match=r"gs:// addresses need.*pip install .*\[remote\]' gcsfs"):
        RunStore("gs://bucket/runs")


def test_a_chain_is_refused():
    with pytest.raises(ValueError, match="a plain one"):
        RunStore("simplecache::s3://bucket/runs")


def test_an_address_made_a_path_is_refused(tmp_path):
    from pathlib import Path

    with pytest.raises(ValueError, match="lost a slash"):
        RunStore(Path("s3://bucket/runs"))


def test_what_is_an_address():
    assert is_address("s3://b/x") and is_address("memory://x")
    assert not is_address("runs") and not is_address("C:\\runs") and not is_address("/tmp/a://b")


def test_a_remote_store_has_no_path(make_run):
    with pytest.raises(StoreError, match="has no path"):
        _ = RunStore("memory://x").path
