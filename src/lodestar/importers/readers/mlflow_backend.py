"""What MLflow's several stores have in common: experiments, runs, histories; and how MLflow writes odd numbers."""

import abc
import hashlib
import json
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from lodestar.importers.reader import ListedRun, LoggedCurve
from lodestar.runs import Scalar

DELETED = "it was deleted in MLflow"
LARGEST = 1.7976931348623157e308
"""What MLflow's databases hold in place of infinity."""
INFO: tuple[str, ...] = ("run_id", "run_name", "status", "end_time", "lifecycle_stage")
"""What MLflow calls the facts of a run."""
_NAME_TAG = "mlflow.runName"
K = TypeVar("K", bound=Hashable)


class AbstractBackend(abc.ABC):
    address: str

    @abc.abstractmethod
    def experiments(self) -> dict[str, str]:
        """Id -> name of every experiment that is not deleted."""

    @abc.abstractmethod
    def runs(self, experiments: Mapping[str, str]) -> Iterator[ListedRun]:
        """The runs of these experiments, deleted ones with their `trouble`."""

    @abc.abstractmethod
    def histories(self, runs: Sequence[str], quantities: Sequence[str]) -> dict[str, dict[str, LoggedCurve]]:
        """Whole histories, by run and quantity."""


def listed(
    info: Mapping[str, Any],
    group: str,
    latest: Mapping[str, Any],
    points: int | None,
    params: Mapping[str, str],
    tags: Mapping[str, str],
) -> ListedRun:
    """A run. `latest` is each metric's last entry: it changes with every value logged, and so does the version.

    `info` holds what `INFO` names. `points` is a guess: None takes the last step, with which entries then begin.
    """
    key, state = info["run_id"], info.get("status") or ""
    config: dict[str, Scalar] = {tag: text for tag, text in tags.items() if not tag.startswith("mlflow.")}
    said = [state, info.get("end_time"), sorted(latest.items()), sorted(params.items()), sorted(config.items())]
    return ListedRun(
        key=key,
        name=str(info.get("run_name") or tags.get(_NAME_TAG) or key),
        version=hashlib.sha256(json.dumps(said, default=str).encode()).hexdigest()[:24],
        quantities=tuple(latest),
        config={**config, **params},
        state=state.lower(),
        group=group,
        trouble=DELETED if info.get("lifecycle_stage") == "deleted" else "",
        points=max((int(entry[0]) for entry in latest.values()), default=0) if points is None else points,
    )


def by_key(entries: Iterable[tuple[K, float, float | None]]) -> dict[K, LoggedCurve]:
    """Curves from (key, step, value), in the order they come."""
    pieces: dict[K, tuple[list[float], list[float | None]]] = {}
    for key, step, value in entries:
        steps, values = pieces.setdefault(key, ([], []))
        steps.append(step)
        values.append(value)
    return {key: logged(steps, values) for key, (steps, values) in pieces.items()}


def logged(steps: Sequence[float], values: Sequence[float | None]) -> LoggedCurve:
    """A curve, with None as NaN and the largest number as infinity."""
    numbers: NDArray[np.float64] = np.array(values, dtype=np.float64)
    numbers[numbers >= LARGEST], numbers[numbers <= -LARGEST] = np.inf, -np.inf
    return LoggedCurve(np.array(steps, dtype=np.float64), numbers)
