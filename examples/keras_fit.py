"""Keras 3, any backend: one callback steers, and comes back with BackupAndRestore.

KERAS_BACKEND=torch python examples/keras_fit.py forecaster.lodestar
"""

import sys

import keras
from sklearn.datasets import load_digits

from lodestar.adapters.keras import LodestarCallback

images, labels = load_digits(return_X_y=True)
images = images / 16

model = keras.Sequential([keras.Input((64,)), keras.layers.Dense(32, activation="relu"), keras.layers.Dense(10)])
loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
model.compile(keras.optimizers.Adam(1e-3), loss=loss, metrics=["accuracy"])

lodestar = LodestarCallback(sys.argv[1], metric="val_accuracy", state="backup.lodestar.json")
history = model.fit(
    images[:1280],
    labels[:1280],
    batch_size=64,
    epochs=20,
    validation_data=(images[1280:], labels[1280:]),
    callbacks=[lodestar, keras.callbacks.BackupAndRestore("backup")],
)
print(f"accuracy {history.history['val_accuracy'][-1]:.3f}")
