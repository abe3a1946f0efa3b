"""A PyTorch job in a process of its own, beside all that can go wrong: python -m tests.adapters.troubled_job ...

FOLDER PAUSE ["calm"]: where it writes; how long an update takes, in seconds; and whether nothing shall go wrong.

Its MLflow server takes connections and never answers, its log's folder is removed half way, the disk is full in the
third quarter: all of the disk, where FOLDER is one of its own (`full_disk.small_disk`). It prints what
it did as JSON.
"""

import contextlib
import json
import logging
import os
import shutil
import socket
import sys
import time
from pathlib import Path

import torch
from tests.adapters.digits import batch_at
from tests.full_disk import filled, full_disk

from lodestar.adapters._state_file import write_state
from lodestar.adapters.torch import LodestarLR
from lodestar.exporters import follow, open_writer
from lodestar.testing import random_forecaster

STEPS = 200


def train(folder: Path, address: str | None, trouble: bool, pause: float = 0.0) -> dict:
    """The job; how long it took, the rates it used, what the scheduler warned of."""
    torch.manual_seed(0)
    model = torch.nn.Linear(64, 10)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    forecaster = random_forecaster(seed=2, points=40)
    rates, start = [], time.perf_counter()
    steered = LodestarLR(optimizer, forecaster, STEPS, log=folder / "logs" / "run.jsonl")
    with contextlib.ExitStack() as job, contextlib.ExitStack() as disk:
        if address is not None:
            job.enter_context(follow(steered, open_writer(address)))
        for step in range(1, STEPS + 1):
            if trouble and step == STEPS // 2:
                shutil.rmtree(folder / "logs")
                disk.enter_context(filled(folder) if folder.is_mount() else full_disk())
            if step == 3 * STEPS // 4:
                disk.close()
            images, labels = (torch.as_tensor(part) for part in batch_at(step, None))
            loss = torch.nn.functional.cross_entropy(model(images.float()), labels)
            optimizer.zero_grad()
            loss.backward()
            rates.append(optimizer.param_groups[0]["lr"])
            optimizer.step()
            steered.step(loss=loss)
            if step % 20 == 0:
                write_state(folder / "state.json", steered.state_dict())
            time.sleep(pause)
    return {"seconds": time.perf_counter() - start, "rates": rates, "warnings": steered.scheduler.warnings}  # pyright: ignore


def main(folder: Path, pause: float, trouble: bool) -> None:
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING)
    os.environ["NO_PROXY"] = "127.0.0.1"
    with socket.create_server(("127.0.0.1", 0)) as server:
        import mlflow.tracking  # noqa: F401  loading it takes seconds, with a live server too

        address = "mlflow:http://{}:{}/x".format(*server.getsockname()) if trouble else None
        print(json.dumps(train(folder, address, trouble, pause)))


if __name__ == "__main__":
    main(Path(sys.argv[1]), float(sys.argv[2]), "calm" not in sys.argv[3:])
