"""Lightning: one callback steers; the module stays as it is, checkpoints resume exactly.

python examples/lightning_module.py forecaster.lodestar
"""

import sys

import lightning.pytorch as pl
import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from lodestar.adapters.lightning import LodestarCallback

pixels, digits = load_digits(return_X_y=True)
images, labels = torch.tensor(pixels / 16, dtype=torch.float32), torch.tensor(digits)


class Digits(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 10))

    def training_step(self, batch, batch_idx):
        return nn.functional.cross_entropy(self.net(batch[0]), batch[1])

    def validation_step(self, batch, batch_idx):
        self.log("val_acc", (self.net(batch[0]).argmax(1) == batch[1]).float().mean())

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters())


steered = LodestarCallback(sys.argv[1], metric="val_acc")
trainer = pl.Trainer(max_epochs=20, callbacks=[steered], accelerator="cpu", logger=False, enable_progress_bar=False)
train = DataLoader(TensorDataset(images[:1280], labels[:1280]), batch_size=64, shuffle=True)
trainer.fit(Digits(), train, DataLoader(TensorDataset(images[1280:], labels[1280:]), batch_size=600))
print(f"accuracy {trainer.callback_metrics['val_acc']:.3f} after {trainer.global_step} updates")
