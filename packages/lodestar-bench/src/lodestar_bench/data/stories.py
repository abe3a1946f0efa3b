"""TinyStories: short stories for small language models, as GPT-2 tokens or as plain text.

Comes in: how much of it. Goes out: one long row of tokens, or one text, for each split, stories kept whole. Reads the
official TinyStories-train.txt or -valid.txt, or any tinystories.txt: <|endoftext|> or else a blank line between two
stories.
"""

import functools
import hashlib
import io
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from lodestar._disk import replace_file
from lodestar_bench._errors import BenchError
from lodestar_bench.data import bpe
from lodestar_bench.data.download import Remote
from lodestar_bench.data.source import DataSource, Form, cache

_BASE = "https://huggingface.co/datasets/roneneldan/TinyStories/resolve/f54c09fd23315a6f9c86f9dc80f725de7d8f9c64/"
_WHOLE = Form(("TinyStories-train.txt",), inside=("tinystories", ""))
_SMALL = Form(("TinyStories-valid.txt",), inside=("tinystories", ""))
WHOLE = DataSource(
    name="TinyStories",
    size="1.9 GB",
    forms=(_WHOLE,),
    remotes=(
        Remote(
            _BASE + "TinyStories-train.txt",
            "sha256:c5cf5e22ff13614e830afbe61a99fbcbe8bcb7dd72252b989fa1117a368d401f",
            1924281556,
        ),
    ),
)
PART = DataSource(
    name="TinyStories (its validation part is enough)",
    size="19 MB",
    forms=(_SMALL, Form(("tinystories.txt",)), _WHOLE),
    remotes=(
        Remote(
            _BASE + "TinyStories-valid.txt",
            "sha256:94e431816c4cce81ff71e4408ff8d3bda9a42e8d2663986697c3954288cb38b4",
            19447282,
        ),
    ),
)
Parts = tuple[NDArray[np.uint16], NDArray[np.uint16], NDArray[np.uint16]]
_VERSION = 1  # of the kept tokens
_EVERY = 20  # of so many stories in a row, one validates and one tests
_PIECE = 1 << 22
_MARK = re.compile(r"<\|endoftext\|>")
_BLANK = re.compile(r"\n\s*\n")


@functools.lru_cache(maxsize=2)
def stories(whole: bool, most: int | None) -> Parts:
    """Tokens to learn from, to validate and to test: of the first `most` characters (all by default), 18 : 1 : 1."""
    (path,), (merges,) = (WHOLE if whole else PART).get(), bpe.SOURCE.get()
    kept = cache() / f"tinystories-{_fingerprint(path, most)}.npz"
    if kept.exists():
        with np.load(kept, allow_pickle=False) as file:
            return file["train"], file["validation"], file["test"]
    parts = _encoded(path, bpe.Encoder(merges), most)
    if min(len(part) for part in parts) == 0:
        raise BenchError(f"{path} holds too few stories: at least {_EVERY} are needed. Fix: fetch it again")
    _keep(kept, parts)
    return parts


def texts(whole: bool, most: int | None) -> tuple[str, str, str]:
    """The same split as written: to learn from, to validate and to test, a blank line after each story."""
    (path,) = (WHOLE if whole else PART).get()
    parts: list[list[str]] = [[], [], []]
    for i, story in enumerate(_stories(path, most)):
        parts[_part(i)].append(story + "\n\n")
    if not all(parts):
        raise BenchError(f"{path} holds too few stories: at least {_EVERY} are needed. Fix: fetch it again")
    train, validation, test = ("".join(part) for part in parts)
    return train, validation, test


def _part(number: int) -> int:
    """0 to learn from, 1 to validate, 2 to test."""
    return {_EVERY - 2: 1, _EVERY - 1: 2}.get(number % _EVERY, 0)


def _encoded(path: Path, encoder: bpe.Encoder, most: int | None) -> Parts:
    parts: list[list[NDArray[np.uint16]]] = [[], [], []]
    for i, story in enumerate(_stories(path, most)):
        parts[_part(i)].append(np.array([*encoder.encode(story), bpe.END], np.uint16))
    nothing = np.zeros(0, np.uint16)
    train, validation, test = (np.concatenate([nothing, *part]) for part in parts)
    return train, validation, test


def _stories(path: Path, most: int | None) -> Iterator[str]:
    """Story by story, reading a piece at a time; the last one may be cut off where `most` ends."""
    left = most
    rest, border = "", None
    with path.open(encoding="utf-8", errors="strict", newline="\n") as file:
        while piece := file.read(_PIECE if left is None else min(_PIECE, left)):
            left = None if left is None else left - len(piece)
            border = border or (_MARK if _MARK.search(piece) else _BLANK)
            *ready, rest = border.split(rest + piece)
            yield from (story.strip() for story in ready if story.strip())
    if rest.strip():
        yield rest.strip()


def _fingerprint(path: Path, most: int | None) -> str:
    stat = path.stat()
    text = f"{_VERSION} {path.name} {stat.st_size} {stat.st_mtime_ns} {most}"
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _keep(path: Path, parts: Parts) -> None:
    """Tokens of next time; where the cache cannot be written they are made again, which costs seconds."""
    memory = io.BytesIO()
    np.savez(memory, **dict(zip(("train", "validation", "test"), parts, strict=True)))
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(path, memory.getbuffer())
    except OSError:
        return
