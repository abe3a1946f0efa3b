"""The words people use for what a run holds: in columns of tables, quantities of trackers, keys of configs.

To teach the import a new name, add it here.
"""

import itertools
import re
from collections.abc import Mapping, Sequence

from lodestar.schedules.config import EPOCH_TOTALS as EPOCH_TOTALS
from lodestar.schedules.config import STEP_TOTALS
from lodestar.schedules.config import plain as plain

SPLITS = {"train", "training", "trn", "val", "valid", "validation", "eval", "evaluation", "dev", "holdout", "test"}
HELD_OUT = {"val", "valid", "validation", "eval", "evaluation", "dev", "holdout", "heldout"}
LOSS = {"loss", "nll", "ce", "crossentropy", "xent", "objective", "cost"}
HIGHER = {
    *("acc", "accuracy", "f1", "auc", "auroc", "bleu", "rouge", "map", "iou", "miou", "dice", "precision", "recall"),
    *("score", "reward", "return", "top1", "top5", "acc1", "acc5", "r2", "psnr", "ssim", "ndcg", "mrr", "kappa", "mcc"),
    *("correct", "winrate", "ap", "map50"),
}
LOWER = LOSS | {
    *("error", "err", "perplexity", "ppl", "bpb", "bpc", "rmse", "mse", "mae", "mape", "wer", "cer", "fid", "logloss"),
    *("brier", "regret", "deviance", "rmsle"),
}
NOT_A_METRIC = {"time", "seconds", "grad", "norm", "memory", "runtime", "per", "samples", "scale", "best", "step"}
NOT_THE_LR = {
    *("peak", "max", "min", "base", "initial", "init", "schedule", "scheduler", "decay", "warmup", "final", "end"),
    *("start", "name", "type", "shape", "multiplier", "mult", "scale", "factor"),
}
OPTIMIZER_STEPS = ("global_step", "trainer_global_step", "train_global_step", "optimizer_step")
EPOCHS = ("epoch", "epochs", "train_epoch")
EXACT: Mapping[str, Sequence[str]] = {
    "step": [
        *(*OPTIMIZER_STEPS, "step", "_step", "iteration", "iter", "iterations", "steps", "train_step", "update"),
        *("updates", "num_updates", *EPOCHS),
    ],
    "run": [
        *("run", "run_id", "run_uuid", "trial_id", "run_name", "trial", "trial_name", "experiment_name", "exp_name"),
        *("exp", "job_id", "job", "name"),
    ],
    "total": STEP_TOTALS,
    "schedule": [
        *("schedule", "lr_schedule", "schedule_name", "scheduler", "lr_scheduler", "lr_scheduler_type", "lr_shape"),
        "shape",
    ],
    "peak_lr": ["peak_lr", "max_lr", "lr_peak", "lr_max", "base_lr", "initial_lr", "init_lr", "lr0"],
    "seed": ["seed", "random_seed", "rng_seed", "manual_seed", "random_state"],
    "task": ["task", "task_name", "dataset", "problem", "benchmark"],
    "status": ["status", "state", "outcome", "diverged"],
}
FACT_ONLY = {"peak_lr": ["lr", "learning_rate"]}
_CAMEL = re.compile(r"([a-z0-9])([A-Z])")


def tokens(name: str) -> set[str]:
    """The words in a name: 'trainLoss', 'train/loss' and 'TRAIN_LOSS' read alike; 'learning rate' and 'top-1' too."""
    split = _CAMEL.sub(r"\1_\2", name).lower()
    words = [word for word in re.split(r"[^a-z0-9]+", split) if word]
    return {*words, *(one + other for one, other in itertools.pairwise(words))}
