"""Finds a data set's files, or fetches them, or says where to get them, how large they are and where to put them.

Comes in: a `DataSource`. Goes out: paths. Looked through in turn: the folders of `LODESTAR_DATA` (several with a colon
between), the cache of earlier downloads, folders where a system or a Python package keeps them. What is in the files is
not known here.
"""

import dataclasses
import importlib.util
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from lodestar_bench._errors import BenchError
from lodestar_bench.data.download import Remote, fetch

VARIABLE = "LODESTAR_DATA"


@dataclasses.dataclass(frozen=True)
class Form:
    """One way to have a data set: these files (or folders), all of them, below one of the known folders.

    `package` is a Python package that may bring them, `system` a folder where an operating system puts them.
    """

    files: tuple[str, ...]
    inside: tuple[str, ...] = ("",)
    package: str | None = None
    system: tuple[str, ...] = ()

    def find(self, places: Iterable[Path]) -> tuple[Path, ...] | None:
        """The paths of the files, if one place has them all."""
        for place in places:
            paths = tuple(place / file for file in self.files)
            if all(path.exists() for path in paths):
                return paths
        return None

    def own(self) -> Iterator[Path]:
        """The user's folders, and the cache."""
        for folder in (*folders(), cache()):
            yield from (folder / inner for inner in self.inside)

    def brought(self) -> Iterator[Path]:
        """Where a system or a package would put them."""
        yield from (Path(place) for place in self.system)
        if self.package is not None:
            spec = importlib.util.find_spec(self.package)
            if spec is not None and spec.origin is not None:
                yield Path(spec.origin).parent / "data"


@dataclasses.dataclass(frozen=True)
class DataSource:
    """A data set. `forms` in the order of preference; `remotes` fetched together make the first form."""

    name: str
    size: str
    forms: tuple[Form, ...]
    remotes: tuple[Remote, ...] = ()
    advice: str = ""

    def find(self) -> tuple[Path, ...] | None:
        """The paths of the first form that is there, in any of the user's folders before those of the system."""
        places = [(form, form.own()) for form in self.forms] + [(form, form.brought()) for form in self.forms]
        return next((found for form, where in places if (found := form.find(where)) is not None), None)

    def get(self) -> tuple[Path, ...]:
        """The same, fetched if need be; a `BenchError` that says what to do if that fails."""
        found = self.find()
        if found is not None:
            return found
        trouble = "it cannot be fetched automatically"
        if self.remotes:
            trouble = fetch(self.remotes, self._home()) or ""
            found = self.find()
            if found is not None:
                return found
        raise BenchError(self.how_to_get(trouble))

    def how_to_get(self, trouble: str = "it is not on this machine") -> str:
        """The sentence for missing data."""
        wanted = " or ".join(" + ".join(form.files) for form in self.forms)
        looked = ", ".join(str(folder) for folder in (*folders(), cache()))
        return (
            f"{self.name} ({self.size}) is missing: {trouble}. "
            + (f"Get it from {self._address()} . " if self.remotes else "")
            + (f"{self.advice}. " if self.advice else "")
            + f"Fix: put {wanted} into a folder and name the folder in {VARIABLE} (looked in: {looked})"
        )

    def _address(self) -> str:
        """Of its only file, or of the folder that all of them lie in."""
        urls = [remote.url for remote in self.remotes]
        bases = {url.rpartition("/")[0] + "/" for url in urls}
        return bases.pop() if len(urls) > 1 and len(bases) == 1 else " ".join(urls)

    def _home(self) -> Path:
        inside = self.forms[0].inside[0]
        return cache() / inside if inside else cache()


def folders() -> tuple[Path, ...]:
    """The folders that `LODESTAR_DATA` names; naming one that is not there is an error."""
    named = tuple(Path(part).expanduser() for part in os.environ.get(VARIABLE, "").split(os.pathsep) if part)
    for folder in named:
        if not folder.is_dir():
            raise BenchError(f"{VARIABLE} names {folder}, which is not a folder. Fix: correct it, or create the folder")
    return named


def cache() -> Path:
    """Where downloads are kept: `LODESTAR_CACHE`, else the user's cache folder."""
    given = os.environ.get("LODESTAR_CACHE")
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "lodestar"
    return (Path(given).expanduser() if given else base) / "data"
