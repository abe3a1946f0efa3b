"""Import of tables: files of runs in, `Run`s and a report out.

Comes in: CSV, TSV, JSON lines, JSON or Parquet files, long (a row for each run and step; or a file for each run) or
wide (a column for each run). Goes out: runs, and an `ImportReport` that says which column was taken for what and why,
which runs were left out and why, and what was done to the others. Knows nothing of trackers' own stores.
"""

import dataclasses
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from lodestar._errors import RunError, TableError
from lodestar._extras import need
from lodestar.importers.tables.assemble import assemble
from lodestar.importers.tables.columns import CURVES, FACTS, ColumnGuess, guess_columns
from lodestar.importers.tables.gather import Gathering
from lodestar.importers.tables.json_source import JsonSource
from lodestar.importers.tables.sources import AbstractSource, CsvSource, JsonLinesSource, ParquetSource
from lodestar.importers.tables.wide import WideColumn, split_wide
from lodestar.runs.run import Direction, Run
from lodestar.runs.runset import RunSet
from lodestar.runs.store import RunStore

FORMATS: Mapping[str, type[AbstractSource]] = {
    ".csv": CsvSource,
    ".tsv": CsvSource,
    ".tab": CsvSource,
    ".jsonl": JsonLinesSource,
    ".ndjson": JsonLinesSource,
    ".json": JsonSource,
    ".parquet": ParquetSource,
    ".pq": ParquetSource,
}
LAYOUTS = ("auto", "long", "wide")
Progress = Callable[[int, int, int], None]
"""Called with (files read, files in all, rows read)."""


@dataclasses.dataclass
class ImportReport:
    """What an import did. `left_out` holds (run, reason), `notes` (run, sentence).

    `replaced` are those of `imported` that were in the store before; `unchanged` were not read again (trackers only).
    """

    guess: ColumnGuess
    imported: list[str] = dataclasses.field(default_factory=list)
    unchanged: list[str] = dataclasses.field(default_factory=list)
    replaced: list[str] = dataclasses.field(default_factory=list)
    left_out: list[tuple[str, str]] = dataclasses.field(default_factory=list)
    notes: list[tuple[str, str]] = dataclasses.field(default_factory=list)

    def as_dict(self) -> dict[str, object]:
        """Plain data for JSON."""
        return {
            "guess": self.guess.as_dict(),
            "imported": self.imported,
            "unchanged": self.unchanged,
            "replaced": self.replaced,
            "left_out": [{"run": run, "reason": reason} for run, reason in self.left_out],
            "notes": [{"run": run, "note": note} for run, note in self.notes],
        }


class TableImport:
    """Files whose columns have been looked at, and not yet their rows: `guess` can be shown before anything is read."""

    def __init__(
        self,
        paths: Iterable[str | Path],
        *,
        layout: str = "auto",
        direction: Direction | str | None = None,
        task: str | None = None,
        columns: Mapping[str, str | None] | None = None,
    ):
        if layout not in LAYOUTS:
            raise ValueError(f"layout must be one of {', '.join(LAYOUTS)}, got {layout!r}")
        self._files = _named(_expand(paths))
        self._wide: dict[str, tuple[WideColumn, ...]] = {}
        names: dict[str, None] = {}
        facts: dict[str, None] = {}
        for source, _ in self._files:
            with _readable(source.path):
                found, stated = source.names()
            names |= dict.fromkeys(self._logical(source, found, layout, (columns or {}).get("run")))
            facts |= dict.fromkeys(stated)
        self._task = None if task in names or task in facts else task
        stated = dict(columns or {}) | ({"task": task} if task and self._task is None else {})
        self.guess = guess_columns(
            names, facts, overrides=stated, direction=direction, layout="wide" if self._wide else "long"
        )
        self.report = ImportReport(self.guess)

    def runs(self, progress: Progress | None = None) -> Iterator[Run]:
        """The runs, assembled one after another; `report` fills as they come."""
        gathering = Gathering(self.guess)
        rows = 0
        for number, (source, name) in enumerate(self._files):
            with _readable(source.path):
                for count in self._gather(gathering, source, name):
                    rows += count
                    if progress:
                        progress(number, len(self._files), rows)
            self.report.notes += [(source.path.name, warning) for warning in source.warnings]
        if gathering.rows_without_run:
            self.report.left_out.append(("(no name)", f"{gathering.rows_without_run} rows name no run"))
        while gathering.runs:
            gathered = gathering.runs.pop(next(iter(gathering.runs)))
            try:
                run = assemble(gathered, self.guess, self._task)
            except RunError as error:
                self.report.left_out.append((gathered.name, str(error)))
                continue
            self.report.imported.append(run.name)
            self.report.notes += [(run.name, note) for note in run.notes]
            yield run

    def _logical(self, source: AbstractSource, names: list[str], layout: str, run: str | None) -> list[str]:
        """The names a guess is made from: in a wide table the quantities, not the columns."""
        found = None
        if layout != "long" and run is None:
            found = split_wide(names, least_runs=1 if layout == "wide" else 2)
        if found is None:
            if layout == "wide":
                raise TableError(f"{source.path}: no columns such as 'run-1/loss' here. Fix: --layout long")
            return names
        self._wide[str(source.path)] = found
        inside = {column.column for column in found}
        return [*(name for name in names if name not in inside), *(column.quantity for column in found)]

    def _gather(self, gathering: Gathering, source: AbstractSource, name: str) -> Iterator[int]:
        """Sort the rows of a file to their runs; yields how many, piece by piece."""
        wide = self._wide.get(str(source.path))
        if wide is not None:
            step = self.guess["step"]
            for frame in source.frames([*([step] if step else []), *(column.column for column in wide)], []):
                gathering.add_wide(frame, source.path.name, wide)
                yield frame.rows
            return
        numbers = [column for role in ("step", *CURVES) if (column := self.guess[role])]
        texts = [column for role in FACTS if (column := self.guess[role]) and column not in numbers]
        for frame in source.frames(numbers, texts):
            gathering.add_long(frame, source.path.name, name)
            yield frame.rows


def read_tables(paths: Iterable[str | Path], **options: object) -> tuple[RunSet, ImportReport]:
    """All runs of some files in memory. Options as for `TableImport`."""
    table = TableImport(paths, **options)  # pyright: ignore[reportArgumentType]
    return RunSet(table.runs()), table.report


def import_tables(
    paths: Iterable[str | Path], store: RunStore, *, progress: Progress | None = None, **options: object
) -> ImportReport:
    """Read files into a store; runs already there under the same name are replaced, and the report says so."""
    table = TableImport(paths, **options)  # pyright: ignore[reportArgumentType]
    return store_runs(table, store, progress)


def store_runs(table: TableImport, store: RunStore, progress: Progress | None = None) -> ImportReport:
    """Read what `table` has looked at into a store."""
    before = {summary.name for summary in store.list(skip_damaged=True)} if store.exists() else set()
    store.add_many(table.runs(progress))
    table.report.replaced = [name for name in table.report.imported if name in before]
    return table.report


class _readable:
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
        arrow = need("pyarrow", "cli")
        if isinstance(error, arrow.ArrowException | OSError | UnicodeDecodeError):
            reason = str(error).splitlines()[0].rstrip(".")
            raise TableError(
                f"cannot read {self.path}: {reason}. Fix: check that the file is whole, that its ending "
                f"({self.path.suffix}) tells its format, and which column is which"
            ) from error


def _expand(paths: Iterable[str | Path]) -> list[Path]:
    """Files as given; a folder stands for the files in it that we can read."""
    found: list[Path] = []
    for path in map(Path, paths):
        inside = sorted(p for p in path.rglob("*") if _format(p)) if path.is_dir() else [path]
        if not inside:
            raise TableError(f"the folder {path} holds no file we can read ({', '.join(FORMATS)})")
        found += inside
    if not found:
        raise TableError("no files given. Fix: lodestar import FILES --out STORE")
    return found


def _format(path: Path) -> type[AbstractSource] | None:
    ending = path.suffixes[-2:-1] if path.suffix.lower() in (".gz", ".bz2", ".zst") else path.suffixes[-1:]
    kind = FORMATS.get(ending[0].lower()) if ending else None
    return kind if kind is CsvSource or path.suffix.lower() in FORMATS else None


def _named(paths: Sequence[Path]) -> list[tuple[AbstractSource, str]]:
    """Each file with the name of the run it would be: its stem, or with folders where two stems are alike."""
    stems = [path.name.split(".")[0] if path.suffix == ".gz" else path.stem for path in paths]
    if len(set(stems)) < len(stems) and len(set(paths)) == len(paths):
        top = Path(os.path.commonpath([path.absolute().parent for path in paths]))
        stems = [path.absolute().relative_to(top).with_suffix("").as_posix() for path in paths]
    named: list[tuple[AbstractSource, str]] = []
    for path, stem in zip(paths, stems, strict=True):
        kind = _format(path)
        if kind is None:
            raise TableError(
                f"{path}: format {path.suffix or '(no ending)'} is not known. Fix: give one of {', '.join(FORMATS)}"
            )
        named.append((kind(path), stem))
    return named
