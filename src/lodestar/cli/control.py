"""`lodestar control`: a command to a running job, through the file beside its log."""

import time
from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option

from lodestar.cli import _screen

_ACTIONS = ("pause", "resume", "scale", "extend", "take", "stop", "withdraw")


def control_command(
    log: Annotated[Path, Argument(help="The file given to the job as log=..., beside control=True.")],
    action: Annotated[str, Argument(help=f"One of {', '.join(_ACTIONS)}.")],
    value: Annotated[
        str | None, Argument(help="scale: a factor; extend: steps in all; take: a CSV of step, lr.")
    ] = None,
    by: Annotated[str | None, Option(help="Who asks, for the record. Default: your user name.")] = None,
    wait: Annotated[float, Option(min=0.0, help="Seconds to wait for the job's answer.")] = 5.0,
    as_json: Annotated[bool, Option("--json", help="Print the command and the job's answer as JSON.")] = False,
) -> None:
    """Command a running job that was started with control=True; the job's answer is a decision on record.

    pause keeps the plan as it stands, resume lets Lodestar steer again. scale multiplies the rate and take follows your
    own schedule; both pause steering. extend changes the length of the run to so many steps in all, shorter too. stop
    ends it. withdraw takes back a command that still waits, or a damaged command file.

    \b
    Examples:
      lodestar control run.jsonl pause
      lodestar control run.jsonl scale 0.5
      lodestar control run.jsonl extend 20000
    """
    from lodestar.scheduler import read_log
    from lodestar.watch.commands import answer, send, withdraw

    if action not in _ACTIONS:
        raise typer.BadParameter(f"ACTION must be one of {', '.join(_ACTIONS)}, got {action!r}")
    if action == "withdraw":
        _screen.say(withdraw(log))
        return
    command = send(log, action, _value(action, value), by)
    until, found = time.monotonic() + wait, None
    while found is None and time.monotonic() < until:
        time.sleep(0.1)
        found = answer(read_log(log), command)
    if as_json:
        _screen.show_json({"command": command.to_dict(), "decision": None if found is None else found.to_dict()})
    elif found is None:
        _screen.say(f"sent: {command}. The job takes it at its next decision, or within a second while it trains.")
    else:
        _screen.say(f"after step {found.step}: {found.outcome}; {found.note}")
    if found is not None and found.outcome.kind == "refused":
        raise typer.Exit(1)


def _value(action: str, text: str | None) -> object:
    """The value as the command takes it."""
    from lodestar.schedules import Schedule

    needs = {
        "scale": (float, "a factor, such as 0.5"),
        "extend": (int, "the steps in all"),
        "take": (Path, "a CSV file"),
    }
    if action not in needs:
        if text is not None:
            raise typer.BadParameter(f"{action} takes no value, got {text!r}")
        return None
    kind, what = needs[action]
    try:
        read = kind(text)
    except (TypeError, ValueError):
        raise typer.BadParameter(f"{action} takes {what}, got {text!r}") from None
    if isinstance(read, Path):
        try:
            schedule = Schedule.from_csv(read)
        except ValueError as error:
            raise typer.BadParameter(str(error)) from None
        every = -(-len(schedule.knots) // 500)
        pairs = [(float(step), float(lr)) for step, lr in zip(schedule.knots, schedule.lr, strict=True)]
        return [*pairs[::every], *([pairs[-1]] if (len(pairs) - 1) % every else [])]
    return read
