"""`lodestar watch`: running jobs on a live page, or in the terminal."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from lodestar.cli import _screen

if TYPE_CHECKING:
    from lodestar.runs.store import RunStore
    from lodestar.watch.jobs import Jobs


def watch_command(
    logs: Annotated[list[Path], Argument(help="Decision logs, or folders of them: what jobs were given as log=....")],
    runs: Annotated[str | None, Option(help="A store of runs, for the curves of jobs whose logs have none.")] = None,
    model: Annotated[Path | None, Option(help="The forecaster, where logs do not say which file it is.")] = None,
    port: Annotated[int, Option(min=0, max=65535, help="The port of the page; 0: any that is free.")] = 8765,
    host: Annotated[str, Option(help="The address to listen on. Default: this machine alone.")] = "127.0.0.1",
    text: Annotated[bool, Option("--text", help="In the terminal, until Ctrl-C; elsewhere once.")] = False,
) -> None:
    """Watch running jobs: curves as they come, forecasts, decisions, warnings; what if, and commands, by hand.

    The address that is printed ends in a token. Whoever opens it may command jobs that were started with control=True;
    without the token the page only looks. Jobs notice nothing of it, and neither minds if the other is killed.

    \b
    Examples:
      lodestar watch logs
      lodestar watch run.jsonl --text
      lodestar watch logs --runs runs --port 9000
    """
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # the machine is the jobs'; before NumPy comes
    from lodestar.runs.store import RunStore
    from lodestar.watch.jobs import Jobs

    store = None if runs is None else RunStore.open(runs)
    jobs = Jobs(logs, store)
    if text:
        _text(jobs)
    else:
        _serve(jobs, store, model, host, port)


def _text(jobs: "Jobs") -> None:
    import time

    from rich.live import Live

    from lodestar.watch.text import screen

    console = _screen.out()
    if not console.is_terminal:
        _screen.out(max(console.width, 120)).print(screen(jobs.all(), _screen.safe))
        return
    try:
        with Live(screen(jobs.all(), _screen.safe), console=console, refresh_per_second=2, screen=False) as live:
            while True:
                time.sleep(1.0)
                live.update(screen(jobs.all(), _screen.safe))
    except KeyboardInterrupt:
        return


def _serve(jobs: "Jobs", store: "RunStore | None", model: Path | None, host: str, port: int) -> None:
    import contextlib
    import secrets
    import socket

    from lodestar._errors import LodestarError
    from lodestar._extras import need
    from lodestar.watch.guard import is_loopback

    uvicorn = need("uvicorn", "watch")
    need("fastapi", "watch")
    from lodestar.watch.outlook import Outlooks
    from lodestar.watch.server import application

    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
        listening.listen(128)  # whoever opens the address at once waits, and is not refused
    except OSError as error:
        listening.close()
        raise LodestarError(
            f"cannot listen on {host}:{port}: {error.strerror or error}. Fix: another --port"
        ) from error
    if not is_loopback(host):
        _screen.warn(
            f"others on the network can look at these jobs: the page listens on {host}, not on this machine alone"
        )
    token, shown = secrets.token_urlsafe(24), f"[{host}]" if ":" in host else host
    _screen.out().print(f"http://{shown}:{listening.getsockname()[1]}/#token={token}", soft_wrap=True, markup=False)
    _screen.err().print(_screen.safe("Open this address; with its token, the page may command. Ctrl-C ends it."))
    app = application(jobs, Outlooks(store, model), token, host, lambda: server.should_exit)
    settings = uvicorn.Config(
        app, log_level="warning", timeout_graceful_shutdown=1, server_header=False, lifespan="off"
    )
    server = uvicorn.Server(settings)
    with contextlib.suppress(KeyboardInterrupt):
        server.run(sockets=[listening])
