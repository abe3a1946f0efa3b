"""MLflow: the contract on a server, an SQLite store and an old file store, all written by the real client; and what
is MLflow's own: deleted runs, experiments, infinities, large histories, errors with cures.
"""

import http.server
import threading

import numpy as np
import pytest
from tests.importers import mlflow_places

from lodestar._errors import TrackerError
from lodestar.importers import Choices, import_runs
from lodestar.importers.readers.mlflow import MlflowReader
from lodestar.importers.readers.mlflow_client import ClientBackend
from lodestar.importers.readers.mlflow_server import ServerBackend
from lodestar.runs import RunStore, Status
from lodestar.testing import ReaderContract, Written

pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning"),  # SQLAlchemy's pool, closed with the process
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning:mlflow"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]


@pytest.fixture(scope="session")
def empty(tmp_path_factory):
    return mlflow_places.empty_database(tmp_path_factory.mktemp("mlflow"))


@pytest.fixture(scope="session")
def server(empty, tmp_path_factory):
    folder = tmp_path_factory.mktemp("server")
    address = mlflow_places.copied(empty, folder / "server.db")
    with mlflow_places.server(folder, backend=address) as (url, _):
        yield url


@pytest.fixture
def database(empty, tmp_path):
    return mlflow_places.copied(empty, tmp_path / "mlflow.db")


def simple(name="a", points=20, **config):
    steps = range(1, points + 1)
    curves = {
        "loss": {s: 1 / s for s in steps},
        "val_acc": {s: 1 - 1 / s for s in steps},
        "lr": dict.fromkeys(steps, 0.1),
    }
    return Written(name, curves, config)


class TestSqlite(ReaderContract):
    @pytest.fixture(autouse=True)
    def _given(self, empty):
        self.empty = empty

    def make(self, place, runs):
        mlflow_places.write(mlflow_places.copied(self.empty, place / "mlflow.db"), "digits", runs)

    def open(self, place):
        return MlflowReader(f"sqlite:///{place / 'mlflow.db'}")

    def nowhere(self, place):
        return MlflowReader(f"sqlite:///{place / 'mlflow.db'}")


class TestFiles(ReaderContract):
    def make(self, place, runs):
        mlflow_places.write(f"file:{place / 'mlruns'}", "digits", runs)

    def open(self, place):
        return MlflowReader(str(place / "mlruns"))

    def nowhere(self, place):
        return MlflowReader(str(place))


class TestServer(ReaderContract):
    @pytest.fixture(autouse=True)
    def _given(self, server):
        self.url = server

    def make(self, place, runs):
        mlflow_places.write(self.url, place.name, runs)

    def open(self, place):
        return MlflowReader(self.url, experiment=[place.name])

    def nowhere(self, place):
        return MlflowReader(self.url, experiment=["nowhere"])


class TestClient(ReaderContract):
    """MLflow's own client, on the store that we would read ourselves."""

    @pytest.fixture(autouse=True)
    def _given(self, empty):
        self.empty = empty

    def make(self, place, runs):
        mlflow_places.write(mlflow_places.copied(self.empty, place / "mlflow.db"), "digits", runs)

    def open(self, place):
        tracker = MlflowReader(str(place / "mlflow.db"))
        tracker._backend = ClientBackend(f"sqlite:///{place / 'mlflow.db'}")
        return tracker

    def nowhere(self, place):
        return MlflowReader("nosuchscheme://there")


def test_all_ways_of_reading_one_store_agree(server, empty, tmp_path):
    runs = [simple("a", seed=3), simple("b")]
    mlflow_places.write(server, "agree", runs)
    address = mlflow_places.copied(empty, tmp_path / "mlflow.db")
    mlflow_places.write(address, "agree", runs)
    stores = []
    for place in (server, address):
        import_runs(MlflowReader(place, experiment=["agree"]), RunStore(tmp_path / str(len(stores))))
        stores.append(RunStore(tmp_path / str(len(stores))).read())
    for one, other in zip(*stores, strict=True):
        assert (one.name, one.loss, one.metric, one.lr) == (other.name, other.loss, other.metric, other.lr)
        assert one.facts.task == other.facts.task == "agree"


def test_a_deleted_run_is_left_out_and_said(database, tmp_path):
    gone, _ = mlflow_places.write(database, "digits", [simple("gone"), simple("kept")])
    mlflow_places.client(database).delete_run(gone)
    report = import_runs(MlflowReader(database), RunStore(tmp_path / "store"))
    assert report.imported == ["kept"]
    assert report.left_out == [("gone", "it was deleted in MLflow")]


def test_a_running_run_is_fetched_again_when_it_went_on(database, tmp_path):
    store = RunStore(tmp_path / "store")
    (key,) = mlflow_places.write(database, "digits", [simple(points=5)], status="RUNNING")
    import_runs(MlflowReader(database), store)
    assert store.read()[0].status is Status.CUT_SHORT
    client = mlflow_places.client(database)
    client.log_metric(key, "loss", 0.01, step=6)
    client.set_terminated(key)
    report = import_runs(MlflowReader(database), store)
    assert report.replaced == report.imported == ["a"]
    assert store.read()[0].last_step == 6 and store.read()[0].status is Status.FINISHED


def test_a_resumed_run_keeps_the_last_value_of_a_step(database, tmp_path):
    (key,) = mlflow_places.write(database, "digits", [simple(points=5)], status="RUNNING")
    client = mlflow_places.client(database)
    for step in (4, 5, 6):
        client.log_metric(key, "loss", 9.0 + step, step=step, timestamp=2**42)
    store = RunStore(tmp_path / "store")
    import_runs(MlflowReader(database), store)
    assert store.read()[0].loss.values.tolist() == [1, 1 / 2, 1 / 3, 13, 14, 15]
    assert any("the run was resumed" in note for note in store.read()[0].notes)


def test_experiments_are_chosen_by_name_and_become_the_task(database, tmp_path):
    for name in ("one", "two", "three"):
        mlflow_places.write(database, name, [simple(f"in-{name}")])
    store = RunStore(tmp_path / "store")
    import_runs(MlflowReader(database, experiment=["one", "two"]), store)
    assert {run.name: run.facts.task for run in store.read()} == {"in-one": "one", "in-two": "two"}


def test_a_missing_experiment_says_which_there_are(database):
    mlflow_places.write(database, "digits", [])
    with pytest.raises(TrackerError, match=r"no experiment 'digit'.*'Default', 'digits'"):
        MlflowReader(database, experiment=["digit"])


def test_a_history_longer_than_an_answer_of_the_server_is_whole(server, monkeypatch):
    """The bulk endpoint cuts at 25,000 values; here we ask for pages of 25."""
    monkeypatch.setattr("lodestar.importers.readers.mlflow_server._MOST", 25)
    mlflow_places.write(
        server, "long", [simple(name, points=n) for name, n in (("a", 10), ("b", 60), ("c", 24), ("d", 25))]
    )
    tracker = MlflowReader(server, experiment=["long"])
    runs = list(tracker.list())
    found = tracker.fetch_many(runs, ["loss", "lr"])
    assert {run.name: len(found[run.key]["loss"].values) for run in runs} == {"a": 10, "b": 60, "c": 24, "d": 25}
    for run in runs:
        np.testing.assert_array_equal(found[run.key]["loss"].values, 1 / found[run.key]["loss"].steps)


def test_a_server_without_the_bulk_endpoint_is_asked_page_by_page(server, monkeypatch):
    monkeypatch.setattr("lodestar.importers.readers.mlflow_server.BULK", "ajax-api/2.0/mlflow/no-such-endpoint")
    monkeypatch.setattr("lodestar.importers.readers.mlflow_server._MOST", 7)
    mlflow_places.write(server, "paged", [simple(points=20)])
    tracker = MlflowReader(server, experiment=["paged"])
    (run,) = tracker.list()
    assert tracker.fetch(run, ["loss"])["loss"].steps.tolist() == list(range(1, 21))


@pytest.mark.parametrize("code", [401, 403])
def test_no_permission_says_what_to_set(code):
    with answering(code) as address, pytest.raises(TrackerError, match="MLFLOW_TRACKING_USERNAME"):
        MlflowReader(address)


def test_a_server_that_is_none_of_mlflows_says_so():
    with answering(404) as address, pytest.raises(TrackerError, match="does not answer as an MLflow server"):
        MlflowReader(address)


def test_credentials_are_sent(monkeypatch):
    monkeypatch.setenv("MLFLOW_TRACKING_TOKEN", "secret")
    with answering(200, b'{"experiments": []}') as address:
        assert ServerBackend(address).experiments() == {}
    assert Answering.seen["Authorization"] == "Bearer secret"


def test_nobody_there_says_so():
    with pytest.raises(
        TrackerError, match=r"cannot reach an MLflow server at http://127.0.0.1:1.*Fix: check the address"
    ):
        MlflowReader("http://127.0.0.1:1")


def test_a_database_of_something_else_says_so(tmp_path):
    import sqlite3

    sqlite3.connect(tmp_path / "other.db").execute("CREATE TABLE a (b)").connection.close()
    with pytest.raises(TrackerError, match="none of MLflow's"):
        MlflowReader(str(tmp_path / "other.db"))
    (tmp_path / "text.db").write_text("hello " * 100)
    with pytest.raises(TrackerError, match="cannot read"):
        MlflowReader(str(tmp_path / "text.db"))


def test_a_damaged_metric_file_leaves_out_its_run_alone(tmp_path):
    mlflow_places.write(f"file:{tmp_path / 'mlruns'}", "digits", [simple("bad"), simple("good")])
    tracker = MlflowReader(str(tmp_path / "mlruns"))
    bad = next(run for run in tracker.list() if run.name == "bad")
    next(tmp_path.glob(f"mlruns/*/{bad.key}/metrics/loss")).write_text("12 what 3\n")
    report = import_runs(MlflowReader(str(tmp_path / "mlruns")), RunStore(tmp_path / "store"))
    assert report.imported == ["good"]
    assert "line 1 of" in report.left_out[0][1]


def test_a_metric_no_run_has_lists_those_there_are(database, tmp_path):
    mlflow_places.write(database, "digits", [simple("a"), simple("b")])
    with pytest.raises(
        TrackerError, match=r"no run in .* logged 'val_ac' .*Did you mean 'val_acc'\?.*'loss' \(2 runs\)"
    ):
        import_runs(MlflowReader(database), RunStore(tmp_path / "s"), Choices(metric="val_ac"))


class Answering(http.server.BaseHTTPRequestHandler):
    """Answers everything with one code and body."""

    code, body = 200, b""
    seen: dict = {}  # noqa: RUF012

    def do_POST(self):
        type(self).seen = dict(self.headers)
        self.send_response(self.code)
        self.send_header("Content-Length", str(len(self.body)))
        self.end_headers()
        self.wfile.write(self.body)

    def log_message(self, format, *args):
        """Nothing."""


class answering:
    """A small server on a free port."""

    def __init__(self, code, body=b"what?"):
        Answering.code, Answering.body = code, body

    def __enter__(self):
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answering)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return f"http://127.0.0.1:{self.server.server_port}"

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()
