"""W&B for tests: runs written offline by the real client, and a small server that speaks as much of W&B's GraphQL as
the real client asks for. What it answers was taken from the client's own questions, not from W&B's server.
"""

import http.server
import json
import math
import os
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from lodestar.importers.readers._wandb_file import WandbFile
from lodestar.testing import Written

KEY = "local-" + "a" * 40
QUIET = {"WANDB_SILENT": "true", "WANDB_DISABLE_GIT": "true", "WANDB_DISABLE_CODE": "true", "WANDB_CONSOLE": "off"}


def offline(folder, runs: Sequence[Written], *, rows=None) -> None:
    """Write runs with the real client, one row a step."""
    os.environ.update(QUIET)
    import wandb

    for run in runs:
        config = dict(run.config)
        one = wandb.init(mode="offline", dir=str(folder), project="digits", name=run.name, config=config)
        for step, row in (rows or rows_of(run)).items():
            one.log(row, step=step)
        one.finish()
    settled(folder)


def settled(folder) -> None:
    """Wait for the client's other process: it writes the last of a file a moment after `finish`."""
    deadline = time.monotonic() + 300
    for path in Path(folder).rglob("*.wandb"):
        while WandbFile(path, lambda *_: None).read().state == "running" and time.monotonic() < deadline:
            time.sleep(0.02)


def rows_of(run: Written) -> dict[int, dict[str, float]]:
    """A run's values by step."""
    rows: dict[int, dict[str, float]] = {}
    for name, curve in run.curves.items():
        for step, value in curve.items():
            rows.setdefault(step, {})[name] = value
    return dict(sorted(rows.items()))


class Server:
    """W&B's side of the public API, for the projects put into `projects`; `asked` are the names of the questions."""

    def __init__(self) -> None:
        self.projects: dict[str, list[Written]] = {}
        self.asked: list[tuple[str, Any]] = []
        self.states: dict[str, str] = {}
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, format, *args):
                pass

            def do_GET(self):
                self._send(404, b"")

            def do_POST(self):
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                if self.path != "/graphql":
                    self._send(404, b"")
                elif not self.headers.get("Authorization"):
                    self._send(401, b'{"errors":[{"message":"user is not logged in"}]}')
                else:
                    question = json.loads(body)
                    answer = outer.answer(question["query"], question.get("variables") or {})
                    self._send(200, json.dumps(answer).encode())

            def _send(self, status: int, body: bytes):
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def answer(self, query: str, given: Mapping[str, Any]) -> dict[str, Any]:
        """What a question gets."""
        if "viewer" in query:
            return {"data": {"viewer": {"id": "V", "username": "me", "entity": "me", "flags": "{}", "email": "me@x"}}}
        runs = self.projects.get(given.get("project", ""))
        if runs is None:
            return {"data": {"project": None}}
        if "runCount" in query:
            return {"data": {"project": self._page(runs, given)}}
        wanted = given.get("run") or given.get("runName") or given.get("name")
        run = next(run for run in runs if _id(run) == wanted)
        return {"data": {"project": {"run": self._about(run, query, given)}}}

    def _page(self, runs: Sequence[Written], given: Mapping[str, Any]) -> dict[str, Any]:
        first = int(given["cursor"]) if given.get("cursor") else 0
        part = runs[first : first + 2]  # two runs a page, whatever is asked for
        edges = [{"node": self._node(run), "cursor": str(first + n + 1)} for n, run in enumerate(part)]
        info = {"endCursor": str(first + len(part)), "hasNextPage": first + len(part) < len(runs)}
        return {
            "internalId": "1",
            "runCount": len(runs),
            "readOnly": False,
            "runs": {"edges": edges, "pageInfo": info},
        }

    def _about(self, run: Written, query: str, given: Mapping[str, Any]) -> dict[str, Any]:
        rows = [{"_step": step, **row} for step, row in rows_of(run).items()]
        if "parquetHistory" in query:
            return {"parquetHistory": {"parquetUrls": [], "liveData": [{"_step": row["_step"]} for row in rows]}}
        if "sampledHistory" in query:
            spec = json.loads(given["spec"])
            self.asked.append((_id(run), spec))
            within = [row for row in rows if spec["minStep"] <= row["_step"] <= spec["maxStep"]]
            whole = [row for row in within if all(key in row for key in spec["keys"])]  # which is how W&B drops rows
            return {"sampledHistory": [[{key: _json(row[key]) for key in {*spec["keys"]}} for row in whole]]}
        return self._node(run)

    def _node(self, run: Written) -> dict[str, Any]:
        rows = rows_of(run)
        names = {name for row in rows.values() for name in row}
        counts = {name: sum(name in row for row in rows.values()) for name in names}
        keys = {name: {"typeCounts": [{"type": "number", "count": count}]} for name, count in counts.items()}
        keys["image"] = {"typeCounts": [{"type": "image-file", "count": 3}]}
        return {
            "id": f"storage-{_id(run)}",
            "projectId": "1",
            "name": _id(run),
            "displayName": run.name,
            "state": self.states.get(run.name, "finished"),
            "config": json.dumps({name: {"value": value} for name, value in run.config.items()} | {"_wandb": {}}),
            "historyLineCount": len(rows),
            "heartbeatAt": "2026-01-01T00:00:00",
            "createdAt": "2026-01-01T00:00:00",
            "summaryMetrics": "{}",
            "systemMetrics": "{}",
            "user": {"name": "me", "username": "me"},
            "historyKeys": {"keys": keys, "lastStep": max(rows), "sets": []},
            **dict.fromkeys(("sweepName", "group", "jobType", "commit", "description", "notes")),
            "tags": [],
            "readOnly": False,
        }


def _id(run: Written) -> str:
    return run.name.replace("-", "")


def _json(value: float) -> Any:
    if math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def serving(cache) -> Iterator[Server]:
    """A server that the client in this process talks to from now on. The client reads its settings once: reset."""
    import wandb

    server = Server()
    given = {**QUIET, "WANDB_BASE_URL": server.url, "WANDB_API_KEY": KEY, "WANDB_CACHE_DIR": str(cache)}
    with pytest.MonkeyPatch.context() as patch:
        for name, value in given.items():
            patch.setenv(name, value)
        wandb.teardown()  # another test may have been first
        yield server
        wandb.teardown()
    server.close()
