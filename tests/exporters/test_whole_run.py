"""A whole run through each real tracker and back: written by us, read by us, the same numbers."""

import os

import numpy as np
import pytest
from tests.importers import mlflow_places, wandb_places

from lodestar._errors import TrackerError
from lodestar.exporters import open_writer, write_run
from lodestar.importers import import_runs, open_reader
from lodestar.runs import Direction, Facts, Run, RunStore, Series, Status

pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
]


def a_run(name="steered", status=Status.FINISHED, last=1.0 / 40):
    steps = np.arange(1, 41)
    losses = 1.0 / steps
    losses[-1] = last
    facts = Facts(task="digits", schedule="cosine", peak_lr=0.1, seed=7, extra={"batch_size": 32, "amp": True})
    return Run(
        name=name,
        loss=Series(steps, losses),
        metric=Series(steps[4::5], 1 - 1.0 / steps[4::5]),
        lr=Series(steps[::2], 0.1 / steps[::2]),
        direction=Direction.MAX,
        status=status,
        total_steps=40,
        metric_name="val_acc",
        facts=facts,
    )


def back(kind, address, folder):
    import_runs(open_reader(kind, str(address)), RunStore(folder / "store"))
    return sorted(RunStore(folder / "store").read(), key=lambda run: run.name)


def same(read, written, precision):
    for curve in ("loss", "metric", "lr"):
        assert getattr(read, curve).steps.tolist() == getattr(written, curve).steps.tolist()
        np.testing.assert_allclose(getattr(read, curve).values, getattr(written, curve).values, rtol=precision)
    assert (read.metric_name, read.direction, read.total_steps) == ("val_acc", Direction.MAX, 40)
    assert (read.facts.seed, read.facts.peak_lr, read.facts.schedule) == (7, 0.1, "cosine")
    assert read.status == written.status


def test_a_metric_whose_name_tells_nothing_is_known_again(tmp_path):
    written = a_run().replace(metric_name="metric", direction=Direction.MIN)
    write_run(written, open_writer(f"tensorboard:{tmp_path / 'logs'}"))
    (read,) = back("tensorboard", tmp_path / "logs", tmp_path)
    assert (read.metric_name, read.direction) == ("metric", Direction.MIN)
    np.testing.assert_allclose(read.metric.values, written.metric.values, rtol=1e-6)


def test_tensorboard(tmp_path):
    writer = open_writer(f"tensorboard:{tmp_path / 'logs'}")
    runs = [a_run("a"), a_run("b", Status.DIVERGED, last=float("nan"))]
    for run in runs:
        write_run(run, writer)
    for read, written in zip(back("tensorboard", tmp_path / "logs", tmp_path), runs, strict=True):
        same(read, written, 1e-6)


def test_tensorboard_itself_reads_it(tmp_path):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    write_run(a_run("a"), open_writer(f"tensorboard:{tmp_path}"))
    read = EventAccumulator(str(tmp_path / "a")).Reload()
    assert [point.step for point in read.Scalars("loss")] == list(range(1, 41))
    assert read.Scalars("val_acc")[0].value == pytest.approx(0.8)


def test_a_run_written_again_to_tensorboard_takes_the_place_of_the_first(tmp_path):
    writer = open_writer(f"tensorboard:{tmp_path / 'logs'}")
    write_run(a_run("a", last=5.0), writer)
    write_run(a_run("a", last=0.5), writer)
    (read,) = back("tensorboard", tmp_path / "logs", tmp_path)
    assert len(read.loss) == 40 and read.loss.values[-1] == 0.5 and not any("more than once" in n for n in read.notes)


def test_mlflow(tmp_path):
    os.environ.update(mlflow_places.QUIET)
    address = f"sqlite:///{mlflow_places.empty_database(tmp_path)}"
    writer = open_writer(f"mlflow:{address}/digits")
    runs = [a_run("a"), a_run("b", Status.DIVERGED, last=float("nan")), a_run("c", Status.CUT_SHORT)]
    for run in runs:
        write_run(run, writer)
    for read, written in zip(back("mlflow", address, tmp_path), runs, strict=True):
        same(read, written, 1e-12)
        assert read.facts.task == "digits"


def test_a_run_in_another_experiment_keeps_its_task_seed_and_schedule(tmp_path):
    os.environ.update(mlflow_places.QUIET)
    address = f"sqlite:///{mlflow_places.empty_database(tmp_path)}"
    write_run(a_run("a"), open_writer(f"mlflow:{address}/steered today"))
    (read,) = back("mlflow", address, tmp_path)
    assert (read.facts.task, read.facts.seed, read.facts.schedule) == ("digits", 7, "cosine")


def test_wandb(tmp_path, monkeypatch):
    import wandb

    wandb.teardown()  # the client reads its settings once in a process, and another test may have been first
    for name, value in {**wandb_places.QUIET, "WANDB_MODE": "offline", "WANDB_DIR": str(tmp_path)}.items():
        monkeypatch.setenv(name, value)
    writer = open_writer("wandb:digits")
    runs = [a_run("a"), a_run("b", Status.DIVERGED, last=float("nan"))]
    for run in runs:
        write_run(run, writer)
    wandb_places.settled(tmp_path)
    for read, written in zip(back("wandb", tmp_path, tmp_path), runs, strict=True):
        same(read, written, 1e-12)


@pytest.mark.parametrize("address", ["", "mlflow", "mlflow:", "comet:x", "tensorboard"])
def test_an_unknown_place_is_told_with_the_known_ones(address):
    with pytest.raises(ValueError, match="mlflow:ADDRESS/EXPERIMENT, wandb:"):
        open_writer(address)


def test_a_folder_that_cannot_be_made_is_told(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(TrackerError, match="Fix: "):
        open_writer(f"tensorboard:{tmp_path / 'file' / 'logs'}")
