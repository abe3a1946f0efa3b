"""Whatever else MLflow's own client can open: PostgreSQL, MySQL, Databricks, plug-ins. Slow, and always right."""

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from lodestar._credentials import stripped
from lodestar._extras import need
from lodestar.importers.reader import ListedRun, LoggedCurve, told
from lodestar.importers.readers.mlflow_backend import INFO, AbstractBackend, listed, logged


class ClientBackend(AbstractBackend):
    def __init__(self, address: str):
        self.address, self._given = stripped(address), address
        client = need("mlflow.tracking", "mlflow").MlflowClient
        with self._told():
            self._client = client(tracking_uri=address)
            self._client.search_experiments(max_results=1)

    def experiments(self) -> dict[str, str]:
        return {item.experiment_id: item.name for item in self._all(self._client.search_experiments)}

    def runs(self, experiments: Mapping[str, str]) -> Iterator[ListedRun]:
        view = need("mlflow.entities", "mlflow").ViewType.ALL
        for key, name in experiments.items():
            asked = {"experiment_ids": [key], "run_view_type": view, "order_by": ["attributes.start_time ASC"]}
            for run in self._all(self._client.search_runs, **asked):
                yield _listed(run, name)

    def histories(self, runs: Sequence[str], quantities: Sequence[str]) -> dict[str, dict[str, LoggedCurve]]:
        found: dict[str, dict[str, LoggedCurve]] = {run: {} for run in runs}
        for run in runs:
            for name in quantities:
                with self._told():
                    entries = self._client.get_metric_history(run, name)
                if entries:
                    found[run][name] = logged([entry.step for entry in entries], [entry.value for entry in entries])
        return found

    def _all(self, ask: Any, **what: Any) -> Iterator[Any]:
        token = None
        while True:
            with self._told():
                page = ask(max_results=1000, page_token=token, **what)
            yield from page
            token = page.token
            if not token:
                return

    def _told(self) -> contextlib.AbstractContextManager[None]:
        return told(self._given, "MLflow", "MLflow's client cannot read")


def _listed(run: Any, experiment: str) -> ListedRun:
    latest = {key: str(value) for key, value in sorted(run.data.metrics.items())}
    info = {name: getattr(run.info, name) for name in INFO}
    return listed(info, experiment, latest, 0, run.data.params, run.data.tags)
