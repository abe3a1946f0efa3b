"""The connection to a Ray cluster: found, or started on this machine; how much fits on it; and what to ship there."""

import logging
import math
import os
import socket
from pathlib import Path
from typing import Any

from lodestar._credentials import cleaned, stripped
from lodestar._errors import SweepError
from lodestar._extras import need

LEFT_AT_HOME = [".git", ".venv", "venv", "node_modules", "__pycache__", "*.lodestar", "*.parquet", "*.trials"]
HEAD = "node:__internal_head__"
SUBMITTED = "RAY_JOB_CONFIG_JSON_ENV_VAR"  # Ray sets this variable, by that name, in a job that was submitted to it
ANSWER_SECONDS = 10.0
log = logging.getLogger(__name__)


class RayCluster:
    """A cluster that is connected to. `ours` says that the connection was made here."""

    def __init__(self, ray: Any, *, ours: bool, local: bool):
        self.ray, self.ours, self.local = ray, ours, local

    @classmethod
    def connect(cls, address: str | None, *, ship: bool | None, runtime_env: dict[str, Any] | None) -> "RayCluster":
        """To `address`; without one, to a cluster that is up on this machine (or in RAY_ADDRESS), else a new one here.

        `ship` sends the current folder to the nodes; None does so unless all is on this machine anyway, or `ray job
        submit` has sent it.
        """
        ray = need("ray", "ray")
        if ray.is_initialized():
            if ship or runtime_env:
                log.warning("Ray is connected already, so its own runtime environment counts, not the sweep's")
            return cls(ray, ours=False, local=False)
        given = dict(runtime_env or {})
        cluster = address or _running_here()
        if cluster is None:
            _init(ray, "local", {"working_dir": str(Path.cwd()), **given} if ship else given, include_dashboard=False)
            return cls(ray, ours=True, local=True)
        if ship or (ship is None and SUBMITTED not in os.environ):
            given = {"working_dir": str(Path.cwd()), "excludes": LEFT_AT_HOME} | given
        _check_answers(cluster)
        _init(ray, cluster, given)
        return cls(ray, ours=True, local=False)

    def slots(self, cpus: float, gpus: float) -> int:
        """How many trials of that need fit on the nodes that are up now."""
        slots = 0
        for node in self.ray.nodes():
            if node["Alive"]:
                has = node["Resources"]
                fits = [has.get(kind, 0.0) / need for kind, need in (("CPU", cpus), ("GPU", gpus)) if need]
                slots += math.floor(min(fits) + 1e-9)
        return slots

    def close(self) -> None:
        """Leave the cluster; one that was started here ends."""
        if self.ours:
            self.ray.shutdown()


def _running_here() -> str | None:
    """A cluster that `ray start` left running on this machine, or that RAY_ADDRESS names; Ray's own rule."""
    named = os.environ.get("RAY_ADDRESS")
    if named:
        return named
    noted = Path(os.environ.get("RAY_TMPDIR", "/tmp")) / "ray" / "ray_current_cluster"
    try:
        address = noted.read_text().strip()
        _check_answers(address)
    except (OSError, SweepError):  # none, or one that died and left its note behind
        return None
    return address


def _check_answers(address: str) -> None:
    """Ray would try for a minute or more; a host and port that nobody listens at can be told at once."""
    host, _, port = address.rsplit("://")[-1].rpartition(":")
    if not host or not port.isdigit():
        return
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=ANSWER_SECONDS).close()
    except OSError as error:
        raise SweepError(_no_cluster(stripped(address), error)) from error


def _init(ray: Any, address: str, runtime_env: dict[str, Any], **more: Any) -> None:
    quiet: dict[str, Any] = {"log_to_driver": False}
    if "://" not in address:
        quiet["logging_level"] = logging.WARNING
    try:
        ray.init(address=address, runtime_env=runtime_env or None, **quiet, **more)
    except ConnectionError as error:
        raise SweepError(_no_cluster(stripped(address), error)) from error
    except Exception as error:  # Ray raises many kinds here, plain RuntimeError and ValueError among them
        raise SweepError(_not_connected(stripped(address), error)) from error


def _no_cluster(address: str, error: Exception) -> str:
    return (
        f"there is no Ray cluster at {address} that lets us in ({_line(error)}). Fix: check the host and the port "
        "(10001 in a ray:// address, unless it was set otherwise), that the head node is up (ray status, there), that "
        "no firewall is between, and if the cluster asks for a token, set RAY_AUTH_MODE=token and RAY_AUTH_TOKEN"
    )


def _not_connected(address: str, error: Exception) -> str:
    text = str(error)
    if "exceeds the maximum size" in text or "Package size" in text:
        return (
            f"the folder {Path.cwd()} is too large to send to the nodes (Ray takes up to 500 MB): {_line(error)}. "
            "Fix: run this in the folder of your code alone, name what can stay here in .gitignore or .rayignore, or "
            "use --no-ship (ship=False) where the nodes have your code already"
        )
    if "ersion mismatch" in text:
        return f"Ray at {address} is of another version: {_line(error)}. Fix: the same Ray and Python on all machines"
    return f"cannot connect to Ray at {address}: {_line(error)}. Fix: check the address, and ray status on that machine"


def _line(error: BaseException) -> str:
    lines = [line.strip() for line in cleaned(error).splitlines() if line.strip()]
    return (" ".join(lines)[:300].rstrip(".") if lines else "") or type(error).__name__
