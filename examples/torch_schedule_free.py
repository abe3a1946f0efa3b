"""PyTorch with schedule-free averaging: the rate need not fall for the end to be good. Fit the forecaster to such runs.

python examples/torch_schedule_free.py forecaster.lodestar
"""

import sys

import torch
from sklearn.datasets import load_digits
from torch import nn

from lodestar.adapters.torch import LodestarLR
from lodestar.schedule_free.torch import ScheduleFree

pixels, digits = load_digits(return_X_y=True)
images, labels = torch.tensor(pixels / 16, dtype=torch.float32), torch.tensor(digits)
train, test = slice(0, 1280), slice(1280, None)

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 10))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, betas=(0.0, 0.999))  # averaging replaces momentum
weights = ScheduleFree(optimizer)
scheduler = LodestarLR(optimizer, sys.argv[1], total_steps=20 * 20)

for epoch in range(20):
    for picked in torch.randperm(1280).split(64):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(images[train][picked]), labels[train][picked])
        loss.backward()
        optimizer.step()
        scheduler.step(loss=loss)
    with weights.averaged(), torch.no_grad():  # the model to validate, and to save in the end
        accuracy = (model(images[test]).argmax(1) == labels[test]).float().mean()
    scheduler.observe(metric=accuracy)
    print(f"epoch {epoch + 1:2d}  lr {scheduler.lr:.2e}  accuracy {accuracy:.3f}")
    parts = {"model": model, "optimizer": optimizer, "weights": weights, "scheduler": scheduler}
    torch.save({name: part.state_dict() for name, part in parts.items()}, "checkpoint.pt")
