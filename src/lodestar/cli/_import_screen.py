"""What an import shows: the guess before it, the report after it."""

import collections
from collections.abc import Mapping
from typing import TYPE_CHECKING

from lodestar.cli import _screen

if TYPE_CHECKING:
    from lodestar.importers.reader import AbstractReader
    from lodestar.importers.report import ImportReport
    from lodestar.importers.roles import RoleGuess
    from lodestar.importers.scale_guess import ScaleGuess

SHOWN = 8
_ALWAYS = ("step", "loss", "metric", "lr")


def show_guess(
    guess: "RoleGuess", title: str, *, what: str = "column", counts: Mapping[str, int] | None = None
) -> None:
    """Which column (or quantity) was taken for what, and why; with `counts`, how many runs have each."""
    heads = ("what", what, *((">runs",) if counts is not None else ()), "why")
    found = _screen.table(*heads, title=title)
    always = _ALWAYS if counts is not None else ("run", *_ALWAYS)
    for role, column in guess.columns.items():
        if column is None and role not in always:
            continue
        count = (str((counts or {}).get(column or "", "")),) if counts is not None else ()
        reason = _screen.safe(guess.reasons[role], "dim")
        found.add_row(role, _screen.safe(column or "-", limit=40), *count, reason)
    blank = ("",) if counts is not None else ()
    found.add_row("direction", str(guess.direction), *blank, _screen.safe(guess.reasons["direction"], "dim"))
    _screen.out().print(found)
    names = what.upper()
    _screen.say(f"Not so? Name a {what}: --metric {names}, --lr {names}, ...", "dim")


def show_scale(scale: "ScaleGuess", key: str) -> None:
    """What was taken for the runs' size, batch and so on, in one line; and what is not clear."""
    if scale.line:
        _screen.say(f"Scale: {scale.line}.", limit=400)
    else:
        _screen.say(f"Scale: no size or batch was found. Name them: --fact width={key}, --fact batch_size={key}", "dim")
    for sentence, runs in list(scale.unclear.items())[:SHOWN]:
        _screen.warn(f"{runs} of {scale.runs} runs: {sentence}")


def say_merged(reader: "AbstractReader") -> None:
    """What told the runs of a table apart where that is no plain column, and what may have been merged: loudly."""
    from lodestar.runs.note import NoteKind

    for file, note in getattr(reader, "oddities", ()):
        if note.kind is NoteKind.RUNS:
            _screen.warn(f"{file}: {note}")


def show_report(report: "ImportReport", store: str) -> None:
    """Notes, what was left out, and what to do next."""
    from lodestar.runs.note import NoteKind

    notes = collections.Counter(note for _, note in report.notes if note.kind is not NoteKind.RUNS)
    for note, count in notes.most_common(SHOWN):
        first = next(run for run, sentence in report.notes if sentence == note)
        who = first if count == 1 else f"{first} and {count - 1} more"
        _screen.say(f"Note: {who}: {note}", "yellow", limit=400)
    if len(notes) > SHOWN:
        _screen.say(f"... and {len(notes) - SHOWN} more kinds of notes (--json lists all)", "yellow")
    _show_left_out(report)
    replaced = f", {len(report.replaced)} of them replaced" if report.replaced else ""
    unchanged = f"; {len(report.unchanged)} were there already, unchanged" if report.unchanged else ""
    if report.imported or report.unchanged:
        sentence = f"Imported {len(report.imported)} runs into {store}{replaced}{unchanged}."
        _screen.say(sentence, "bold green")
        _screen.say(f"Next: lodestar doctor {store}")
    else:
        _screen.complain("no run was imported. Fix: see the reasons above, or check the columns with --dry-run")


def show_plan(report: "ImportReport", to_fetch: int, store: str) -> None:
    _show_left_out(report)
    there = f", {len(report.unchanged)} are there already" if report.unchanged else ""
    sentence = f"{to_fetch} runs would be fetched into {store}{there}. Nothing was written (--dry-run)."
    _screen.say(sentence, "bold")


def _show_left_out(report: "ImportReport") -> None:
    reasons: dict[str, list[str]] = {}
    for run, reason in report.left_out:
        reasons.setdefault(reason, []).append(run)
    for reason, runs in list(reasons.items())[:SHOWN]:
        who = runs[0][:60] if len(runs) == 1 else f"{runs[0][:60]} and {len(runs) - 1} more"
        _screen.say(f"Left out: {who}: {reason}", "red", limit=600)
    rest = sum(len(runs) for runs in list(reasons.values())[SHOWN:])
    if rest:
        _screen.say(f"... and {rest} more left out (--json lists all)", "red")
