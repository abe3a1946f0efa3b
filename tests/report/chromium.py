"""A headless Chromium driven over its own pipe (DevTools protocol), for tests of pages. Needs no package.

Goes out: `Browser`, which opens a page, evaluates JavaScript, moves the mouse and collects every console error. Tests
that use it are skipped where there is no Chromium.
"""

import base64
import contextlib
import fcntl
import itertools
import json
import os
import select
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
FOUND = os.environ.get("LODESTAR_CHROMIUM") or next((path for name in NAMES if (path := shutil.which(name))), None)
FLAGS = (
    *("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"),
    *("--disable-extensions", "--disable-background-networking", "--disable-component-update", "--disable-sync"),
    *("--hide-scrollbars", "--remote-debugging-pipe", "--no-startup-window"),
)
PATIENCE = 120.0  # seconds until a browser that says nothing is given up; a loaded machine is slow

needs_chromium = pytest.mark.skipif(
    FOUND is None, reason="no Chromium on this machine: apt-get install chromium, or set LODESTAR_CHROMIUM"
)


class Browser:
    """One browser, one tab."""

    def __init__(self, profile: Path):
        assert FOUND is not None
        ours = [_high(fd) for fd in (*os.pipe(), *os.pipe())]
        self._read, self._write = ours[2], ours[1]
        wire = f"import os, sys; os.dup2({ours[0]}, 3); os.dup2({ours[3]}, 4); os.execv(sys.argv[1], sys.argv[1:])"
        words = [sys.executable, "-Sc", wire, FOUND, f"--user-data-dir={profile}", *FLAGS]
        quiet = subprocess.DEVNULL
        self._process = subprocess.Popen(words, pass_fds=(ours[0], ours[3]), stdout=quiet, stderr=quiet)
        for fd in (ours[0], ours[3]):
            os.close(fd)
        self._number, self._buffer, self._session, self._events = itertools.count(1), b"", None, []
        self.problems: list[str] = []
        self._ours: tuple[str, ...] = ("file:", "data:")
        target = self._ask("Target.createTarget", url="about:blank")["targetId"]
        self._session = self._ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self._ask(f"{domain}.enable")

    def open(
        self, path: Path | str, *, width: int = 1200, height: int = 900, dark: bool = False, phone: bool = False
    ) -> None:
        """Load a file, or a page of a server of ours, anew; console errors so far are forgotten."""
        self._ask("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=phone)
        scheme = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        self._ask("Emulation.setEmulatedMedia", features=scheme)
        self.problems.clear()
        self._events.clear()
        if isinstance(path, str):
            self._ours = ("data:", "/".join(path.split("/")[:3]) + "/")
        self._ask("Page.navigate", url=path if isinstance(path, str) else path.resolve().as_uri())
        self._until(lambda: "Page.loadEventFired" in self._events)

    def js(self, expression: str):
        """The value of an expression on the page."""
        found = self._ask("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    def wait(self, expression: str) -> None:
        """Until an expression is true."""
        self._until(lambda: bool(self.js(expression)))

    def move(self, x: float, y: float) -> None:
        """The mouse to a place in the window."""
        self._ask("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def drag(self, start: tuple[float, float], end: tuple[float, float], steps: int = 5) -> None:
        """Press at one place, move to another in some steps, let go."""
        press = {"button": "left", "buttons": 1, "clickCount": 1}
        self._ask("Input.dispatchMouseEvent", type="mousePressed", x=start[0], y=start[1], **press)
        for i in range(1, steps + 1):
            x, y = (a + (b - a) * i / steps for a, b in zip(start, end, strict=True))
            self._ask("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y, **press)
        self._ask("Input.dispatchMouseEvent", type="mouseReleased", x=end[0], y=end[1], **press)

    def click(self, selector: str) -> None:
        """A click in the middle of an element."""
        x, y = self.middle(selector)
        for kind in ("mousePressed", "mouseReleased"):
            self._ask("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def middle(self, selector: str) -> tuple[float, float]:
        """Bring an element into view; where its middle is."""
        found = self.js(
            f"(() => {{const e = document.querySelector({json.dumps(selector)}); e.scrollIntoView({{block: 'center'}});"
            "const b = e.getBoundingClientRect(); return [b.left + b.width / 2, b.top + b.height / 2]})()"
        )
        return found[0], found[1]

    def shot(self, path: Path, *, whole: bool = False) -> None:
        """A picture of the window, or of the whole page."""
        data = self._ask("Page.captureScreenshot", format="png", captureBeyondViewport=whole)["data"]
        path.write_bytes(base64.b64decode(data))

    def close(self) -> None:
        """End the browser."""
        with contextlib.suppress(OSError, AssertionError):
            self._session = None
            self._send("Browser.close")
        try:
            self._process.wait(20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        for fd in (self._read, self._write):
            os.close(fd)

    def _send(self, method: str, **params) -> int:
        message = {"id": next(self._number), "method": method, "params": params}
        if self._session is not None:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        return message["id"]

    def _ask(self, method: str, **params) -> dict:
        number = self._send(method, **params)
        while True:
            message = self._next()
            if message.get("id") == number:
                assert "error" not in message, message["error"]
                return message["result"]

    def _until(self, true) -> None:
        last = time.monotonic() + PATIENCE
        while not true():
            assert time.monotonic() < last, "the browser took too long"
            time.sleep(0.02)
            self.js("1")

    def _next(self) -> dict:
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._read], [], [], PATIENCE)
            assert ready, "the browser does not answer"
            part = os.read(self._read, 1 << 20)
            assert part, "the browser ended"
            self._buffer += part
        line, self._buffer = self._buffer.split(b"\0", 1)
        message = json.loads(line)
        self._note(message)
        return message

    def _note(self, message: dict) -> None:
        method, params = message.get("method", ""), message.get("params", {})
        self._events.append(method)
        if method == "Runtime.exceptionThrown":
            self.problems.append(str(params["exceptionDetails"]))
        elif method == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning", "assert"):
            self.problems.append(str(params["args"]))
        elif method == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
            self.problems.append(params["entry"]["text"])
        elif method == "Network.requestWillBeSent" and not params["request"]["url"].startswith(self._ours):
            self.problems.append(f"asked for {params['request']['url']}")
        elif method == "Page.javascriptDialogOpening":
            self.problems.append(f"a dialog: {params['message']}")


def _high(fd: int) -> int:
    """The same pipe under a number the child's 3 and 4 cannot collide with."""
    copy = fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 20)
    os.close(fd)
    return copy
