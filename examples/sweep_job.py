"""A training function for `lodestar sweep`: a small net on handwritten digits.

lodestar sweep examples/sweep_job.py:train --out runs --runs 60 --metric "validation accuracy"
"""

import torch
from sklearn.datasets import load_digits
from torch import nn

pixels, digits = load_digits(return_X_y=True)
images, labels = torch.tensor(pixels / 16, dtype=torch.float32), torch.tensor(digits)


def train(*, schedule, seed, report, total_steps=400):
    """Batches of 32; the learning rate is the sweep's, the loss and the accuracy are reported as they come."""
    torch.manual_seed(seed)
    model = nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 10))
    optimizer = torch.optim.AdamW(model.parameters())
    for step in range(1, total_steps + 1):
        for group in optimizer.param_groups:
            group["lr"] = schedule(step)
        picked = torch.randint(0, 1000, (32,))
        loss = nn.functional.cross_entropy(model(images[picked]), labels[picked])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 4 == 0:
            report(step, loss=loss, metric=accuracy(model, slice(1000, 1400)))
    return {"test_accuracy": accuracy(model, slice(1400, None))}


def accuracy(model: nn.Module, part: slice) -> float:
    """The share of digits recognised."""
    with torch.no_grad():
        return (model(images[part]).argmax(1) == labels[part]).float().mean().item()
