"""What an import did, as plain data for the screen and for JSON."""

import dataclasses

from lodestar.importers.roles import RoleGuess
from lodestar.importers.scale_guess import ScaleGuess
from lodestar.runs.note import Note


@dataclasses.dataclass
class ImportReport:
    """What an import did. `left_out` holds (run, reason), `notes` (run or file, note).

    `replaced` are those of `imported` that were in the store before; `unchanged` were there and not read again.
    """

    guess: RoleGuess
    scale: ScaleGuess
    imported: list[str] = dataclasses.field(default_factory=list)
    unchanged: list[str] = dataclasses.field(default_factory=list)
    replaced: list[str] = dataclasses.field(default_factory=list)
    left_out: list[tuple[str, str]] = dataclasses.field(default_factory=list)
    notes: list[tuple[str, Note]] = dataclasses.field(default_factory=list)

    def as_dict(self) -> dict[str, object]:
        return {
            "guess": self.guess.as_dict(),
            "scale": self.scale.as_dict(),
            "imported": self.imported,
            "unchanged": self.unchanged,
            "replaced": self.replaced,
            "left_out": [{"run": run, "reason": reason} for run, reason in self.left_out],
            "notes": [{"run": run, "note": note} for run, note in self.notes],
        }
