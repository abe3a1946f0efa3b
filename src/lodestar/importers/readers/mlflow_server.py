"""MLflow over HTTP: listings by the thousand, histories of many runs at once.

The bulk endpoint answers for up to 100 runs, but cuts its answer at 25,000 values without saying so; what may have been
cut is asked for again. A server without it (old, or someone else's) is asked run by run, page by page.
"""

import json
import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from lodestar._errors import TrackerError
from lodestar._extras import need
from lodestar.importers.reader import ListedRun, LoggedCurve
from lodestar.importers.readers.mlflow_backend import AbstractBackend, by_key, listed

API = "api/2.0/mlflow"
BULK = "ajax-api/2.0/mlflow/metrics/get-history-bulk"
_MOST = 25_000
_PAGE = 1_000
_SECONDS = 60.0
_CREDENTIALS = "MLFLOW_TRACKING_USERNAME and MLFLOW_TRACKING_PASSWORD, or MLFLOW_TRACKING_TOKEN"


class ServerBackend(AbstractBackend):
    def __init__(self, address: str):
        self.address = address.rstrip("/")
        self._here = threading.local()
        self._has_bulk = True

    def experiments(self) -> dict[str, str]:
        found: dict[str, str] = {}
        for page in self._pages("experiments/search", {"max_results": _PAGE, "view_type": "ACTIVE_ONLY"}):
            found |= {item["experiment_id"]: item["name"] for item in page.get("experiments", ())}
        return found

    def runs(self, experiments: Mapping[str, str]) -> Iterator[ListedRun]:
        for key, name in experiments.items():
            asked = {"experiment_ids": [key], "max_results": _PAGE, "run_view_type": "ALL"}
            for page in self._pages("runs/search", {**asked, "order_by": ["attributes.start_time ASC"]}):
                for run in page.get("runs", ()):
                    yield _listed(run, name)

    def histories(self, runs: Sequence[str], quantities: Sequence[str]) -> dict[str, dict[str, LoggedCurve]]:
        """Quantity by quantity, for all runs at once where the server can."""
        found: dict[str, dict[str, LoggedCurve]] = {key: {} for key in runs}
        for quantity in quantities:
            for key, curve in self._bulk(sorted(runs), quantity):
                found[key][quantity] = curve
        return found

    def _bulk(self, runs: list[str], quantity: str) -> Iterator[tuple[str, LoggedCurve]]:
        while runs:
            entries = self._ask_bulk(runs, quantity) if self._has_bulk else None
            if entries is None:
                yield from ((key, curve) for key in runs if (curve := self._paged(key, quantity)))
                return
            by_run = by_key((entry["run_id"], entry["step"], entry["value"]) for entry in entries)
            if len(entries) < _MOST:
                yield from by_run.items()
                return
            # Runs come in the order of their ids: all before the last are whole, those after it are missing.
            last = entries[-1]["run_id"]
            whole = self._paged(last, quantity) if len(by_run) == 1 else None
            by_run.pop(last)
            yield from by_run.items()
            if whole is not None:
                yield last, whole
            runs = [key for key in runs if key > last or (key == last and whole is None)]

    def _ask_bulk(self, runs: Sequence[str], quantity: str) -> list[dict[str, Any]] | None:
        """The entries; None from a server that has no such endpoint."""
        asked = {"run_id": list(runs), "metric_key": quantity, "max_results": _MOST}
        answer = self._send("GET", BULK, params=asked)
        if answer.status_code == 200:
            return self._read(answer).get("metrics", [])
        self._complain_of_access(answer)
        self._has_bulk = False
        return None

    def _paged(self, run: str, quantity: str) -> LoggedCurve | None:
        asked = {"run_id": run, "metric_key": quantity, "max_results": _MOST}
        pages = self._pages("metrics/get-history", asked, method="GET")
        entries = (entry for page in pages for entry in page.get("metrics", ()))
        return by_key((run, float(e.get("step", 0)), float(e.get("value", 0.0))) for e in entries).get(run)

    def _pages(self, path: str, asked: Mapping[str, Any], *, method: str = "POST") -> Iterator[dict[str, Any]]:
        token = None
        while True:
            body = {**asked, **({"page_token": token} if token else {})}
            sent = {"json": body} if method == "POST" else {"params": body}
            answer = self._send(method, f"{API}/{path}", **sent)
            self._complain_of_access(answer)
            page = self._read(answer)
            yield page
            before, token = token, page.get("next_page_token")
            if not token or token == before:
                return

    def _send(self, method: str, path: str, **what: Any) -> Any:
        requests = need("requests", "mlflow")
        try:
            return self._session().request(method, f"{self.address}/{path}", timeout=_SECONDS, **what)
        except requests.exceptions.SSLError as error:
            raise TrackerError(
                f"the certificate of {self.address} is not trusted: {_short(error)}. Fix: "
                "MLFLOW_TRACKING_SERVER_CERT_PATH names one to trust, MLFLOW_TRACKING_INSECURE_TLS=true trusts any"
            ) from error
        except (requests.exceptions.RequestException, OSError, ValueError) as error:
            raise TrackerError(
                f"cannot reach an MLflow server at {self.address}: {_short(error)}. Fix: check the address and that "
                "the server runs, then start the import again; what was imported stays"
            ) from error

    def _session(self) -> Any:
        """A session for each thread, kept open."""
        if not hasattr(self._here, "session"):
            self._here.session = _session()
        return self._here.session

    def _complain_of_access(self, answer: Any) -> None:
        if answer.status_code in (401, 403):
            what = "wants to know who you are" if answer.status_code == 401 else "does not let you read this"
            raise TrackerError(f"{self.address} {what} ({answer.status_code}). Fix: set {_CREDENTIALS}")

    def _read(self, answer: Any) -> dict[str, Any]:
        try:
            found = json.loads(answer.content)
        except ValueError:
            found = None
        if answer.status_code != 200 or not isinstance(found, dict):
            said = found.get("message", "") if isinstance(found, dict) else answer.text
            raise TrackerError(
                f"{self.address} does not answer as an MLflow server does: {answer.status_code} "
                f"{' '.join(str(said).split())[:200]!r}. Fix: check the address (with its path, if it has one)"
            )
        return found


def _session() -> Any:
    """Who we are and whom we trust, as MLflow's own client is told: by the environment."""
    requests, urllib3 = need("requests", "mlflow"), need("urllib3", "mlflow")
    session = requests.Session()
    retry = urllib3.Retry(total=4, connect=1, backoff_factor=0.5, status_forcelist=(429, 502, 503, 504))
    retry.allowed_methods = None
    retry.raise_on_status = False
    for scheme in ("http://", "https://"):
        session.mount(scheme, requests.adapters.HTTPAdapter(max_retries=retry))
    user, word = os.environ.get("MLFLOW_TRACKING_USERNAME"), os.environ.get("MLFLOW_TRACKING_PASSWORD")
    token = os.environ.get("MLFLOW_TRACKING_TOKEN")
    if user and word:
        session.auth = (user, word)
    elif token:
        session.headers["Authorization"] = f"Bearer {token}"
    if os.environ.get("MLFLOW_TRACKING_INSECURE_TLS", "").lower() in ("true", "1"):
        session.verify = False
    elif certificate := os.environ.get("MLFLOW_TRACKING_SERVER_CERT_PATH"):
        session.verify = certificate
    return session


def _listed(run: Mapping[str, Any], experiment: str) -> ListedRun:
    info, data = run["info"], run.get("data", {})
    latest = {
        entry["key"]: [entry.get("step", 0), entry.get("timestamp", 0), str(entry.get("value"))]
        for entry in data.get("metrics", ())
    }
    return listed(
        info["run_id"],
        info.get("run_name"),
        experiment,
        state=info.get("status", ""),
        ended=info.get("end_time"),
        deleted=info.get("lifecycle_stage") == "deleted",
        latest=latest,
        points=max((int(entry[0]) for entry in latest.values()), default=0),
        params={entry["key"]: entry.get("value", "") for entry in data.get("params", ())},
        tags={entry["key"]: entry.get("value", "") for entry in data.get("tags", ())},
    )


def _short(error: BaseException) -> str:
    """The root of an error in a few words."""
    reason = getattr(error.args[0], "reason", error) if error.args else error
    return str(reason).split(": ", 1)[-1].split(">: ")[-1][:200] or type(error).__name__
