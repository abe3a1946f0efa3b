"""What LodestarPruner costs an Optuna trial of 2 s: at most 0.5 % of its time.

Comes in: nothing. Goes out: the share of the trials' time that `report` and `should_prune` take beyond what Optuna's
own calls take (`trial.report` and a pruner that never prunes), in one process, in processor time; learning goes on in a
thread of its own, whose processor time is told apart. One study in memory, forty trials of thirty reports each; what a
trial does between two reports is to keep the processor busy, and what it reports are the curves of made-up runs.
"""

import math
import time
import warnings

import numpy as np

BAR_PERCENT = 0.5
TRIAL_SECONDS, REPORTS, TRIALS = 2.0, 30, 40


def run(trials: int = TRIALS) -> dict[str, object]:
    """Both studies."""
    import optuna

    from lodestar.integrations.optuna import LodestarPruner, report

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    ours, whole = _study(LodestarPruner(total_steps=REPORTS), report, trials)
    plain, _ = _study(optuna.pruners.NopPruner(), _told, trials)
    extra = 100 * (sum(ours) - sum(plain)) / sum(whole)
    return {
        "trials": trials,
        "trial_s": round(float(np.mean(whole)), 2),
        "calls_ms_a_trial": round(1e3 * float(np.mean(ours)), 2),
        "calls_ms_a_trial_of_optuna_alone": round(1e3 * float(np.mean(plain)), 2),
        "percent_of_the_trials": round(extra, 3),
        "bar": BAR_PERCENT,
    }


def _told(trial: object, step: int, *, loss: float, metric: float, lr: float) -> None:
    del loss, lr
    trial.report(metric, step)  # pyright: ignore[reportAttributeAccessIssue]


def _study(pruner: object, tell: object, trials: int) -> tuple[list[float], list[float]]:
    """Processor time of this thread in calls, and in all, for each trial."""
    import optuna

    calls, whole = [], []

    def objective(trial: optuna.Trial) -> float:
        peak = trial.suggest_float("lr", 1e-4, 1e-1, log=True)
        rng, began, spent = np.random.default_rng(trial.number), time.thread_time(), 0.0
        pruned, metric = False, 0.0
        for step in range(1, REPORTS + 1):
            until = began + spent + TRIAL_SECONDS * step / REPORTS
            while time.thread_time() < until:
                math.sqrt(2.0)
            lr = peak * (1 - step / REPORTS)
            good = math.exp(-((math.log(peak / 3e-3)) ** 2) / 8)
            loss = 2.0 * math.exp(-3 * good * step / REPORTS) + 0.02 * float(rng.normal())
            metric = math.exp(-0.5 * max(loss, 0.0))
            before = time.thread_time()
            tell(trial, step, loss=loss, metric=metric, lr=lr)  # pyright: ignore[reportCallIssue]
            pruned = trial.should_prune()
            spent += time.thread_time() - before
            if pruned:
                break
        calls.append(spent)
        whole.append(time.thread_time() - began)
        if pruned:
            raise optuna.TrialPruned
        return metric

    study = optuna.create_study(direction="maximize", pruner=pruner, sampler=optuna.samplers.RandomSampler(seed=0))  # pyright: ignore[reportArgumentType]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        study.optimize(objective, n_trials=trials)
    return calls, whole


if __name__ == "__main__":
    print(run())
