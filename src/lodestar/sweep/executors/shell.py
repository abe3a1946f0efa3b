"""A trial as a shell command: files and variables in, JSON lines out, followed while the command runs."""

import contextlib
import json
import os
import shlex
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from lodestar.runs import Note
from lodestar.sweep.events import FailureKind, TrialFailed
from lodestar.sweep.recorder import Recorder
from lodestar.sweep.trial import Trial

LOOK_SECONDS = 0.1
KNOWN = {"step", "loss", "metric", "lr", "facts"}


def run(command: str, trial: Trial, recorder: Recorder) -> dict[str, Any]:
    """Run the command to its end; what it wrote under "facts" comes back."""
    with tempfile.TemporaryDirectory(prefix="lodestar-trial-") as folder:
        given = _files(trial, Path(folder))
        variables = {f"LODESTAR_{name.upper()}": value for name, value in given.items()}
        variables["LODESTAR_SETTINGS"] = json.dumps(dict(trial.settings))
        line = command
        for name, value in given.items():
            line = line.replace(f"{{{name}}}", shlex.quote(value))
        follower = _Follower(Path(given["report"]), recorder)
        with _started(line, {**os.environ, **variables}) as process:
            code = None
            while code is None:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    code = process.wait(LOOK_SECONDS)
                follower.look()
        follower.look(last=True)
    if code != 0:
        raise TrialFailed(f"the command ended with {_code(code)}", f"{line}\n", FailureKind.EXITED)
    return follower.facts


def _files(trial: Trial, folder: Path) -> dict[str, str]:
    """What stands for each placeholder; files are written."""
    given = {"seed": str(trial.seed), "total_steps": str(trial.total_steps), "report": str(folder / "report.jsonl")}
    given |= {name: str(trial.settings[name]) for name in ("size", "batch_size") if name in trial.settings}
    Path(given["report"]).touch()
    if trial.schedule is not None:
        rates = [float(rate) for rate in trial.schedule.rates]
        given["schedule"] = str(folder / "schedule.json")
        given["schedule_csv"] = str(folder / "schedule.csv")
        Path(given["schedule"]).write_text(json.dumps({"name": trial.schedule.name, "rates": rates}))
        rows = "".join(f"{step},{rate!r}\n" for step, rate in enumerate(rates, start=1))
        Path(given["schedule_csv"]).write_text("step,lr\n" + rows)
    return given


@contextlib.contextmanager
def _started(line: str, variables: dict[str, str]) -> "Iterator[subprocess.Popen[bytes]]":
    """The command in a process group of its own, which is gone when this ends."""
    process = subprocess.Popen(line, shell=True, env=variables, stdin=subprocess.DEVNULL, process_group=0)
    try:
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


class _Follower:
    """Reads whole lines as they are appended."""

    def __init__(self, path: Path, recorder: Recorder):
        self._path, self._recorder = path, recorder
        self._at = 0
        self._line = 0
        self._bad: str | None = None
        self.facts: dict[str, Any] = {}

    def look(self, *, last: bool = False) -> None:
        """Take in what is new; `last` takes a line without an end too."""
        try:
            with self._path.open("rb") as file:
                file.seek(self._at)
                new = file.read()
        except FileNotFoundError:  # the command writes it anew by renaming: it will be back
            return
        whole = len(new) if last else new.rfind(b"\n") + 1
        self._at += whole
        for line in new[:whole].splitlines():
            self._line += 1
            if line.strip():
                self._take(line)

    def _take(self, line: bytes) -> None:
        try:
            said = json.loads(line)
            if not isinstance(said, dict):
                raise ValueError("no JSON object")
            facts = said.pop("facts", None)
            self.facts |= facts if isinstance(facts, dict) else {}
            numbers = {k: float(v) for k, v in said.items() if k in KNOWN and k != "step" and v is not None}
            if numbers or facts is None:
                self._recorder(said["step"], **numbers)
        except (ValueError, TypeError, KeyError) as error:
            if self._bad is None:
                self._bad = f"line {self._line} of the report file was passed over: {line[:60]!r} ({error})"
                self._recorder.notes.append(Note(self._bad))


def _code(code: int) -> str:
    if code < 0:
        return f"signal {-code} ({signal.Signals(-code).name})"
    cures = {126: " (not executable)", 127: " (command not found)"}
    return f"exit code {code}{cures.get(code, '')}"
