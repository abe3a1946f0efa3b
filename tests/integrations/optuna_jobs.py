"""Objectives for the tests of pruning in Optuna; a worker process runs this file: STORAGE TRIALS."""

import sys

import optuna
from tests.responding import TOTAL, run_of

from lodestar.integrations.optuna import LodestarPruner, report
from lodestar.schedules import parse

STUDY = "sweep"


def words(params) -> str:
    return f"{params['shape']}:{params['lr']}"


def objective(trial: optuna.Trial) -> float:
    """Follows a schedule of its own, as a training job would; twenty reports."""
    trial.suggest_float("lr", 3e-4, 1e-2, log=True)
    trial.suggest_categorical("shape", ["linear", "constant", "wsd"])
    run = run_of(parse(words(trial.params), TOTAL), trial.number)
    for step, value in zip(run.metric.steps, run.metric.values, strict=True):
        report(trial, int(step), loss=run.loss.until(step).values[-1], metric=value)
        if trial.should_prune():
            raise optuna.TrialPruned
    return run.final_metric


def study_in(storage: str | None, pruner: optuna.pruners.BasePruner, **options) -> optuna.Study:
    sampler = optuna.samplers.RandomSampler(seed=0)
    made = {"direction": "maximize", "study_name": STUDY, "load_if_exists": True, **options}
    return optuna.create_study(
        storage=None if storage is None else database(storage), sampler=sampler, pruner=pruner, **made
    )


def database(url: str) -> optuna.storages.RDBStorage:
    """SQLite gives up after five seconds of waiting for another process; a busy machine takes longer."""
    return optuna.storages.RDBStorage(url, engine_kwargs={"connect_args": {"timeout": 120}})


if __name__ == "__main__":
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.load_study(
        study_name=STUDY, storage=database(sys.argv[1]), pruner=LodestarPruner(schedule=words, overhead=1)
    )
    study.optimize(objective, n_trials=int(sys.argv[2]))
