"""One rank of the job in test_ranks.py: a small net, each rank on its own half of every batch."""

import json
import os
import sys
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from tests.adapters.digits import batch_at, digits
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from lodestar.adapters.ranks import Ranked
from lodestar.adapters.torch import LodestarLR
from lodestar.testing.adapter_contract import STEPS, Watched
from lodestar.testing.forecasters import random_forecaster
from lodestar.watch.commands import send


class Job:
    """Everything a rank builds, anew."""

    def __init__(self, every: int | None = None, **more: Any):
        torch.manual_seed(0)
        self.model = DistributedDataParallel(nn.Sequential(nn.Linear(64, 16), nn.ReLU(), nn.Linear(16, 10)))
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=1e-3)
        log = Path(sys.argv[1]) / f"decisions-{dist.get_rank()}.jsonl"
        options: dict[str, Any] = {"preset": "paper", "window": 0.1, "tolerance": 1000.0, "log": log, **more}
        self.watched = Watched(random_forecaster(seed=2, points=30), STEPS, **options)
        source = self.watched if every is None else Ranked(self.watched, every=every)
        self.scheduler = LodestarLR(self.optimizer, source)
        self.rates, self.losses, self.metrics = [], [], []

    def train(self, stop: int) -> None:
        """Up to update `stop`."""
        rank = dist.get_rank()
        for step in range(self.scheduler.global_step + 1, stop + 1):
            images, labels = (torch.from_numpy(part)[rank::2] for part in batch_at(step))
            self.optimizer.zero_grad()
            loss = nn.functional.cross_entropy(self.model(images), labels)
            loss.backward()
            self.optimizer.step()
            self.rates.append(self.optimizer.param_groups[0]["lr"])
            self.losses.append(loss.item())
            self.scheduler.step(loss=loss)
            if step % 6 == 0 and rank == 0:
                self.metrics.append(self.accuracy())
                self.scheduler.observe(metric=self.metrics[-1])

    def accuracy(self) -> float:
        """On the validation part; of the bare net, for rank 0 alone may ask."""
        _, _, images, labels = (torch.from_numpy(part) for part in digits())
        with torch.no_grad():
            return float((self.model.module(images).argmax(1) == labels).float().mean())

    def parts(self) -> dict[str, Any]:
        return {"model": self.model, "optimizer": self.optimizer, "scheduler": self.scheduler}


def resumed(folder: Path, name: str, stop: int, every: int | None = None, own: bool = False) -> list[float]:
    """The rates of a run that was stopped, saved by rank 0 (or by each rank) and gone on with."""
    before = Job(every)
    before.train(stop)
    path = folder / f"{name}-{dist.get_rank() if own else 0}.pt"
    if own or dist.get_rank() == 0:
        torch.save({key: part.state_dict() for key, part in before.parts().items()}, path)
    dist.barrier()
    after = Job(every)
    saved = torch.load(path, weights_only=True)
    for key, part in after.parts().items():
        part.load_state_dict(saved[key])
    after.train(STEPS)
    return before.rates + after.rates


def commanded(folder: Path) -> dict[str, Any]:
    """A job whose rank 0 is told to halve the rate, then to end earlier."""
    log = folder / "commanded.jsonl"  # the same for all ranks, as in most jobs
    job = Job(log=log, control=True)
    for stop, do, value in ((14, "scale", 0.5), (26, "extend", 48)):
        job.train(stop)
        if dist.get_rank() == 0:
            send(log, do, value)
        dist.barrier()
    while not job.scheduler.stopped:
        job.train(job.scheduler.global_step + 1)
    decisions = [decision.outcome.kind for decision in job.watched.decisions if decision.command is not None]
    return {"rates": job.rates, "total": job.scheduler.total_steps, "decisions": decisions}


def main() -> None:
    """Run every case and print what happened."""
    folder = Path(sys.argv[1])
    torch.set_num_threads(1)
    meet = f"file://{folder.resolve()}/meet"  # a port could be taken by someone else
    rank, ranks = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    dist.init_process_group("gloo", init_method=meet, rank=rank, world_size=ranks)
    whole, single = Job(), Job(every=1)
    whole.train(STEPS)
    single.train(STEPS)
    found = {
        "whole": whole.rates,
        "losses": whole.losses,
        "metrics": whole.metrics,
        "told": whole.watched.told,
        "decisions": len(whole.watched.decisions),
        "log": (folder / f"decisions-{dist.get_rank()}.jsonl").stat().st_size,
        "resumed at an exchange": resumed(folder, "exchange", 20),
        "resumed within a stretch": resumed(folder, "within", 21),
        "resumed from its own state": resumed(folder, "own", 33, own=True),
        "every step": single.rates,
        "every step resumed": resumed(folder, "every", 21, every=1),
        "commanded": commanded(folder),
    }
    dist.barrier()
    dist.destroy_process_group()
    print(json.dumps(found), flush=True)
    os._exit(0)  # a thread of gloo may outlive its group, and then aborts the interpreter as it shuts down


if __name__ == "__main__":
    main()
