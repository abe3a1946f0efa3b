"""60 runs to learn from, in MLflow: python examples/mlflow_history.py sqlite:///mlflow.db"""

import math
import sys

import mlflow
import torch
from mlflow.entities import Metric
from sklearn.datasets import load_digits
from torch import nn

SHAPES = {  # the learning rate over the run, t from 0 to 1, as a share of its peak
    "constant": lambda t: 1.0,
    "cosine": lambda t: 0.5 + 0.5 * math.cos(math.pi * t),
    "linear": lambda t: min(t / 0.1, 1.0) * (1.0 - t),
    "wsd": lambda t: min(t / 0.1, 1.0, (1.0 - t) / 0.3),
    "step": lambda t: 0.5 ** int(3 * t),
}
torch.set_num_threads(1)  # a net this small is quickest on one thread
pixels, digits = load_digits(return_X_y=True)
images, labels = torch.tensor(pixels / 16, dtype=torch.float32), torch.tensor(digits)
mlflow.set_tracking_uri(sys.argv[1])
mlflow.set_experiment("digits")
for shape, peak, seed in [(s, p, n) for s in SHAPES for p in (1e-3, 3e-3, 1e-2, 3e-2) for n in range(3)]:
    torch.manual_seed(seed)
    model = nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 10))
    adam, logged, accuracy = torch.optim.Adam(model.parameters()), [], 0.0
    for step in range(1, 401):
        adam.param_groups[0]["lr"] = lr = peak * SHAPES[shape](step / 400)
        picked = torch.randint(0, 1280, (64,))
        loss = nn.functional.cross_entropy(model(images[picked]), labels[picked])
        adam.zero_grad(), loss.backward(), adam.step()
        logged += [Metric("train_loss", loss.item(), 0, step), Metric("lr", lr, 0, step)]
        if step % 20 == 0:
            accuracy = (model(images[1280:]).argmax(1) == labels[1280:]).float().mean().item()
            logged.append(Metric("val_accuracy", accuracy, 0, step))
    with mlflow.start_run(run_name=f"{shape}-{peak:g}-{seed}") as run:
        mlflow.log_params({"schedule": shape, "peak_lr": peak, "seed": seed, "max_steps": 400})
        mlflow.MlflowClient().log_batch(run.info.run_id, metrics=logged)
    print(f"{run.info.run_name}: accuracy {accuracy:.3f}")
