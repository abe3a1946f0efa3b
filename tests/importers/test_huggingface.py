"""Hugging Face: the contract on the Trainer's own state object, and the output folder of a real Trainer."""

import json
import warnings

import pytest
import torch
from torch import nn

from lodestar._errors import TrackerError
from lodestar.importers import import_runs
from lodestar.importers.readers.huggingface import HuggingfaceReader
from lodestar.runs import RunStore, Status
from lodestar.runs.scale import Scale, scale_of
from lodestar.testing import ReaderContract

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # imports of Transformers' own
    warnings.simplefilter("ignore", FutureWarning)
    from transformers import Trainer, TrainingArguments
    from transformers.trainer_callback import TrainerState

pytestmark = [pytest.mark.filterwarnings("ignore:.*pin_memory.*")]


def save_state(folder, history, *, step, planned):
    folder.mkdir(parents=True, exist_ok=True)
    state = TrainerState(log_history=history, global_step=step, max_steps=planned)
    state.save_to_json(str(folder / "trainer_state.json"))


class TestTrainerState(ReaderContract):
    loss = "loss"
    metric = "eval_accuracy"
    lr = "learning_rate"

    def make(self, place, runs):
        for run in runs:
            history = [
                {"step": step, name: value} for name, curve in run.curves.items() for step, value in curve.items()
            ]
            save_state(place / "outputs" / run.name, history, step=self.points, planned=self.points)
            (place / "outputs" / run.name / "training_args.json").write_text(json.dumps(run.config))

    def open(self, place):
        return HuggingfaceReader(place / "outputs")

    def nowhere(self, place):
        return HuggingfaceReader(place)


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Linear(4, 2)

    def forward(self, x, labels):
        logits = self.net(x)
        return {"loss": nn.functional.cross_entropy(logits, labels), "logits": logits}


def test_a_real_trainers_output_folder_is_one_run(tmp_path):
    data = [{"x": torch.randn(4), "labels": torch.tensor(n % 2)} for n in range(32)]
    arguments = TrainingArguments(
        output_dir=str(tmp_path / "out"),
        max_steps=24,
        per_device_train_batch_size=4,
        learning_rate=1e-2,
        lr_scheduler_type="linear",
        logging_steps=2,
        eval_strategy="steps",
        eval_steps=8,
        save_steps=8,
        report_to=[],
        use_cpu=True,
        disable_tqdm=True,
    )
    accuracy = lambda result: {"accuracy": float((result.predictions.argmax(1) == result.label_ids).mean())}  # noqa: E731
    Trainer(Classifier(), arguments, train_dataset=data, eval_dataset=data, compute_metrics=accuracy).train()  # pyright: ignore
    assert (tmp_path / "out" / "checkpoint-24" / "training_args.bin").exists()  # a pickle, which nobody opens
    report = import_runs(HuggingfaceReader(tmp_path), RunStore(tmp_path / "store"))
    (run,) = RunStore(tmp_path / "store").read()
    assert report.imported and run.status is Status.FINISHED and run.total_steps == 24
    assert run.loss.steps.tolist() == list(range(2, 25, 2)) and run.metric_name == "eval_accuracy"
    assert run.metric.steps.tolist() == [8, 16, 24]
    assert run.lr.values[0] == pytest.approx(1e-2 * 23 / 24) and "train_runtime" not in run.facts.extra


def test_the_latest_checkpoint_counts(tmp_path):
    for step in (5, 10, 9):
        history = [{"step": n, "loss": 1.0 / n} for n in range(1, step + 1)]
        save_state(tmp_path / "out" / f"checkpoint-{step}", history, step=step, planned=20)
    tracker = HuggingfaceReader(tmp_path)
    (run,) = tracker.list()
    assert run.name == "out" and run.state == "stopped"
    assert tracker.fetch(run, ["loss"])["loss"].steps[-1] == 10


def test_a_final_state_counts_unless_a_later_checkpoint_is_there(tmp_path):
    save_state(tmp_path, [{"step": n, "loss": 1.0} for n in range(1, 13)], step=12, planned=12)
    save_state(tmp_path / "checkpoint-8", [{"step": 8, "loss": 1.0}], step=8, planned=12)
    tracker = HuggingfaceReader(tmp_path)
    (run,) = tracker.list()
    assert tracker.fetch(run, ["loss"])["loss"].steps[-1] == 12 and run.state == "finished"
    save_state(tmp_path / "checkpoint-30", [{"step": 30, "loss": 1.0}], step=30, planned=40)
    tracker = HuggingfaceReader(tmp_path)
    assert tracker.fetch(next(tracker.list()), ["loss"])["loss"].steps[-1] == 30


def test_damaged_states_are_left_out_with_a_reason(tmp_path):
    for name, text in (("half", '{"log_history": [{"st'), ("other", '{"step": 1}')):
        (tmp_path / name).mkdir()
        (tmp_path / name / "trainer_state.json").write_text(text)
    troubles = {run.name: run.trouble for run in HuggingfaceReader(tmp_path).list()}
    assert "cannot be read" in troubles["half"] and "no log_history" in troubles["other"]


def test_a_folder_without_states_is_told(tmp_path):
    with pytest.raises(TrackerError, match=r"trainer_state\.json"):
        HuggingfaceReader(tmp_path)


def test_the_scale_is_read_from_arguments_state_and_model(tmp_path):
    folder = tmp_path / "outputs" / "gpt"
    history = [{"step": step, "loss": 1.0 / step, "eval_accuracy": 0.5, "learning_rate": 0.1} for step in range(1, 6)]
    folder.mkdir(parents=True)
    state = TrainerState(log_history=history, global_step=5, max_steps=5, train_batch_size=8)
    state.num_input_tokens_seen = 4096
    state.save_to_json(str(folder / "trainer_state.json"))
    arguments = {"per_device_train_batch_size": 8, "gradient_accumulation_steps": 4, "optim": "adamw_torch"}
    (folder / "training_args.json").write_text(json.dumps({**arguments, "weight_decay": 0.1}))
    (folder / "config.json").write_text(json.dumps({"n_embd": 64, "vision": {"hidden_size": 9}, "n_layer": 2}))
    report = import_runs(HuggingfaceReader(tmp_path / "outputs"), store := RunStore(tmp_path / "store"))
    assert scale_of(store.read()[0]) == Scale(None, 64.0, 32.0, 5.0, 4096.0, "adamw_torch", 0.1)
    assert report.scale.line.startswith("size: model.n_embd (64), batch: per_device_train_batch_size x gradient_")
