"""What a page is made of: sections, and in them texts, notes, tables, facts, charts, folds, downloads. Plain data.

Every string is text: shown as it is, never read as markup. Knows nothing of HTML.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Literal

from lodestar.report.html.chart import Chart

Tone = Literal["", "good", "error", "warning", "advice", "faint"]


@dataclasses.dataclass(frozen=True)
class Text:
    """A paragraph. `tone` "faint" for what explains a drawing."""

    text: str
    tone: Tone = ""


@dataclasses.dataclass(frozen=True)
class Notes:
    """Sentences in a box, each with a tag in front and its cure, hint or source below; both may be empty."""

    lines: Sequence[tuple[str, str, str]]  # (tag, sentence, what follows)
    tones: Mapping[str, Tone] = dataclasses.field(default_factory=dict)  # tag to colour


@dataclasses.dataclass(frozen=True)
class KeyFigures:
    """A few figures at a glance: (figure, what it is)."""

    figures: Sequence[tuple[str, str]]


@dataclasses.dataclass(frozen=True)
class Cell:
    """A cell that stands out, or one with a `hint` that shows while the pointer rests on it."""

    text: str
    tone: Tone = ""
    hint: str = ""


@dataclasses.dataclass(frozen=True)
class Table:
    """Rows under headings; a heading that starts with '>' is set to the right. `caption` stands below.

    The reader sorts by a click on a heading, and `most` rows are shown at first.
    """

    headings: Sequence[str]
    rows: Sequence[Sequence[str | Cell]]
    caption: str = ""
    most: int = 30

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row) != len(self.headings):
                raise ValueError(f"every row must have {len(self.headings)} cells, got {len(row)}: {row}")


@dataclasses.dataclass(frozen=True)
class Details:
    """Blocks behind a line that opens at a click; what is closed is not drawn."""

    title: str
    blocks: "Sequence[Block]"
    open: bool = False


@dataclasses.dataclass(frozen=True)
class Download:
    """A link that saves `content`, which the page carries, as a file."""

    title: str
    filename: str
    content: str
    kind: str = "text/plain"  # the media type


Block = Text | Notes | KeyFigures | Table | Chart | Details | Download


@dataclasses.dataclass(frozen=True)
class Section:
    """A part of the page with a heading, which the page's list of contents links to."""

    title: str
    blocks: Sequence[Block]
