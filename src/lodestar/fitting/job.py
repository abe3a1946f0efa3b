"""What the runs say of their job: tasks, optimizers, batch sizes, parameters, widths. For the forecaster's file.

Comes in: runs, one at a time. Goes out: plain data; what no run says is left out. A config's key counts under any of
the names people give it (`runs/fact_names.py`).
"""

import collections
from typing import Any

from lodestar.runs.run import Run
from lodestar.runs.scale import scale_of

_MOST = 50  # different texts kept in the file
_RANGES = ("batch_sizes", "parameters", "widths")


class JobSurvey:
    """Gathers what runs say of their job."""

    def __init__(self):
        self._texts = {key: collections.Counter[str]() for key in ("tasks", "metric_names", "optimizers")}
        self._numbers: dict[str, list[float]] = {key: [] for key in _RANGES}

    def add(self, run: Run) -> None:
        """Take in one run."""
        scale = scale_of(run)
        found: dict[str, Any] = {"tasks": run.facts.task, "metric_names": run.metric_name}
        found |= {"optimizers": scale.optimizer, "batch_sizes": scale.batch_size, "parameters": scale.parameters}
        found["widths"] = scale.width
        for key, texts in self._texts.items():
            if isinstance(text := found[key], str):
                texts[text] += 1
        for key, numbers in self._numbers.items():
            if (number := found[key]) is not None:
                numbers[:] = min([*numbers, number]), max([*numbers, number])

    def to_dict(self) -> dict[str, Any]:
        """Plain data: lists of texts (optimizers with their runs counted), lowest and highest of the numbers."""
        texts: dict[str, Any] = {key: [*values][:_MOST] for key, values in self._texts.items()}
        texts["optimizers"] = dict(self._texts["optimizers"].most_common(_MOST))
        return {key: value for key, value in (texts | self._numbers).items() if value}
