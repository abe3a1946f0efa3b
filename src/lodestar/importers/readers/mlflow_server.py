"""MLflow over HTTP: listings by the thousand, histories of many runs at once.

The bulk endpoint answers for up to 100 runs, but cuts its answer at 25,000 values without saying so; what may have been
cut is asked for again. A server without it (old, or someone else's) is asked run by run, page by page. What is not as
MLflow answers, or does not end, is a `TrackerError`.
"""

import contextlib
import json
import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from lodestar._credentials import cleaned, safe_cause, stripped
from lodestar._errors import RunError, TrackerError
from lodestar._extras import need
from lodestar.importers.reader import ListedRun, LoggedCurve
from lodestar.importers.readers._http import Answer, Endless, ask
from lodestar.importers.readers.mlflow_backend import AbstractBackend, by_key, listed

API = "api/2.0/mlflow"
BULK = "ajax-api/2.0/mlflow/metrics/get-history-bulk"
_MOST = 25_000
_PAGE = 1_000
MOST_PAGES = 10_000
"""Of one listing, or of one quantity of a run."""
_CREDENTIALS = "MLFLOW_TRACKING_USERNAME and MLFLOW_TRACKING_PASSWORD, or MLFLOW_TRACKING_TOKEN"


class ServerBackend(AbstractBackend):
    def __init__(self, address: str):
        self.address, self._given = stripped(address).rstrip("/"), address
        self._here = threading.local()
        self._has_bulk = True

    def experiments(self) -> dict[str, str]:
        found: dict[str, str] = {}
        for page in self._pages("experiments/search", {"max_results": _PAGE, "view_type": "ACTIVE_ONLY"}):
            with self._understood():
                found |= {str(item["experiment_id"]): str(item["name"]) for item in page.get("experiments", ())}
        return found

    def runs(self, experiments: Mapping[str, str]) -> Iterator[ListedRun]:
        for key, name in experiments.items():
            asked = {"experiment_ids": [key], "max_results": _PAGE, "run_view_type": "ALL"}
            for page in self._pages("runs/search", {**asked, "order_by": ["attributes.start_time ASC"]}):
                with self._understood():
                    listing = [_listed(run, name) for run in page.get("runs", ())]
                yield from listing

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
            with self._understood():
                by_run = by_key((entry["run_id"], *_point(entry)) for entry in entries)
                if not by_run.keys() <= set(runs):
                    raise ValueError("values of runs that were not asked for")
                if len(entries) >= _MOST and entries[-1]["run_id"] != max(by_run):
                    raise ValueError("values that are not in the order of their runs")
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
        if answer.status == 200:
            with self._understood():
                return list(self._read(answer).get("metrics", []))
        self._complain_of_access(answer)
        self._has_bulk = False
        return None

    def _paged(self, run: str, quantity: str) -> LoggedCurve | None:
        asked = {"run_id": run, "metric_key": quantity, "max_results": _MOST}
        pages = self._pages("metrics/get-history", asked, method="GET")
        with self._understood():
            return by_key((run, *_point(entry)) for page in pages for entry in page.get("metrics", ())).get(run)

    def _pages(self, path: str, asked: Mapping[str, Any], *, method: str = "POST") -> Iterator[dict[str, Any]]:
        token, seen = None, set[str]()
        while len(seen) < MOST_PAGES:
            body = {**asked, **({"page_token": token} if token else {})}
            sent = {"json": body} if method == "POST" else {"params": body}
            answer = self._send(method, f"{API}/{path}", **sent)
            self._complain_of_access(answer)
            page = self._read(answer)
            yield page
            token = str(page.get("next_page_token") or "")
            if not token or token in seen:
                return
            seen.add(token)
        raise TrackerError(
            f"{self.address} goes on without end: more than {MOST_PAGES:,} pages of {path}. Fix: check the address, or "
            "name fewer experiments (--experiment NAME)"
        )

    def _send(self, method: str, path: str, **what: Any) -> Answer:
        requests = need("requests", "mlflow")
        try:
            base, mark, query = self._given.partition("?")
            return ask(self._session(), method, f"{base.rstrip('/')}/{path}{mark}{query}", **what)
        except Endless as error:
            raise TrackerError(
                f"{self.address} sends more than can be read: {error}. Fix: check the address and the server; what was "
                "imported stays"
            ) from safe_cause(error, self._given)
        except requests.exceptions.SSLError as error:
            raise TrackerError(
                f"the certificate of {self.address} is not trusted: {_short(error, self._given)}. Fix: "
                "MLFLOW_TRACKING_SERVER_CERT_PATH names one to trust, MLFLOW_TRACKING_INSECURE_TLS=true trusts any"
            ) from safe_cause(error, self._given)
        except (requests.exceptions.RequestException, OSError, ValueError) as error:
            raise TrackerError(
                f"cannot reach an MLflow server at {self.address}: {_short(error, self._given)}. Fix: check the "
                "address and that the server runs, then start the import again; what was imported stays"
            ) from safe_cause(error, self._given)

    def _session(self) -> Any:
        """A session for each thread, kept open."""
        if not hasattr(self._here, "session"):
            self._here.session = _session()
        return self._here.session

    def _complain_of_access(self, answer: Answer) -> None:
        if answer.status in (401, 403):
            what = "wants to know who you are" if answer.status == 401 else "does not let you read this"
            raise TrackerError(f"{self.address} {what} ({answer.status}). Fix: set {_CREDENTIALS}")

    def _read(self, answer: Answer) -> dict[str, Any]:
        try:
            found = json.loads(answer.body)
        except (ValueError, RecursionError):
            found = None
        if answer.status != 200 or not isinstance(found, dict):
            said = (
                found.get("message", "") if isinstance(found, dict) else answer.body[:2000].decode("utf-8", "replace")
            )
            raise self._strange(f"{answer.status} {' '.join(cleaned(said, self._given).split())[:200]!r}")
        return found

    @contextlib.contextmanager
    def _understood(self) -> Iterator[None]:
        """Turns what does not have MLflow's form into a `TrackerError`."""
        try:
            yield
        except (KeyError, IndexError, TypeError, ValueError, AttributeError, OverflowError, RecursionError) as error:
            what = f"{type(error).__name__}: {cleaned(error, self._given)}"[:200]
            raise self._strange(what) from safe_cause(error, self._given)

    def _strange(self, what: str) -> TrackerError:
        cure = "Fix: check the address (with its path, if it has one)"
        return TrackerError(f"{self.address} does not answer as an MLflow server does: {what}. {cure}")


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
        str(entry["key"]): [int(entry.get("step", 0)), entry.get("timestamp", 0), str(entry.get("value"))]
        for entry in data.get("metrics", ())
    }
    params, tags = (
        {str(entry["key"]): str(entry.get("value", "")) for entry in data.get(part, ())} for part in ("params", "tags")
    )
    return listed(info, experiment, latest, None, params, tags)


def _point(entry: Mapping[str, Any]) -> tuple[float, float | None]:
    """A step and its value; `RunError` where they are no numbers, for then the others may be fine."""
    step, value = entry.get("step", 0), entry.get("value", 0.0)
    try:
        return float(step), None if value is None else float(value)
    except (TypeError, ValueError, OverflowError) as error:
        what = f"{str(value)[:40]!r} at step {str(step)[:40]!r}"
        raise RunError(f"the server sent {what}, which is no number. Fix: log it anew, or delete the run") from error


def _short(error: BaseException, address: str) -> str:
    """The root of an error in a few words."""
    reason = getattr(error.args[0], "reason", error) if error.args else error
    return cleaned(reason, address).split(": ", 1)[-1].split(">: ")[-1][:200] or type(error).__name__
