"""A broken or hostile MLflow server, a real one on this machine: a sentence within limits, never a hang or a crash."""

import contextlib
import gzip
import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from lodestar._errors import TrackerError
from lodestar.importers import import_runs, open_reader
from lodestar.importers.readers import _http, mlflow_server
from lodestar.runs import RunStore

EXPERIMENTS = {"experiments": [{"experiment_id": "0", "name": "digits"}]}
QUANTITIES = ("train_loss", "val_acc", "lr")


def listed(*keys: str) -> dict[str, Any]:
    metrics = [{"key": name, "value": 0.5, "step": 8, "timestamp": 1} for name in QUANTITIES]
    infos = [{"run_id": key, "run_name": key, "status": "FINISHED", "lifecycle_stage": "active"} for key in keys]
    return {"runs": [{"info": info, "data": {"metrics": metrics}} for info in infos]}


def values(*keys: str) -> dict[str, Any]:
    return {"metrics": [{"run_id": key, "step": s, "value": 1 / s} for key in keys for s in range(1, 9)]}


class Hostile(ThreadingHTTPServer):
    """Answers by the end of the path: with data as JSON, with bytes as they are, or as a function does."""

    daemon_threads = True

    def __init__(self, **answers: Any):
        super().__init__(("127.0.0.1", 0), Handler)
        self.answers = {"experiments": EXPERIMENTS, "runs": listed("a", "b"), "bulk": values("a", "b")} | answers
        self.asked: list[str] = []
        self.address = f"http://127.0.0.1:{self.server_port}"

    def __enter__(self):
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        return self

    def __exit__(self, *_: object):
        self.shutdown()
        self.server_close()

    def handle_error(self, request, client_address):
        """A client that hangs up is what these tests are about."""


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: "Hostile"  # pyright: ignore[reportIncompatibleVariableOverride]

    def do_POST(self):
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        path = self.path.split("?")[0]
        self.server.asked.append(path)
        part = next(name for name in ("experiments", "runs", "bulk", "get-history") if name in path)
        answer = self.server.answers[part]
        if callable(answer):
            answer = answer(self)
        if answer is not None:
            self.say(answer if isinstance(answer, bytes) else json.dumps(answer).encode())

    do_GET = do_POST

    def say(self, body: bytes, status: int = 200, **headers: str):
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object):
        """Quiet."""


def imported(server: Hostile, tmp_path):
    return import_runs(open_reader("mlflow", server.address), RunStore(tmp_path / "s"))


def test_such_a_server_is_read_where_it_behaves(tmp_path):
    with Hostile() as server:
        assert sorted(imported(server, tmp_path).imported) == ["a", "b"]


@pytest.mark.parametrize(
    ("part", "answer"),
    [
        *((part, answer) for part in ("experiments", "runs", "bulk") for answer in (b"", b"null", b"[]", b"\xff{")),
        *((part, b"[" * 200_000) for part in ("experiments", "runs", "bulk")),
        ("experiments", {"experiments": 5}),
        ("experiments", {"experiments": [5]}),
        ("experiments", {"experiments": [{"name": "x"}]}),
        ("runs", {"runs": {"a": 1}}),
        ("runs", {"runs": [{}]}),
        ("runs", {"runs": [{"info": {"run_id": "a", "status": 5}}]}),
        ("runs", {"runs": [{"info": {"run_id": "a"}, "data": []}]}),
        ("runs", {"runs": [{"info": {"run_id": "a"}, "data": {"metrics": [{"key": "loss", "step": "x"}]}}]}),
        ("runs", {"runs": [{"info": {"run_id": "a"}, "data": {"metrics": [{"key": "loss", "step": [1]}]}}]}),
        ("bulk", {"metrics": 5}),
        ("bulk", {"metrics": [5]}),
        ("bulk", {"metrics": [{}]}),
        ("bulk", values("a", "stranger")),
        ("bulk", {"metrics": [{"run_id": ["a"], "step": 1, "value": 1.0}]}),
    ],
    ids=lambda value: str(value)[:40],
)
def test_a_malformed_answer_is_a_sentence(tmp_path, part, answer):
    with (
        Hostile(**{part: answer}) as server,
        pytest.raises(TrackerError, match=r"not answer as an MLflow server.*Fix: "),
    ):
        imported(server, tmp_path)


def test_a_value_that_is_no_number_costs_its_run_alone(tmp_path):
    odd = values("a", "b")
    odd["metrics"][0]["value"] = "x"

    def bulk(handler: Handler) -> Any:
        asked = [key for key in "ab" if f"run_id={key}" in handler.path]
        return {"metrics": [entry for entry in odd["metrics"] if entry["run_id"] in asked]}

    with Hostile(bulk=bulk) as server:
        report = imported(server, tmp_path)
    assert report.imported == ["b"]
    assert [run for run, _ in report.left_out] == ["a"] and "no number" in report.left_out[0][1]


@pytest.mark.parametrize("part", ["experiments", "runs"])
def test_pages_without_end_are_counted(tmp_path, monkeypatch, part):
    monkeypatch.setattr(mlflow_server, "MOST_PAGES", 20)
    fine = {"experiments": EXPERIMENTS, "runs": listed("a")}[part]

    def pages(handler: Handler) -> Any:
        return fine | {"next_page_token": f"token {len(handler.server.asked)}"}

    with (
        Hostile(**{part: pages}) as server,
        pytest.raises(TrackerError, match=r"without end: more than 20 pages.*Fix: "),
    ):
        imported(server, tmp_path)
    assert len(server.asked) <= 22


def test_pages_in_a_circle_end(tmp_path):
    turns = iter("ABABABABAB")
    with Hostile(runs=lambda _: listed("a") | {"next_page_token": next(turns)}, bulk=values("a")) as server:
        imported(server, tmp_path)
    assert sum("runs" in path for path in server.asked) == 3


def test_a_bulk_answer_out_of_order_is_not_asked_for_for_ever(tmp_path, monkeypatch):
    monkeypatch.setattr(mlflow_server, "_MOST", 16)
    with Hostile(bulk=values("b", "a")) as server, pytest.raises(TrackerError, match="order of their runs"):
        imported(server, tmp_path)
    assert len(server.asked) < 10


def drip_body(handler: Handler) -> None:
    handler.send_response(200)
    handler.send_header("Content-Length", "100000")
    handler.end_headers()
    drip(handler, b" " * 1000)


def drip(handler: Handler, data: bytes) -> None:
    with contextlib.suppress(OSError):
        for byte in data:
            handler.wfile.write(bytes([byte]))
            handler.wfile.flush()
            time.sleep(0.05)


@pytest.mark.parametrize(
    "slow",
    [
        pytest.param(drip_body, id="body"),
        pytest.param(lambda handler: drip(handler, b"HTTP/1.1 200 OK\r\nX-Long: " + b"x" * 1000), id="headers"),
        pytest.param(lambda handler: handler.say(b"", 503, Retry_After="3600"), id="retry after an hour"),
    ],
)
def test_a_byte_now_and_then_is_given_up(tmp_path, monkeypatch, slow):
    monkeypatch.setattr(_http, "SECONDS_IN_ALL", 0.5)
    began = time.monotonic()
    with Hostile(experiments=slow) as server, pytest.raises(TrackerError, match=r"within 0\.5 s.*Fix: "):
        imported(server, tmp_path)
    assert time.monotonic() - began < 30


def test_a_bomb_is_not_unpacked(tmp_path, monkeypatch):
    monkeypatch.setattr(_http, "MOST_BYTES", 1 << 20)
    bomb = gzip.compress(b" " * (20 << 20), 6)
    with (
        Hostile(experiments=lambda handler: handler.say(bomb, Content_Encoding="gzip")) as server,
        pytest.raises(TrackerError, match=r"more than 1,048,576 bytes.*Fix: "),
    ):
        imported(server, tmp_path)


def test_a_body_without_end_is_cut(tmp_path, monkeypatch):
    monkeypatch.setattr(_http, "MOST_BYTES", 1 << 20)

    def pour(handler: Handler) -> None:
        handler.send_response(200)
        handler.send_header("Connection", "close")
        handler.end_headers()
        with contextlib.suppress(OSError):
            while True:
                handler.wfile.write(b" " * 65536)

    with Hostile(experiments=pour) as server, pytest.raises(TrackerError, match="more than 1,048,576 bytes"):
        imported(server, tmp_path)
