"""What the runs say of their job: tasks, optimizers, batch sizes, numbers of parameters. For the forecaster's file.

Comes in: runs, one at a time. Goes out: plain data; what no run says is left out. A config's key counts under any of
the names people give it.
"""

import collections
import math
import re
from typing import Any

from lodestar.runs.run import Run
from lodestar.schedules.config import plain

_MOST = 50  # different texts kept in the file
_NAMES = {
    "optimizers": ("optimizer", "optimiser", "optim", "opt", "optimizer_name", "optimizer_type", "optimizer_class"),
    "batch_sizes": ("batch_size", "train_batch_size", "global_batch_size", "total_batch_size", "batch", "bs"),
    "parameters": (
        *("parameters", "params", "n_params", "num_params", "total_params", "trainable_params", "n_parameters"),
        *("num_parameters", "model_parameters", "trainable_parameters", "param_count"),
    ),
}


class JobSurvey:
    """Gathers what runs say of their job."""

    def __init__(self):
        self._texts = {key: collections.Counter[str]() for key in ("tasks", "metric_names", "optimizers")}
        self._numbers: dict[str, list[float]] = {"batch_sizes": [], "parameters": []}

    def add(self, run: Run) -> None:
        """Take in one run."""
        stated = {plain(re.split(r"[./]", key)[-1]): value for key, value in run.facts.extra.items()}
        found = {key: next((stated[n] for n in names if n in stated), None) for key, names in _NAMES.items()}
        found |= {"tasks": run.facts.task, "metric_names": run.metric_name}
        for key, texts in self._texts.items():
            if isinstance(text := found[key], str):
                texts[text] += 1
        for key, numbers in self._numbers.items():
            if (number := _positive(found[key])) is not None:
                numbers[:] = min([*numbers, number]), max([*numbers, number])

    def to_dict(self) -> dict[str, Any]:
        """Plain data: lists of texts (optimizers with their runs counted), lowest and highest of the numbers."""
        texts: dict[str, Any] = {key: [*values][:_MOST] for key, values in self._texts.items()}
        texts["optimizers"] = dict(self._texts["optimizers"].most_common(_MOST))
        return {key: value for key, value in (texts | self._numbers).items() if value}


def _positive(value: Any) -> float | None:
    """A tracker may keep a number as text."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return number if math.isfinite(number) and number > 0 and not isinstance(value, bool) else None
