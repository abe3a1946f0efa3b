"""`Note`: what was done to a run's data on its way in, as a sentence that knows its kind.

People read the text; code asks for the kind. Notes of stores written before notes had kinds are told by their words,
here and nowhere else.
"""

import enum

from lodestar._credentials import cleaned
from lodestar._plain import storable


class NoteKind(enum.StrEnum):
    """What a note is about."""

    REPEATED_STEPS = "repeated steps"
    SORTED = "sorted"
    FILLER = "filler"
    """NaN taken as 'not logged there'."""
    LEFT_OUT = "left out"
    """Rows, cells or records that could not be read or used."""
    EXCLUDED = "excluded"
    """A stated fact that the data contradict."""
    SEVERAL_VALUES = "several values"
    MISSING = "missing"
    """No metric or no learning rate."""
    REBUILT_LR = "rebuilt lr"
    STEPS = "steps"
    """What the steps of the run are."""
    ORIGIN = "origin"
    """Files, names and quantities the run came from."""
    RUNS = "runs"
    """What tells the runs of a table apart, and what may have been merged."""
    INCOMPLETE = "incomplete"
    """A log that ends early, or lacks some of what was counted."""
    PRUNED = "pruned"
    """A sweep stopped the run: its forecast left it hardly a chance."""
    OTHER = "other"

    @classmethod
    def _missing_(cls, value: object) -> "NoteKind":
        """A kind that a newer Lodestar knows."""
        return cls.OTHER


class Note(str):
    """A sentence about a run, and its kind."""

    kind: NoteKind

    def __new__(cls, text: str, kind: NoteKind | str | None = None) -> "Note":
        """The kind is that of `text` if it is a note already, else OTHER."""
        note = super().__new__(cls, storable(cleaned(text)))
        note.kind = getattr(text, "kind", NoteKind.OTHER) if kind is None else NoteKind(kind)
        return note

    def __reduce__(self) -> tuple[type["Note"], tuple[str, str]]:
        return Note, (str(self), str(self.kind))


_WORDS_OF_RELEASE_ONE = {
    "logged more than once": NoteKind.REPEATED_STEPS,
    "NaN were taken": NoteKind.FILLER,
    "left out": NoteKind.LEFT_OUT,
    "set aside": NoteKind.EXCLUDED,
    "several values": NoteKind.SEVERAL_VALUES,
    "no learning rate was logged: it was rebuilt": NoteKind.REBUILT_LR,
}


def note_of_release_one(text: str) -> Note:
    """A note from a store that holds no kinds."""
    kinds = (kind for words, kind in _WORDS_OF_RELEASE_ONE.items() if words in text)
    return Note(text, next(kinds, NoteKind.OTHER))
