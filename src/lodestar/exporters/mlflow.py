"""Runs to MLflow: metrics in batches, settings as parameters, decisions as metrics and tags."""

import re
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, TypeVar

from lodestar._credentials import cleaned, safe_cause, stripped
from lodestar._errors import TrackerError
from lodestar._extras import need
from lodestar.exporters.writer import PREFIX, AbstractWriter
from lodestar.runs import Scalar, Status

_BATCH = 1000
_PARAMS = 100
_LONGEST = 500  # letters of a parameter; MLflow refuses more
_STATES = {Status.FINISHED: "FINISHED", Status.DIVERGED: "FAILED", Status.CUT_SHORT: "KILLED"}
CONNECT_SECONDS = 20.0
DEFAULT_EXPERIMENT = "lodestar"
T = TypeVar("T")


class MlflowWriter(AbstractWriter):
    """An MLflow experiment."""

    kind: ClassVar[str] = "mlflow"

    def __init__(self, address: str):
        self._place, self._experiment = split_address(address)
        self._entities = need("mlflow.entities", "mlflow")
        self._tracking = need("mlflow.tracking", "mlflow")
        self._client: Any = None
        self._run = self._id = ""
        self._waiting: list[Any] = []

    def connect(self) -> None:
        """Find the experiment, or make it. MLflow itself would try a dead server for minutes: we do not wait so long.

        A server that refuses is known at once, by a plain request: MLflow repeats its own.
        """
        if self._client is not None:
            return
        if re.match("https?://", self._place):
            _ask(self._place, lambda: _within(CONNECT_SECONDS, self._find))
        else:
            _ask(self._place, self._find)

    def _find(self) -> None:
        _knock(self._place)
        client = self._tracking.MlflowClient(tracking_uri=self._place)
        found = client.get_experiment_by_name(self._experiment)
        self._id = str(found.experiment_id if found else client.create_experiment(self._experiment))
        self._client = client

    def begin(self, name: str, config: Mapping[str, Scalar], *, first_step: int = 0) -> None:
        self.connect()
        tags = {"lodestar": "true"}
        run = _ask(self._place, lambda: self._client.create_run(self._id, run_name=name, tags=tags))
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


def _knock(place: str) -> None:
    """Any answer will do, an error too; an OSError where there is none."""
    if not re.match("https?://", place):
        return
    requests = need("requests", "mlflow")
    try:
        requests.get(place, timeout=CONNECT_SECONDS, stream=True, allow_redirects=False).close()
    except requests.exceptions.SSLError:
        return  # it is there; MLflow has settings of its own for certificates
    except requests.exceptions.Timeout:
        raise TimeoutError(f"no answer within {CONNECT_SECONDS:g} s") from None
    except requests.exceptions.ConnectionError as error:
        raise ConnectionError(str(error).rpartition(": ")[2].strip("')\"") or "no connection") from None


def _within(seconds: float, action: Callable[[], None]) -> None:
    """Do it in a thread that is given up after so long; it does not keep the process from ending."""
    failure: list[Exception] = []

    def work() -> None:
        try:
            action()
        except Exception as error:  # noqa: BLE001  raised again below
            failure.append(error)

    thread = threading.Thread(target=work, name="lodestar-mlflow", daemon=True)
    thread.start()
    thread.join(seconds)
    if thread.is_alive():
        raise TimeoutError(f"no answer within {seconds:g} s")
    if failure:
        raise failure[0]


def _name(key: str) -> str:
    """MLflow takes letters, digits, and _ - . / : and blanks."""
    return re.sub(r"[^\w\-./: ]", "_", key)


def _ask(place: str, question: Callable[[], T]) -> T:
    try:
        return question()
    except Exception as error:  # noqa: BLE001  MLflow raises many kinds
        raise TrackerError(
            f"MLflow at {stripped(place)} did not take the run: {cleaned(error, place)}. "
            "Fix: check the address and that the server runs (mlflow:ADDRESS/EXPERIMENT)"
        ) from safe_cause(error, place)
