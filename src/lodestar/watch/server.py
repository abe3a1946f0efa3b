"""The server: one page, a stream of what is new, what-if, and commands for those who have the token.

Comes in: jobs and their outlooks. Goes out: a FastAPI application. It keeps nothing: killed and started again, it shows
the same. Pages may ask it for what is listed here and nothing else, by a strict content security policy; what a job is
called is data, never markup.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from typing import Annotated, Any

from lodestar._errors import LodestarError
from lodestar._extras import need
from lodestar.report.html.chart import Chart
from lodestar.report.sections.decisions import decision_charts
from lodestar.report.sections.live import live_charts
from lodestar.report.sections.why import why, word
from lodestar.schedules import FAMILIES
from lodestar.watch.commands import send
from lodestar.watch.guard import TOKEN_HEADER, may_command, refusal
from lodestar.watch.jobs import Job, Jobs
from lodestar.watch.outlook import Outlooks, View
from lodestar.watch.page import page

need("fastapi", "watch")

import fastapi  # noqa: E402
from fastapi import Header, Request  # noqa: E402
from fastapi.exceptions import RequestValidationError  # noqa: E402
from fastapi.responses import HTMLResponse, JSONResponse, StreamingResponse  # noqa: E402
from pydantic import BaseModel, ConfigDict, Field  # noqa: E402
from starlette.concurrency import run_in_threadpool  # noqa: E402

TICK = 0.25  # seconds between two looks for news
ALIVE = 15.0  # seconds after which an idle stream says that it is alive
MOST_STREAMS = 50
LARGEST = 100_000  # bytes of a request


class WhatIf(BaseModel):
    """A schedule for the rest of a run: knots drawn by hand, or a family in words."""

    model_config = ConfigDict(extra="forbid")
    job: str = Field(max_length=40)
    knots: list[tuple[float, float]] | None = Field(None, max_length=1000)
    words: str | None = Field(None, max_length=200)


class Order(BaseModel):
    """A command to a job."""

    model_config = ConfigDict(extra="forbid")
    job: str = Field(max_length=40)
    do: str = Field(max_length=20)
    value: float | int | list[tuple[float, float]] | None = None
    by: str = Field(max_length=100)


def application(
    jobs: Jobs, outlooks: Outlooks, token: str, host: str, ending: Callable[[], bool] = lambda: False
) -> fastapi.FastAPI:
    """The application. `token` is what a command must carry, `host` where the server listens, `ending` if it ends."""
    app = fastapi.FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
    text, policy = page()
    streams = [0]

    app.add_middleware(_Guarded, host=host, policy=policy)

    @app.exception_handler(LodestarError)
    async def said(request: Request, error: LodestarError) -> JSONResponse:
        return _refused(str(error), 409)

    @app.exception_handler(RequestValidationError)
    async def misunderstood(request: Request, error: RequestValidationError) -> JSONResponse:
        first = error.errors()[0]
        return _refused(f"the request is not understood: {first['msg']} at {'.'.join(map(str, first['loc']))}", 422)

    @app.get("/")
    def show() -> HTMLResponse:
        return HTMLResponse(text)

    @app.get("/api/stream")
    async def stream(job: str = "") -> Any:
        if streams[0] >= MOST_STREAMS:
            return _refused(f"{MOST_STREAMS} pages watch already. Fix: close one", 503)
        return StreamingResponse(_counted(streams, _news(jobs, outlooks, job, ending)), media_type="text/event-stream")

    @app.post("/api/what-if")
    def foresee(asked: WhatIf) -> dict[str, Any]:
        view = outlooks.of(jobs.find(asked.job))
        try:
            knots = asked.knots or (view.family(asked.words) if asked.words else view.planned_knots())
            return view.by_hand(knots)
        except ValueError as error:
            raise LodestarError(str(error)) from error

    @app.post("/api/command")
    def command(order: Order, given: Annotated[str | None, Header(alias=TOKEN_HEADER)] = None) -> Any:
        if not may_command(given, token):
            return _refused("no command without the token. Fix: open the whole address lodestar watch printed", 403)
        job = jobs.find(order.job)
        sent = send(job.path, order.do, order.value, f"{order.by.strip() or 'somebody'} (page)")
        return {"sent": str(sent), "id": sent.id}

    return app


class _Guarded:
    """Refuses what `guard` does, and sends the policy with every answer. Streams pass as they come."""

    def __init__(self, app: Any, host: str, policy: str):
        self._app, self._host, self._headers = app, host, _headers(policy)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return
        request = Request(scope)
        why_not = refusal(request.method, request.headers, self._host)
        if why_not is None and not _small(request.method, request.headers.get("content-length")):
            why_not = f"a request must say its length, and not be larger than {LARGEST} bytes"

        async def with_policy(message: Any) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], *self._headers]
            await send(message)

        await (_refused(why_not, 403) if why_not else self._app)(scope, receive, with_policy)


def _small(method: str, length: str | None) -> bool:
    """A body without a length may have no end; only what is asked for without a body needs none."""
    return method == "GET" if length is None else length.isdecimal() and int(length) <= LARGEST


def _headers(policy: str) -> list[tuple[bytes, bytes]]:
    named = {
        "content-security-policy": policy,
        "x-content-type-options": "nosniff",
        "referrer-policy": "no-referrer",
        "cross-origin-resource-policy": "same-origin",
        "cross-origin-opener-policy": "same-origin",
        "cache-control": "no-store",
    }
    return [(name.encode(), value.encode()) for name, value in named.items()]


def _refused(sentence: str, status: int) -> JSONResponse:
    return JSONResponse({"error": sentence}, status)


async def _counted(streams: list[int], news: AsyncIterator[str]) -> AsyncIterator[str]:
    streams[0] += 1
    try:
        async for part in news:
            yield part
    finally:
        streams[0] -= 1


async def _news(jobs: Jobs, outlooks: Outlooks, key: str, ending: Callable[[], bool]) -> AsyncIterator[str]:
    """The table whenever it changes, and the job that is looked at whenever it does."""
    told: dict[str, str] = {}
    idle = 0.0
    while not ending():
        news = await run_in_threadpool(_new, jobs, outlooks, key, told)
        for name, data in news:
            yield f"event: {name}\ndata: {data}\n\n"
        idle = 0.0 if news else idle + TICK
        if idle >= ALIVE:
            idle = 0.0
            yield ": alive\n\n"
        await asyncio.sleep(TICK)


def _new(jobs: Jobs, outlooks: Outlooks, key: str, told: dict[str, str]) -> list[tuple[str, str]]:
    found, news = jobs.all(), []
    table = _json([job.row() for job in found])
    if told.get("table") != table:
        told["table"] = table
        news.append(("table", table))
    job = next((job for job in found if job.id == key), None)
    if job is not None and told.get("job") != job.version:
        told["job"] = job.version
        news.append(("job", _json(job_data(job, outlooks.of(job)))))
    return news


def job_data(job: Job, view: View) -> dict[str, Any]:
    """Everything the page shows of one job."""
    log = job.steered.log
    decisions = [
        {
            "step": d.step,
            "what": word(d.outcome),
            "why": why(d),
            "final": d.predicted,
            "lr": d.first_lr,
            "by": None if d.command is None else f"{d.command.by}, {d.command.at}",
        }
        for d in reversed(log.decisions)
    ]
    charts: list[Chart] = [*live_charts(view.live), *decision_charts(job.steered)[1:]]
    caps = log.header.get("caps")
    return {
        **job.row(),
        "facts": [f"{name} {value}" for name, value in log.facts.items()],
        "summary": log.summary if log.over else None,
        "warnings": [*([job.trouble] if job.trouble else []), *log.warnings],
        "waiting": None if job.waiting is None else f"{job.waiting}, sent by {job.waiting.by}",
        "paused": job.paused,
        "decisions": decisions,
        "charts": [{**chart.as_data(), "caption": chart.caption} for chart in charts],
        "plan": None if view.plan is None else view.plan.to_dict(),
        "alternatives": [other.to_dict() for other in view.alternatives],
        "what_if": view.what_if,
        "knots": view.planned_knots(),
        "most": caps[1] if isinstance(caps, list) and len(caps) == 2 else None,
        "families": [name for name in FAMILIES if name != "trapezoid"],
    }


def _json(data: object) -> str:
    """One line; NaN and inf, which JSON lacks, become null."""
    try:
        return json.dumps(data, allow_nan=False)
    except ValueError:
        return json.dumps(json.loads(json.dumps(data), parse_constant=lambda name: None))
