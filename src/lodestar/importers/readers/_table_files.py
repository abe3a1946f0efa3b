"""Which files of runs lie at some paths, what format each has, and what the run is called that it would be.

Comes in: paths of files and folders. Goes out: open-able files with names; or a `TableError` that names the file.
"""

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from lodestar._errors import TableError
from lodestar._extras import need
from lodestar.importers.readers._table_file import AbstractTableFile, CsvTable, JsonLinesTable, ParquetTable
from lodestar.importers.readers._table_json import JsonTable

FORMATS: Mapping[str, type[AbstractTableFile]] = {
    ".csv": CsvTable,
    ".tsv": CsvTable,
    ".tab": CsvTable,
    ".jsonl": JsonLinesTable,
    ".ndjson": JsonLinesTable,
    ".json": JsonTable,
    ".parquet": ParquetTable,
    ".pq": ParquetTable,
}


class readable:
    """Turns what goes wrong while reading a file into a `TableError` that names it."""

    def __init__(self, path: Path):
        self.path = path

    def __enter__(self) -> None:
        try:
            self.path.stat()
        except FileNotFoundError as error:
            raise TableError(f"there is no file {self.path}. Fix: check the path") from error
        except OSError as error:
            raise TableError(f"cannot read {self.path}: {error.strerror}. Fix: check its mode") from error

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, TableError) and str(self.path) not in str(error):
            raise TableError(f"{self.path}: {error}") from error
        arrow = need("pyarrow", "cli")
        if isinstance(error, arrow.ArrowException | OSError | UnicodeDecodeError):
            reason = str(error).splitlines()[0].rstrip(".")
            raise TableError(
                f"cannot read {self.path}: {reason}. Fix: check that the file is whole, that its ending "
                f"({self.path.suffix}) tells its format, and which column is which"
            ) from error


def table_files(paths: Iterable[str | os.PathLike[str]]) -> list[Path]:
    """Files as given; a folder stands for the files in it that we can read."""
    found: list[Path] = []
    for path in map(Path, paths):
        inside = sorted(p for p in path.rglob("*") if _kind_of(p)) if path.is_dir() else [path]
        if not inside:
            raise TableError(f"the folder {path} holds no file we can read ({', '.join(FORMATS)})")
        found += inside
    if not found:
        raise TableError("no files given. Fix: lodestar import FILES --out STORE")
    return found


def _kind_of(path: Path) -> type[AbstractTableFile] | None:
    ending = path.suffixes[-2:-1] if path.suffix.lower() in (".gz", ".bz2", ".zst") else path.suffixes[-1:]
    kind = FORMATS.get(ending[0].lower()) if ending else None
    return kind if kind is CsvTable or path.suffix.lower() in FORMATS else None


def named_files(paths: Sequence[Path]) -> list[tuple[AbstractTableFile, str]]:
    """Each file with the name of the run it would be: its stem, or with folders where two stems are alike."""
    stems = [path.name.split(".")[0] if path.suffix == ".gz" else path.stem for path in paths]
    if len(set(stems)) < len(stems) and len(set(paths)) == len(paths):
        top = Path(os.path.commonpath([path.absolute().parent for path in paths]))
        stems = [path.absolute().relative_to(top).with_suffix("").as_posix() for path in paths]
    named: list[tuple[AbstractTableFile, str]] = []
    for path, stem in zip(paths, stems, strict=True):
        kind = _kind_of(path)
        if kind is None:
            raise TableError(
                f"{path}: format {path.suffix or '(no ending)'} is not known. Fix: give one of {', '.join(FORMATS)}"
            )
        named.append((kind(path), stem))
    return named
