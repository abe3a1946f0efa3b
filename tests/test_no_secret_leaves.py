"""A password in an address goes to the server and nowhere else: no message, no stored file, no JSON, no log has it."""

import base64
import http.server
import json
import threading
import traceback
from pathlib import Path

import pytest
from tests.curves import toy_runs
from typer.testing import CliRunner

from lodestar import cli
from lodestar._errors import LodestarError
from lodestar.exporters import follow, open_writer
from lodestar.importers import Choices, RunImport, open_reader
from lodestar.runs import Direction, Facts, Note, Run, RunStore, Series, segment
from lodestar.scheduler import Scheduler
from lodestar.sweep.journal import folder_beside
from lodestar.testing import random_forecaster

SECRET = "hunter22"
RUNS = [
    {
        "info": {"run_id": "a1b2", "run_name": "first", "status": "FINISHED", "end_time": 5},
        "data": {
            "metrics": [{"key": "loss", "value": 0.5, "step": 4}],
            "params": [{"key": "storage", "value": f"postgresql://me:{SECRET}@db/optuna"}],
        },
    }
]
POINTS = [{"run_id": "a1b2", "key": "loss", "value": 1 / (i + 1), "step": i, "timestamp": i} for i in range(5)]


class Mlflow(http.server.BaseHTTPRequestHandler):
    """Answers as an MLflow server with one run does, to whoever has the password."""

    def do_GET(self):
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        who = self.headers.get("Authorization", "").removeprefix("Basic ")
        known = base64.b64decode(who).decode() == f"me:{SECRET}"
        found = {"experiments": [{"experiment_id": "0", "name": "digits"}], "runs": RUNS, "metrics": POINTS}
        answer = json.dumps(found if known else {"message": "who are you?"}).encode()
        self.send_response(200 if known else 401)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    do_POST = do_GET

    def log_message(self, format: str, *args: object):
        pass


@pytest.fixture
def server():
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Mlflow) as made:
        thread = threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"127.0.0.1:{made.server_port}"
        made.shutdown()
        thread.join()


def test_an_import_stores_and_shows_no_password_and_can_be_run_again(server, tmp_path):
    address = f"http://me:{SECRET}@{server}"
    found = RunImport(open_reader("mlflow", address), Choices(metric="none")).store(RunStore(tmp_path / "s"))
    assert found.imported == ["first"]
    [summary] = RunStore.open(tmp_path / "s").list()
    assert summary.source == f"mlflow http://{server}"
    assert summary.facts.extra["storage"] == "postgresql://db/optuna"
    for file in (tmp_path / "s").iterdir():
        assert SECRET.encode() not in file.read_bytes()
    shown = CliRunner().invoke(cli.app, ["runs", str(tmp_path / "s"), "--json"])
    assert json.loads(shown.stdout)["runs"][0]["source"] == f"mlflow http://{server}"
    again = CliRunner().invoke(cli.app, ["import", "mlflow", address, "--out", str(tmp_path / "s"), "--metric", "none"])
    assert again.exit_code == 0, again.output
    assert SECRET not in shown.output + again.output
    assert len(RunStore.open(tmp_path / "s")) == 1


@pytest.mark.parametrize(
    ("kind", "address"),
    [
        ("mlflow", f"http://me:{SECRET}@127.0.0.1:1"),
        ("mlflow", f"http://127.0.0.1:1/path?token={SECRET}"),
        ("mlflow", f"http://me:{SECRET}/x@127.0.0.1:1"),
        ("optuna", f"postgresql://me:{SECRET}@127.0.0.1:1/db"),
        ("optuna", f"nonsense://me:{SECRET}@127.0.0.1:1/db?password={SECRET}"),
        ("wandb", f"https://me:{SECRET}@api.wandb.ai/a/b"),
    ],
)
def test_a_place_that_cannot_be_reached_is_named_without_its_password(kind, address):
    with pytest.raises(LodestarError) as caught:
        open_reader(kind, address)
    assert SECRET not in "".join(traceback.format_exception(caught.value))
    assert "127.0.0.1" in str(caught.value) or kind == "wandb"


@pytest.mark.parametrize("address", [f"ftp://me:{SECRET}@127.0.0.1:1/runs", f"nope://me:{SECRET}@host/runs"])
def test_a_store_s_address_is_told_without_its_password(address):
    with pytest.raises(LodestarError) as caught:
        RunStore(address).list()
    assert SECRET not in "".join(traceback.format_exception(caught.value))
    shown = CliRunner().invoke(cli.app, ["runs", address])
    assert shown.exit_code == 1
    assert SECRET not in shown.output


def test_a_store_keeps_its_password_for_itself():
    store = RunStore(f"memory://me:{SECRET}@leaves/runs")
    store.make()
    assert store.exists()
    assert (store.address, repr(store)) == ("memory://leaves/runs", "RunStore('memory://leaves/runs')")
    assert SECRET not in str(folder_beside(f"s3://me:{SECRET}@bucket/runs?token={SECRET}"))


def test_a_store_that_holds_a_password_already_does_not_show_it(tmp_path):
    """Release one stored addresses as they were given."""
    facts = Facts(source="mlflow http://host", extra={"tracker": "x"})
    facts.__dict__.update(
        source=f"mlflow http://me:{SECRET}@host", extra={"tracker": f"optuna mysql://me:{SECRET}@db/x"}
    )
    curve = Series(range(5), range(5))
    old = Run("a", curve, curve, curve, Direction.MAX, facts=facts)
    assert SECRET.encode() in bytes(segment.encode([old], {"a": 1}))
    [row] = segment.decode_listing(segment.footer(segment.encode([old], {"a": 1})))
    assert row.summary is not None
    assert row.summary.source == "mlflow http://host"
    assert row.summary.facts.extra["tracker"] == "optuna mysql://db/x"


def test_a_note_has_no_password():
    assert Note(f"read from https://me:{SECRET}@host/x") == "read from https://host/x"


def test_the_log_s_header_and_a_writer_s_settings_have_no_password(tmp_path):
    facts = {"storage": f"postgresql://me:{SECRET}@db/x", "data": [{"from": f"s3://b/x?sig={SECRET}"}]}
    scheduler = Scheduler(random_forecaster(seed=5, points=40), 400, log=tmp_path / "log.jsonl", facts=facts)
    config = {"storage": facts["storage"], "lr": 0.1}
    with follow(scheduler, open_writer(f"tensorboard:{tmp_path / 'tb'}"), config=config):
        scheduler.observe(1, loss=1.0)
        scheduler.lr_at(1)
        scheduler.lr_at(30)
    written = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert len(written) >= 2
    for path in written:
        assert SECRET.encode() not in path.read_bytes(), path
    assert scheduler.facts["storage"] == "postgresql://db/x"


def test_a_writer_that_cannot_be_opened_is_named_without_its_password():
    with pytest.raises(ValueError, match=r"got 'mlfow:http://host'"):
        open_writer(f"mlfow:http://me:{SECRET}@host")


@pytest.mark.parametrize(
    "words",
    [
        *(("show", "URL"), ("show", "URL", "--json"), ("explain", "URL"), ("forecast", "URL", "runs", "--run", "a")),
        *(
            ("plan", "URL", "--steps", "10"),
            ("evaluate", "URL", "runs"),
            ("watch", "URL", "--text"),
            ("control", "URL"),
        ),
        *(("import", "URL", "--out", "s"), ("what-if", "URL", "--schedule", "cosine:0.1", "--steps", "10")),
        *(
            ("doctor", "URL"),
            ("report", "URL"),
            ("runs", "URL"),
            ("fit", "URL", "-o", "f"),
            ("report", "runs", "-o", "URL"),
        ),
        ("fit", "runs", "-o", "URL"),
    ],
    ids=" ".join,
)
def test_an_address_where_a_file_was_asked_for_is_told_without_its_password(words, tmp_path, monkeypatch):
    """Made a path, it has lost a slash."""
    monkeypatch.chdir(tmp_path)
    RunStore("runs").add_many(toy_runs())
    address = f"https://me:{SECRET}@127.0.0.1:1/x.lodestar"
    shown = CliRunner().invoke(cli.app, [address if word == "URL" else word for word in words])
    assert isinstance(shown.exception, SystemExit) and shown.exit_code != 0, shown.output
    assert SECRET not in shown.output
    assert [path.name for path in tmp_path.iterdir()] == ["runs"], "a folder was made of the address"


def test_an_address_is_no_place_for_a_log_a_writer_or_a_forecaster(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    forecaster = random_forecaster(seed=5, points=40)
    address = f"s3://me:{SECRET}@bucket/runs/x"
    for kind, make in (
        (ValueError, lambda: Scheduler(forecaster, 400, log=address)),
        (LodestarError, lambda: open_writer(f"tensorboard:{address}")),
        (LodestarError, lambda: forecaster.save(address)),
        (ValueError, lambda: RunStore(Path(address))),
    ):
        with pytest.raises(kind, match="an address") as caught:
            make()
        assert SECRET not in "".join(traceback.format_exception(caught.value))
    assert not list(tmp_path.iterdir())
