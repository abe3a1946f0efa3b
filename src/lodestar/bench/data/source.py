"""Where a task's data are: placeholder to be filled."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Source:
    """A set of files."""

    name: str

    def find(self) -> None:
        """Nothing yet."""
        return None
