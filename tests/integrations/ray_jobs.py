"""Trainables for the tests of pruning in Ray Tune. Their processes import no more than this: they start quickly."""

import json
import tempfile
from pathlib import Path

from ray import tune


def follow(config) -> None:
    """Reports the curve in its config; fails on the way until the file is there that it names."""
    trial = config["trial"]
    for step, loss, accuracy in trial["curve"]:
        if "until" in trial and not Path(trial["until"]).exists():
            raise RuntimeError("the machine is gone")
        tune.report({"step": step, "loss": loss, "accuracy": accuracy})


def follow_with_checkpoints(config) -> None:
    """The same; it can be paused, and goes on where it was. Leaves a mark whenever it starts."""
    trial, before = config["trial"], tune.get_checkpoint()
    done = 0 if before is None else json.loads(Path(before.path, "done.json").read_text())
    with Path(trial["marks"]).open("a") as file:
        file.write(f"{trial['schedule']} {done}\n")
    for step, loss, accuracy in trial["curve"]:
        if step > done:
            with tempfile.TemporaryDirectory() as folder:
                Path(folder, "done.json").write_text(json.dumps(step))
                checkpoint = tune.Checkpoint.from_directory(folder)
                tune.report({"step": step, "loss": loss, "accuracy": accuracy}, checkpoint=checkpoint)
