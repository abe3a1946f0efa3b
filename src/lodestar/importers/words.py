"""The words people use for what a run holds: in columns of tables, quantities of trackers, keys of configs.

To teach the import a new name, add it here.
"""

from collections.abc import Mapping, Sequence

from lodestar._keys import plain as plain
from lodestar.runs.metric_name import HIGHER as HIGHER
from lodestar.runs.metric_name import LOSS as LOSS
from lodestar.runs.metric_name import LOWER as LOWER
from lodestar.runs.metric_name import tokens as tokens
from lodestar.schedules.config import EPOCH_TOTALS as EPOCH_TOTALS
from lodestar.schedules.config import STEP_TOTALS

SPLITS = {"train", "training", "trn", "val", "valid", "validation", "eval", "evaluation", "dev", "holdout", "test"}
HELD_OUT = {"val", "valid", "validation", "eval", "evaluation", "dev", "holdout", "heldout"}
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
    "task": ["task", "task_name", "workload", "dataset", "problem", "benchmark"],
    "status": ["status", "state", "outcome", "diverged"],
}
FACT_ONLY = {"peak_lr": ["lr", "learning_rate"]}
