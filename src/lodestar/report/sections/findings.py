"""Doctor's findings as a section: each kind once, with its runs and its cure; then the runs that would help most.

Comes in: a `Diagnosis`. Goes out: blocks.
"""

from collections.abc import Iterable

from lodestar.doctor import Diagnosis, Finding
from lodestar.report.html import Block, Notes, Table, Text
from lodestar.report.sections.wording import count, number, short

NAMED = 3


def finding_blocks(diagnosis: Diagnosis) -> list[Block]:
    """The section's blocks."""
    shapes = "; ".join(f"{shape} ({many})" for shape, many in diagnosis.shapes.items()) or "none"
    lead = f"{count(diagnosis.runs, 'run')}, {diagnosis.usable} usable for a fit. Shapes of their schedules: {shapes}."
    blocks: list[Block] = [Text(lead)]
    lines = [_line(group) for group in grouped(diagnosis.findings)]
    if not lines:
        lines = [("fine", "Nothing wrong found.", "")]
    blocks.append(Notes(lines, {"error": "error", "warning": "warning", "advice": "advice", "fine": "good"}))
    if diagnosis.suggestions:
        rows = [[idea.schedule, number(idea.peak_lr, 2), str(idea.seed), idea.reason] for idea in diagnosis.suggestions]
        blocks += [
            Text("Runs that would help most:"),
            Table(("schedule", ">peak learning rate", ">seed", "why"), rows),
        ]
    return blocks


def grouped(findings: Iterable[Finding]) -> list[list[Finding]]:
    """Findings of one kind together, in order."""
    found: dict[tuple[str, str, str], list[Finding]] = {}
    for finding in findings:
        found.setdefault((finding.severity, finding.check, finding.cure), []).append(finding)
    return list(found.values())


def _line(group: list[Finding]) -> tuple[str, str, str]:
    named = "; ".join(f"{short(f.run)}: {f.sentence}" if f.run else f.sentence for f in group[:NAMED])
    more = f"; and {len(group) - NAMED} more like these" if len(group) > NAMED else ""
    return str(group[0].severity), named + more, f"Cure: {group[0].cure}"
