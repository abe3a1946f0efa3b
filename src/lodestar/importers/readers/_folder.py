"""Log folders: which files of a kind lie at an address, and whether they changed."""

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from lodestar._errors import RunError, TrackerError


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
        digest.update(f"{path}\0{stat.st_size}\0{stat.st_mtime_ns}\n".encode())
    return digest.hexdigest()[:24]


def key_in(root: Path, folder: Path) -> str:
    """A run's key: its folder's path below the root; "." for the root itself."""
    return folder.relative_to(root).as_posix()


def name_in(root: Path, folder: Path) -> str:
    """A run's name: its folder's path below the root; the root's own name for itself."""
    return root.name or str(root) if folder == root else key_in(root, folder)


def unreadable(path: Path, error: OSError | ValueError) -> RunError:
    """A file of a run that cannot be read."""
    why = (error.strerror if isinstance(error, OSError) else None) or error
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
