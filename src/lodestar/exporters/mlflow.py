"""Runs to MLflow: metrics in batches, settings as parameters, decisions as metrics and tags."""

import re
import time
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, TypeVar

from lodestar._errors import TrackerError
from lodestar._extras import need
from lodestar.exporters.writer import PREFIX, AbstractWriter
from lodestar.runs import Scalar, Status

_BATCH = 1000
_PARAMS = 100
_LONGEST = 500  # letters of a parameter; MLflow refuses more
_STATES = {Status.FINISHED: "FINISHED", Status.DIVERGED: "FAILED", Status.CUT_SHORT: "KILLED"}
DEFAULT_EXPERIMENT = "lodestar"
T = TypeVar("T")


class MlflowWriter(AbstractWriter):
    """An MLflow experiment."""

    kind: ClassVar[str] = "mlflow"

    def __init__(self, address: str):
        self._place, experiment = split_address(address)
        self._entities = need("mlflow.entities", "mlflow")
        client = need("mlflow.tracking", "mlflow")
        self._client = _ask(self._place, lambda: client.MlflowClient(tracking_uri=self._place))
        found = _ask(self._place, lambda: self._client.get_experiment_by_name(experiment))
        made = None if found else _ask(self._place, lambda: self._client.create_experiment(experiment))
        self._experiment: str = found.experiment_id if found else str(made)
        self._run = ""
        self._waiting: list[Any] = []

    def begin(self, name: str, config: Mapping[str, Scalar], *, first_step: int = 0) -> None:
        tags = {"lodestar": "true"}
        run = _ask(self._place, lambda: self._client.create_run(self._experiment, run_name=name, tags=tags))
        self._run, self._waiting = run.info.run_id, []
        param = self._entities.Param
        params = [param(_name(key), str(value)[:_LONGEST]) for key, value in config.items() if str(value)]
        for start in range(0, len(params), _PARAMS):
            part = params[start : start + _PARAMS]
            _ask(self._place, lambda part=part: self._client.log_batch(self._run, params=part))

    def log(self, step: int, values: Mapping[str, float]) -> None:
        now = int(time.time() * 1000)
        self._waiting += [self._entities.Metric(_name(key), value, now, step) for key, value in values.items()]
        if len(self._waiting) >= _BATCH:
            self.flush()

    def decision(self, step: int, text: str, numbers: Mapping[str, float]) -> None:
        self.log(step, {PREFIX + name: value for name, value in numbers.items()})
        _ask(self._place, lambda: self._client.set_tag(self._run, f"lodestar.decision.{step:09d}", text))

    def flush(self) -> None:
        while self._waiting:
            part, self._waiting = self._waiting[:_BATCH], self._waiting[_BATCH:]
            _ask(self._place, lambda part=part: self._client.log_batch(self._run, metrics=part))

    def end(self, status: Status) -> None:
        self.flush()
        _ask(self._place, lambda: self._client.set_tag(self._run, "lodestar.status", str(status)))
        _ask(self._place, lambda: self._client.set_terminated(self._run, _STATES[status]))


def split_address(address: str) -> tuple[str, str]:
    scheme, _, rest = address.rpartition("://")
    place, slash, last = rest.rpartition("/")
    if not slash or not place.strip("/") or (scheme.startswith("sqlite") and re.search(r"\.(db|sqlite3?)$", last)):
        return address, DEFAULT_EXPERIMENT
    return (f"{scheme}://{place}" if scheme else place), last or DEFAULT_EXPERIMENT


def _name(key: str) -> str:
    """MLflow takes letters, digits, and _ - . / : and blanks."""
    return re.sub(r"[^\w\-./: ]", "_", key)


def _ask(place: str, question: Callable[[], T]) -> T:
    try:
        return question()
    except Exception as error:
        raise TrackerError(
            f"MLflow at {place} did not take the run: {error}. "
            "Fix: check the address and that the server runs (mlflow:ADDRESS/EXPERIMENT)"
        ) from error
