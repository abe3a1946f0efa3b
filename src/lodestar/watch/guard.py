"""Who may ask the server for what: this machine's own page may look, whoever has the token may command.

Comes in: the headers of a request. Goes out: None, or why it is refused, in a sentence. Another site that a browser has
open cannot read or command: its requests carry its own origin, and a name that somebody pointed at this machine is not
one of ours. Pure.
"""

import ipaddress
import secrets
import socket
from collections.abc import Mapping

TOKEN_HEADER = "x-lodestar-token"


def refusal(method: str, headers: Mapping[str, str], host: str) -> str | None:
    """Why a request is refused; `host` is the address the server was told to listen on."""
    asked = headers.get("host", "")
    if _name(asked) not in {"localhost", host.lower(), socket.gethostname().lower()} and not _is_address(_name(asked)):
        return f"this server is not {asked[:80]!r}. Fix: open the address that lodestar watch printed"
    site, origin = headers.get("sec-fetch-site"), headers.get("origin")
    foreign = site not in (None, "same-origin", "none") or origin not in (None, f"http://{asked}")
    link = method == "GET" and headers.get("sec-fetch-mode") == "navigate"
    if foreign and not link:
        return "a request from another site is refused. Fix: use the page that lodestar watch opened"
    if method == "POST" and headers.get("content-type", "").partition(";")[0].strip() != "application/json":
        return "a request must be JSON. Fix: content-type: application/json"
    return None


def may_command(given: str | None, token: str) -> bool:
    """Whether this is the token."""
    return given is not None and secrets.compare_digest(given.encode(), token.encode())


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches an address."""
    return host == "localhost" or (_is_address(host) and ipaddress.ip_address(host.strip("[]")).is_loopback)


def _name(host: str) -> str:
    """Without the port."""
    name = host.rpartition(":")[0] if host.rpartition(":")[2].isdigit() else host
    return name.strip("[]").lower()


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
