"""Log folders: which files of a kind lie at an address, whose they are, and whether they changed."""

import abc
import hashlib
import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import ClassVar

from lodestar._errors import RunError, TrackerError
from lodestar.importers.reader import AbstractReader, ListedRun, described


class AbstractFolderReader(AbstractReader):
    """Runs in files below a folder. A run whose files cannot be read is listed with that trouble."""

    what: ClassVar[str]
    """The files it looks for, in an error."""
    threads: ClassVar[int] = 1  # reading is Python at work, which threads do not speed up

    def __init__(self, address: str | os.PathLike[str]):
        alone = Path(address).expanduser().is_file()
        self._root, files = find(address, lambda name: self.fits(name, alone), self.what)
        self.address = str(self._root)
        self._runs: dict[str, list[Path]] = {}  # by key
        for path in files:
            self._runs.setdefault(self.key(path), []).append(path)

    @abc.abstractmethod
    def fits(self, name: str, alone: bool) -> bool:
        """Whether a file of that name belongs to a run; `alone`: it is the address itself."""

    def key(self, path: Path) -> str:
        """A file's run: the folder's path below the root; "." for the root itself."""
        return path.parent.relative_to(self._root).as_posix()

    def files(self, key: str) -> list[Path]:
        """What the run is read from: when one of these changes, so does its version."""
        return self._runs[key]

    @abc.abstractmethod
    def described(self, run: ListedRun) -> ListedRun | None:
        """`run`, of which only key, name and version are known, with what its files say. None: it is no run at all."""

    def list(self) -> Iterator[ListedRun]:
        for key in self._runs:
            name = key if key != "." else self._root.name or str(self._root)
            run = ListedRun(key, name, fingerprint(self.files(key)))
            if (found := described(run, lambda run=run: self.described(run))) is not None:
                yield found


def find(address: str | os.PathLike[str], fits: Callable[[str], bool], what: str) -> tuple[Path, list[Path]]:
    """The folder at `address` and every file below it whose name fits; or a sentence on why there is none.

    A file is an address too: its folder comes back, and the file alone.
    """
    path = Path(address).expanduser()
    if not path.exists():
        raise TrackerError(f"there is no file or folder {path}. Fix: check the path; {what} is looked for there")
    path = path.resolve()
    if path.is_file():
        if not fits(path.name):
            raise TrackerError(f"{path} is not {what}. Fix: pass such a file, or the folder that holds some")
        return path.parent, [path]
    found = sorted(_walk(path, fits), key=lambda file: (file.parent, file.name))
    if not found:
        raise TrackerError(f"{path} holds no {what}, at any depth. Fix: pass the folder your training job wrote to")
    return path, found


def fingerprint(paths: Iterable[Path]) -> str:
    """A text that changes when a file does: names, sizes and dates, hashed."""
    digest = hashlib.sha256()
    for path in paths:
        try:
            stat = path.stat()
        except OSError:
            continue
        digest.update(f"{path}\0{stat.st_size}\0{stat.st_mtime_ns}\n".encode("utf-8", "surrogatepass"))
    return digest.hexdigest()[:24]


def unreadable(path: Path, error: OSError | ValueError | RecursionError) -> RunError:
    """A file of a run that cannot be read."""
    why = (error.strerror if isinstance(error, OSError) else None) or error
    why = "it is nested too deeply" if isinstance(error, RecursionError) else why
    return RunError(f"{path} cannot be read: {why}. Fix: check the file and its permissions, or leave the run out")


def _walk(root: Path, fits: Callable[[str], bool]) -> Iterator[Path]:
    """Links are followed, each folder once."""
    seen: set[str] = set()
    for folder, below, files in os.walk(root, followlinks=True, onerror=_cannot_list):
        real = os.path.realpath(folder)
        if real in seen:
            below.clear()
            continue
        seen.add(real)
        yield from (Path(folder) / name for name in files if fits(name))


def _cannot_list(error: OSError) -> None:
    raise TrackerError(
        f"the folder {error.filename} cannot be listed: {error.strerror}. "
        "Fix: change its permissions, or pass a folder you may read"
    ) from error
