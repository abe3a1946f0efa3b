"""What steering costs a real torch job with epochs of about 2 s: at most 1 % of its time, at most 80 MB, no JAX.

Comes in: nothing. Goes out: the share of the job's time spent in Lodestar's calls (the rate, the loss at every update,
the metric at every epoch, the decisions) in processor time and by the clock (they part when others use the machine),
the same from whole epochs with and without it by turns, and the memory the job gains. A convolutional net on
handwritten digits, in a process of its own, 600 points in 60 epochs as in the paper, of which a few are run. The paper
reports about 25 %.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from lodestar.forecaster import Architecture
from lodestar.testing import random_forecaster

BAR_PERCENT, BAR_MEMORY_MB, PAPER_PERCENT = 1.0, 80.0, 25.0
EPOCH_SECONDS = 2.0

_JOB = """
import json, resource, sys, time
import torch
from sklearn.datasets import load_digits
from torch import nn

torch.set_num_threads(1)
images, labels = load_digits(return_X_y=True)
images = torch.tensor(images / 16, dtype=torch.float32).reshape(-1, 1, 8, 8)
labels = torch.tensor(labels)

def memory():
    with open("/proc/self/statm") as stream:
        return int(stream.read().split()[1]) * resource.getpagesize() / 1e6

def a_net():
    torch.manual_seed(0)
    net = nn.Sequential(nn.Conv2d(1, 64, 3, padding=1), nn.ReLU(), nn.Conv2d(64, 64, 3, padding=1), nn.ReLU(),
                        nn.Flatten(), nn.Linear(4096, 10))
    return net, torch.optim.Adam(net.parameters(), lr=1e-3)

def update(net, optimizer, step):
    picked = (step * 64 + torch.arange(64)) % 1280
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(net(images[picked]), labels[picked])
    loss.backward()
    optimizer.step()
    return loss

def accuracy(net):
    with torch.no_grad():
        return (net(images[1280:]).argmax(1) == labels[1280:]).float().mean()

plain, plain_optimizer = a_net()
net, optimizer = a_net()
for step in range(30):
    update(net, optimizer, step), update(plain, plain_optimizer, step)
start = time.process_time()
for step in range(30):
    update(plain, plain_optimizer, step)
steps = max(20, round(float(sys.argv[2]) * 30 / (time.process_time() - start)))
epochs = int(sys.argv[3])

before = memory()
from lodestar.adapters.torch import LodestarLR
scheduler = LodestarLR(optimizer, sys.argv[1], total_steps=60 * steps)
wall = spent = 0.0

def timed(call):
    def measured(*args, **kwargs):
        global wall, spent
        begin, began = time.perf_counter(), time.process_time()
        call(*args, **kwargs)
        wall, spent = wall + time.perf_counter() - begin, spent + time.process_time() - began
    return measured

step_, observe_ = timed(scheduler.step), timed(scheduler.observe)
scheduler._before_update, scheduler._after_update = timed(scheduler._before_update), timed(scheduler._after_update)

steered_seconds, plain_seconds, wall_seconds = [], [], 0.0
for epoch in range(epochs):
    begin, began = time.perf_counter(), time.process_time()
    for step in range(steps):
        loss = update(net, optimizer, step)
        step_(loss=loss)
    observe_(metric=accuracy(net))
    wall_seconds += time.perf_counter() - begin
    steered_seconds.append(time.process_time() - began)
    began = time.process_time()
    for step in range(steps):
        loss = update(plain, plain_optimizer, step)
        loss.item()
    accuracy(plain).item()
    plain_seconds.append(time.process_time() - began)

print(json.dumps({
    "steps": steps, "spent": spent, "steered": steered_seconds, "plain": plain_seconds, "memory_mb": memory() - before,
    "wall_percent": 100 * wall / wall_seconds,
    "decisions": len(scheduler.scheduler.decisions), "jax": "jax" in sys.modules,
}))
"""


def run(epochs: int = 7) -> dict[str, float]:
    """Measure; shares in percent, memory in MB."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "forecaster.lodestar"
        random_forecaster(seed=1, points=600, shape=Architecture(), references=20, dtype=np.float32).save(path)
        done = subprocess.run(
            [sys.executable, "-c", _JOB, str(path), str(EPOCH_SECONDS), str(epochs)],
            capture_output=True,
            text=True,
            check=True,
            env=os.environ | dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"),
        )
    row = json.loads(done.stdout)
    assert not row["jax"], "steering brought JAX into the job"
    steered, plain = np.array(row["steered"]), np.array(row["plain"])
    return {
        "percent": 100 * row["spent"] / float(steered.sum()),
        "wall_percent": row["wall_percent"],
        "percent_by_turns": 100 * float(np.median(steered / plain - 1)),
        "percent_by_turns_spread": 100 * float(np.std(steered / plain)),
        "epoch_seconds": float(np.median(plain)),
        "updates_an_epoch": row["steps"],
        "microseconds_an_update": 1e6 * row["spent"] / (row["steps"] * epochs),
        "decisions": row["decisions"],
        "memory_mb": row["memory_mb"],
        "bar_percent": BAR_PERCENT,
        "bar_memory_mb": BAR_MEMORY_MB,
    }


def main() -> None:
    """Print the figures with their bars."""
    found = run()
    print(
        f"steering costs {found['percent']:.2f} % of a job with epochs of {found['epoch_seconds']:.1f} s and "
        f"{found['updates_an_epoch']} updates (bar {BAR_PERCENT:.0f} %; the paper: about {PAPER_PERCENT:.0f} %): "
        f"{found['microseconds_an_update']:.0f} us an update, {found['decisions']} decisions; by the clock "
        f"{found['wall_percent']:.2f} %"
    )
    print(
        f"whole epochs by turns: {found['percent_by_turns']:+.1f} % with Lodestar, spread of a pair "
        f"{found['percent_by_turns_spread']:.1f} %"
    )
    print(f"memory gained by the job: {found['memory_mb']:.0f} MB (bar {BAR_MEMORY_MB:.0f}); JAX not imported")


if __name__ == "__main__":
    main()
