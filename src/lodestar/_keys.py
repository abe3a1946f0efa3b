"""Keys of configs and columns, as people write them: read alike whatever their signs and capitals."""

import re

_CAMEL = re.compile(r"([a-z0-9])([A-Z])")


def plain(name: str) -> str:
    """A name in small letters, other signs as underscores: 'runId' and 'run-id' read 'run_id'."""
    return re.sub(r"[^a-z0-9_]+", "_", _CAMEL.sub(r"\1_\2", name.strip()).lower())


def parts(key: str) -> list[str]:
    """The plain names of a nested key: 'model/hiddenSize' and 'model.hidden_size' are ['model', 'hidden_size']."""
    return [plain(part) for part in re.split(r"[./]", key)]
