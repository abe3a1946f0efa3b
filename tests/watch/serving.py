"""A real server on a free port, and jobs that leave real logs, for tests of the page."""

import contextlib
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import uvicorn
from tests.responding import expected_loss

from lodestar.forecaster import Forecaster
from lodestar.scheduler import Scheduler
from lodestar.watch.jobs import Jobs
from lodestar.watch.outlook import Outlooks
from lodestar.watch.server import application

TOKEN = "a-token"


def train(scheduler: Scheduler, start: int, stop: int, seed: int = 0) -> list[float]:
    """Steps of a job that answers to its rates; the rates used."""
    rng = np.random.default_rng([seed, start])
    rates = [scheduler.followed().lr_at(step) for step in range(1, start)]
    for step in range(start, stop + 1):
        rates.append(scheduler.lr_at(step))
        whole = np.array([*rates, *[rates[-1]] * (scheduler.total_steps - step)])
        loss = float(expected_loss(whole)[step - 1] * np.exp(0.01 * rng.standard_normal()))
        scheduler.observe(step, loss=loss, metric=float(np.exp(-0.5 * loss)) if step % 10 == 0 else None)
    return rates


def a_job(folder: Path, forecaster: Forecaster | Path, name: str = "run", steps: int = 200, **options) -> Scheduler:
    """A scheduler with a log in `folder`, open to commands."""
    options = {"control": True, "gate": None, "rescale": None, **options}
    return Scheduler(forecaster, steps, log=folder / f"{name}.jsonl", **options)


@contextlib.contextmanager
def serving(folder: Path, model: Path | None = None) -> Iterator[str]:
    """The address of a server that watches `folder`."""
    listening = socket.socket()
    listening.bind(("127.0.0.1", 0))
    app = application(Jobs([folder]), Outlooks(None, model), TOKEN, "127.0.0.1", lambda: server.should_exit)
    config = uvicorn.Config(app, log_level="error", timeout_graceful_shutdown=1, lifespan="off")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(20)
        listening.close()
