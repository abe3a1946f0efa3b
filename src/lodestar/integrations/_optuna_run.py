"""A trial of Optuna as a run: its reported values are the metric, its user attributes loss, rate and schedule."""

from typing import Any

from optuna.trial import FrozenTrial, TrialState

from lodestar.integrations._trial_run import Planned, run_from
from lodestar.runs import Direction, Run

LOSS, LR = "loss", "lr"
"""User attributes that hold curves, as [step, value] pairs; `lodestar import` reads them too."""


def as_run(trial: FrozenTrial, direction: Direction, total: int | None, planned: Planned | None) -> Run | None:
    """A trial as a run; None if it has reported nothing."""
    return run_from(
        f"trial {trial.number}",
        trial.intermediate_values,
        direction=direction,
        complete=trial.state is TrialState.COMPLETE,
        loss=_curve(trial.user_attrs.get(LOSS)),
        lr=_curve(trial.user_attrs.get(LR)),
        total=total,
        planned=planned,
    )


def _curve(attribute: Any) -> dict[int, float]:
    """A curve among the user attributes; empty where there is none, or nobody can read it."""
    if not isinstance(attribute, list):
        return {}
    try:
        return {int(step): float(value) for step, value in attribute}
    except (TypeError, ValueError):
        return {}
