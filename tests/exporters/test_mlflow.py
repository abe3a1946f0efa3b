"""MLflow servers that are not there, or do not answer: nobody waits for them, and they are told in a sentence."""

import contextlib
import logging
import socket
import threading

import pytest
from tests.scheduler.live import train

from lodestar._errors import TrackerError
from lodestar.exporters import follow, open_writer
from lodestar.exporters.mlflow import split_address
from lodestar.scheduler import Scheduler
from lodestar.testing import random_forecaster

TOTAL = 60
KINDS = ("refuses", "never answers", "cannot be reached", "a byte at a time")


@contextlib.contextmanager
def dead_server(kind):
    """The listening socket of a server of that kind; what connects to it never hears a whole answer."""
    with contextlib.ExitStack() as stack:
        listening = stack.enter_context(socket.create_server(("127.0.0.1", 0), backlog=0))
        if kind == "refuses":
            address = listening.getsockname()
            listening.close()
            listening = stack.enter_context(socket.socket())
            listening.bind(address)  # the port stays ours, and nobody listens
        elif kind == "cannot be reached":  # a queue that is full: what knocks is dropped, as by a firewall
            for _ in range(3):
                knocking = stack.enter_context(socket.socket())
                knocking.setblocking(False)
                knocking.connect_ex(listening.getsockname())
        elif kind == "a byte at a time":
            over = threading.Event()
            dripping = threading.Thread(target=drip, args=(listening, over))
            dripping.start()
            stack.callback(dripping.join)
            stack.callback(over.set)
        yield listening


def drip(listening, over):
    listening.settimeout(0.05)
    connections = []
    while not over.wait(0.05):
        with contextlib.suppress(OSError):
            connections.append(listening.accept()[0])
        for connection in connections:
            with contextlib.suppress(OSError):
                connection.sendall(b"H")
    for connection in connections:
        connection.close()


def address_of(server):
    return "mlflow:http://{}:{}/digits".format(*server.getsockname())


@pytest.fixture(autouse=True)
def impatient(monkeypatch):
    monkeypatch.setattr("lodestar.exporters.mlflow.CONNECT_SECONDS", 1.0)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


def test_opening_asks_no_server():
    with dead_server("never answers") as server:
        open_writer(address_of(server))
        server.setblocking(False)
        with pytest.raises(BlockingIOError):  # nobody has knocked
            server.accept()


@pytest.mark.parametrize("kind", KINDS)
def test_a_dead_server_is_told_when_it_is_asked(kind):
    with dead_server(kind) as server:
        writer = open_writer(address_of(server))
        with pytest.raises(TrackerError, match=r"MLflow at http://127\.0\.0\.1:\d+ did not take the run: .* Fix: "):
            writer.connect()


@pytest.mark.parametrize("kind", KINDS)
def test_a_job_beside_a_dead_server_ends_with_the_same_rates_and_one_warning(kind, caplog, monkeypatch):
    monkeypatch.setattr("lodestar.exporters.follower._FIRST_ANSWER_SECONDS", 0.1)
    forecaster = random_forecaster(seed=0)
    expected = train(Scheduler(forecaster, TOTAL), 1, TOTAL)
    with dead_server(kind) as server, caplog.at_level(logging.WARNING, "lodestar"):
        scheduler = Scheduler(forecaster, TOTAL)
        with follow(scheduler, open_writer(address_of(server))):
            assert train(scheduler, 1, TOTAL) == expected
    (said,) = {text for record in caplog.records if "no longer written" in (text := record.getMessage())}
    assert said.startswith("the run is no longer written to mlflow: ") and "Fix: " in said


@pytest.mark.parametrize(
    ("address", "place", "experiment"),
    [
        ("http://localhost:5000/digits", "http://localhost:5000", "digits"),
        ("http://localhost:5000", "http://localhost:5000", "lodestar"),
        ("https://host/mlflow/digits", "https://host/mlflow", "digits"),
        ("sqlite:////home/me/mlflow.db/digits", "sqlite:////home/me/mlflow.db", "digits"),
        ("sqlite:///mlflow.db", "sqlite:///mlflow.db", "lodestar"),
        ("mlruns/digits", "mlruns", "digits"),
    ],
)
def test_an_mlflow_address_is_taken_apart(address, place, experiment):
    assert split_address(address) == (place, experiment)
