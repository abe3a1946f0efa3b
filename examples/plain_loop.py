"""A training loop without any framework: softmax regression on handwritten digits. Kill it and start it again.

python examples/plain_loop.py forecaster.lodestar
"""

import sys
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits

from lodestar.adapters.loop import SteeredLoop

images, labels = load_digits(return_X_y=True)
images, answers = np.hstack([images / 16, np.ones((len(images), 1))]), np.eye(10)[labels]
train, test = np.arange(1280), np.arange(1280, len(images))

loop = SteeredLoop(sys.argv[1], total_steps=400, state="run.json")  # goes on from run.json if it is there
weights = np.load("weights.npy") if loop.step else np.zeros((65, 10))

for step, lr in loop:
    batch = train[(step * 64 + np.arange(64)) % len(train)]
    shares = np.exp(images[batch] @ weights)
    shares /= shares.sum(axis=1, keepdims=True)
    weights -= lr * 100 * images[batch].T @ (shares - answers[batch]) / len(batch)
    loop.observe(loss=-np.mean(np.log(shares[answers[batch] == 1])))
    if step % 20 == 0:
        accuracy = np.mean((images[test] @ weights).argmax(axis=1) == labels[test])
        loop.observe(metric=accuracy)
        np.save("weights.npy", weights)
        loop.save()
        print(f"step {step:4d}  lr {lr:.2e}  accuracy {accuracy:.3f}")
Path("run.json").unlink()
