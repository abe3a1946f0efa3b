"""The column guess: names as real tools write them, reasons, overrides, and errors that list what there is."""

import pytest

from lodestar._errors import TableError
from lodestar.importers.readers._table_wide import split_wide
from lodestar.importers.roles import guess_roles
from lodestar.runs import Direction
from lodestar.runs.metric_name import guess_direction

CASES = {
    "plain": ("run step loss val_acc lr", ("run", "step", "loss", "val_acc", "lr")),
    "a sweep": (
        "run shape peak_lr seed step train_loss val_accuracy lr test_accuracy",
        ("run", "step", "train_loss", "val_accuracy", "lr"),
    ),
    "Lightning": (
        "epoch lr-AdamW step train_loss_epoch train_loss_step val_acc",
        (None, "step", "train_loss_step", "val_acc", "lr-AdamW"),
    ),
    "Transformers": (
        "loss grad_norm learning_rate epoch step eval_loss eval_runtime eval_samples_per_second train_loss",
        (None, "step", "loss", "eval_loss", "learning_rate"),
    ),
    "Keras": (
        "loss accuracy val_loss val_accuracy learning_rate",
        (None, None, "loss", "val_accuracy", "learning_rate"),
    ),
    "W&B": ("_step _runtime train/loss val/f1 optim/lr", (None, "_step", "train/loss", "val/f1", "optim/lr")),
    "camels": (
        "runId globalStep trainLoss valPerplexity learningRate",
        ("runId", "globalStep", "trainLoss", "valPerplexity", "learningRate"),
    ),
    "only test": ("step loss test_error base_lr", (None, "step", "loss", "test_error", None)),
    "only train": ("step loss accuracy", (None, "step", "loss", "accuracy", None)),
}


@pytest.mark.parametrize("case", CASES)
def test_names_of_real_tools_are_understood(case):
    names, expected = CASES[case]
    guess = guess_roles(names.split())
    assert tuple(guess[role] for role in ("run", "step", "loss", "metric", "lr")) == expected


def test_every_guess_has_a_reason():
    guess = guess_roles(["run", "step", "loss", "val_acc", "lr"])
    assert set(guess.reasons) == {*guess.columns, "direction"}
    assert all(guess.reasons.values())


def test_facts_of_a_config_are_found():
    facts = ["config.opt.lr", "config.opt.lr_schedule", "config.seed", "config.dataset", "config.max_epoch"]
    guess = guess_roles(["epoch", "train_loss", "val_score", "learning_rate"], facts)
    assert guess["peak_lr"] == "config.opt.lr"
    assert guess["total"] == "config.max_epoch"
    assert (guess["schedule"], guess["seed"], guess["task"]) == (facts[1], facts[2], facts[3])


def test_what_you_say_comes_first():
    guess = guess_roles(["a", "step", "loss", "val_acc"], overrides={"loss": "a", "metric": "loss"}, direction="min")
    assert (guess["loss"], guess["metric"], guess.direction) == ("a", "loss", Direction.MIN)
    assert guess.reasons["loss"] == "as you said"


def test_none_says_there_is_no_such_column():
    assert guess_roles(["loss", "val_acc", "lr"], overrides={"lr": "none"})["lr"] is None


def test_a_wrong_name_is_answered_with_the_right_ones():
    with pytest.raises(TableError, match=r"no column 'rate' for --lr. Columns: 'loss', 'val_acc'"):
        guess_roles(["loss", "val_acc"], overrides={"lr": "rate"})


def test_no_loss_lists_the_columns_and_the_flag():
    with pytest.raises(TableError, match=r"training loss. Columns: 'a', 'b'. Fix: --loss COLUMN"):
        guess_roles(["a", "b"])


def test_no_metric_offers_to_do_without():
    with pytest.raises(TableError, match=r"validation metric.*--metric none"):
        guess_roles(["step", "loss"])
    assert guess_roles(["step", "loss"], overrides={"metric": "none"})["metric"] is None


def test_an_unknown_direction_is_asked_for():
    with pytest.raises(TableError, match="--direction max or --direction min"):
        guess_roles(["step", "loss", "quux"], overrides={"metric": "quux"})


@pytest.mark.parametrize("name", ["val_acc", "eval/f1", "AUC", "test_bleu", "top-1", "valAcc", "val_R2", "mean_reward"])
def test_higher_is_better(name):
    assert guess_direction(name) is Direction.MAX


@pytest.mark.parametrize("name", ["val_loss", "eval/perplexity", "RMSE", "test_error", "wer", "val_log_loss"])
def test_lower_is_better(name):
    assert guess_direction(name) is Direction.MIN


def test_a_wide_table_is_split_into_runs_and_quantities():
    found = split_wide(["step", "run-1/loss", "run-1/lr", "run-2/loss", "run-2/lr"])
    assert found is not None
    assert [(c.run, c.quantity) for c in found] == [
        ("run-1", "loss"),
        ("run-1", "lr"),
        ("run-2", "loss"),
        ("run-2", "lr"),
    ]


def test_an_export_with_extremes_keeps_the_means():
    found = split_wide(["Step", "a/b - train/loss", "a/b - train/loss__MIN", "c - train/loss", "c - train/loss__MAX"])
    assert found is not None
    assert [(c.run, c.quantity) for c in found] == [("a/b", "train/loss"), ("c", "train/loss")]


@pytest.mark.parametrize(
    "names",
    ["step train/loss val/loss val/acc optim/lr", "run step loss lr val_acc", "train.loss test.loss", "epoch loss"],
)
def test_parts_of_one_run_are_not_runs(names):
    assert split_wide(names.split()) is None
