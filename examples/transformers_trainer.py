"""Transformers: one line steers a Trainer. python examples/transformers_trainer.py forecaster.lodestar"""

import sys

import numpy as np
import torch
from sklearn.datasets import load_digits
from torch import nn
from transformers import Trainer, TrainingArguments

from lodestar.adapters.transformers import steer

images, digits = load_digits(return_X_y=True)
images = torch.tensor(images / 16, dtype=torch.float32)
rows = [{"pixels": image, "labels": int(digit)} for image, digit in zip(images, digits, strict=True)]


class Digits(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 10))

    def forward(self, pixels, labels):
        logits = self.net(pixels)
        return {"loss": nn.functional.cross_entropy(logits, labels), "logits": logits}


trainer = Trainer(
    model=Digits(),
    args=TrainingArguments(
        "out", num_train_epochs=20, per_device_train_batch_size=64, logging_steps=5, eval_strategy="epoch", use_cpu=True
    ),
    train_dataset=rows[:1280],
    eval_dataset=rows[1280:],
    compute_metrics=lambda seen: {"accuracy": (np.argmax(seen.predictions, 1) == seen.label_ids).mean()},
)
steer(trainer, sys.argv[1], metric="eval_accuracy")
trainer.train()
print(f"accuracy {trainer.evaluate()['eval_accuracy']:.3f}")
