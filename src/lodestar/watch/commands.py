"""Sending a command to a job: checked, then left in the small file beside its log.

Comes in: a log, a command's words, who sends it. Goes out: the command, waiting; or a `CommandError` that says why not:
the job is over, it does not listen, somebody else's command still waits, the file is damaged. One writer at a time, by
a lock that a kill frees; the file is written whole. The job takes the command when it looks.
"""

import contextlib
import datetime
import getpass
import json
import secrets
import socket
from pathlib import Path
from typing import Any

from lodestar import _disk
from lodestar._errors import CommandError, LodestarError
from lodestar.scheduler import Decision, Log, read_log
from lodestar.scheduler.records.command import FORMAT, VERSION, Command, control_path, read_waiting


def send(log: Path, do: str, value: Any = None, by: str | None = None) -> Command:
    """Leave a command for the job of `log`."""
    made = _made(do, value, by or user())
    with _disk.locked(control_path(log).with_suffix(".lock"), exclusive=True):
        record = _open_to_commands(log)
        waiting = waiting_command(log, record)
        if waiting is not None:
            raise CommandError(
                f"a command still waits for {record.run_name or log.stem!r}: {waiting}, sent by {waiting.by} at "
                f"{waiting.at}. Fix: wait until the job has taken it, or lodestar control {log} withdraw"
            )
        content = {"format": FORMAT, "version": VERSION, "job": record.header.get("job"), "command": made.to_dict()}
        _disk.write_whole(control_path(log), json.dumps(content).encode())
    return made


def withdraw(log: Path) -> str:
    """Take back whatever waits, a damaged file too; what it was, in words."""
    path = control_path(log)
    with _disk.locked(path.with_suffix(".lock"), exclusive=True):
        record = read_log(log)
        try:
            waiting = waiting_command(log, record)
            words = "nothing waited" if waiting is None else f"withdrawn: {waiting}, sent by {waiting.by}"
        except CommandError:
            words = "the damaged command file was removed"
        with contextlib.suppress(FileNotFoundError):
            path.unlink()
    return words


def waiting_command(log: Path, record: Log) -> Command | None:
    """The command that waits for this job, None if it has been taken; a `CommandError` where the file is damaged."""
    path = control_path(log)
    try:
        waiting = read_waiting(path)
    except (ValueError, OSError) as error:
        raise CommandError(
            f"the command file {path} is damaged: {error}. Fix: lodestar control {log} withdraw, then send it again"
        ) from error
    if waiting is None or waiting[0] != record.header.get("job") or answer(record, waiting[1]) is not None:
        return None
    return waiting[1]


def answer(record: Log, command: Command) -> Decision | None:
    """What became of a command, once the job has taken it."""
    return next((d for d in record.decisions if d.command is not None and d.command.id == command.id), None)


def user() -> str:
    """Who sends commands from here."""
    try:
        return f"{getpass.getuser()}@{socket.gethostname()}"[:100]
    except (OSError, KeyError):
        return "somebody"


def _made(do: str, value: Any, by: str) -> Command:
    now = datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    try:
        return Command.from_dict({"do": do, "value": value, "by": by, "at": now, "id": secrets.token_hex(8)})
    except ValueError as error:
        raise CommandError(str(error)) from error


def _open_to_commands(log: Path) -> Log:
    try:
        record = read_log(log)
    except LodestarError as error:
        raise CommandError(str(error)) from error
    name = record.run_name or log.stem
    if record.over:
        raise CommandError(f"the job {name!r} is over: {record.summary}. Fix: start it again, then command that one")
    if record.header.get("control") is not True:
        raise CommandError(f"the job {name!r} takes no commands. Fix: start it with control=True beside log=...")
    return record
