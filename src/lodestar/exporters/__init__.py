"""Writing runs to where people look at them: MLflow, W&B, TensorBoard. What is written, `lodestar import` reads again.

with follow(scheduler, open_writer("wandb:my-project"), name="steered"):   # a live job
    ...
write_run(run, open_writer("mlflow:http://localhost:5000/digits"))         # a whole run
"""

from lodestar.exporters.follower import Follower, follow
from lodestar.exporters.whole_run import write_run
from lodestar.exporters.writer import AbstractWriter, open_writer

__all__ = ["AbstractWriter", "Follower", "follow", "open_writer", "write_run"]
