"""A space from a file: TOML with ranges, a grid or a list of trials; or CSV with whole schedules."""

import csv
import dataclasses
import math
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from lodestar._errors import SweepError
from lodestar.schedules import FAMILIES, Schedule, find, parse, trapezoid
from lodestar.schedules.family import PARAMETERS
from lodestar.sweep.spaces import PAPER_RATES, AbstractSpace, Grid, QuasiRandom, Range, TrialList, name_of
from lodestar.sweep.trial import Trial

KEYS = {
    "sobol": {"kind", *(field.name for field in dataclasses.fields(QuasiRandom))},
    "grid": {"kind", "shapes", "rates", "peak", "seeds"},
    "list": {"kind", "trial", "seeds"},
}
TRIAL_KEYS = {"name", "schedule", "shape", "peak", "rates", "seed", "settings", *PARAMETERS}


def read_space(path: Path, total_steps: int | None, *, seed: int, seeds: int | None = None) -> AbstractSpace:
    """The space that a file describes. CSV schedules may set the length themselves."""
    if not path.is_file():
        raise SweepError(f"there is no file {path}. Fix: check the path, or name a space: paper, sobol, averaged")
    if path.suffix.lower() == ".csv":
        return _from_csv(path, total_steps, seed=seed, seeds=seeds or 1)
    if path.suffix.lower() != ".toml":
        raise SweepError(f"{path} is neither .toml nor .csv. Fix: name the file by what it holds")
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SweepError(f"{path} is no TOML: {error}. Fix: mend that line") from error
    return _Toml(path, total_steps, seed, seeds).space(table)


class _Toml:
    """One TOML file being understood."""

    def __init__(self, path: Path, total_steps: int | None, seed: int, seeds: int | None):
        self._path, self._total, self._seed, self._seeds = path, total_steps, seed, seeds

    def space(self, table: Mapping[str, Any]) -> AbstractSpace:
        kind = table.get("kind", "list" if "trial" in table else None)
        if kind not in KEYS:
            raise self._error("kind", f"must be one of {', '.join(KEYS)}, got {kind!r}")
        self._check_keys(table, KEYS[kind], "")
        return {"sobol": self._sobol, "grid": self._grid, "list": self._list}[kind](table)

    def _sobol(self, table: Mapping[str, Any]) -> QuasiRandom:
        ranges = {key: self._range(key, value) for key, value in table.items() if key != "kind"}
        return self._built("", QuasiRandom, **ranges)

    def _range(self, key: str, value: Any) -> Range:
        """A number, [low, high], or {choices = [...]}."""
        log = getattr(QuasiRandom(), key).log
        if _is_number(value):
            return self._built(key, Range, choices=(float(value),), log=log)
        if isinstance(value, list) and len(value) == 2 and all(map(_is_number, value)):
            return self._built(key, Range, float(value[0]), float(value[1]), log)
        choices = value.get("choices") if isinstance(value, dict) and set(value) == {"choices"} else None
        if isinstance(choices, list) and choices and all(map(_is_number, choices)):
            return self._built(key, Range, choices=tuple(map(float, choices)), log=log)
        raise self._error(key, f"must be a number, [low, high] or {{choices = [...]}}, got {value!r}")

    def _grid(self, table: Mapping[str, Any]) -> Grid:
        shapes = table.get("shapes", list(Grid.shapes))
        if not isinstance(shapes, list) or not all(isinstance(shape, str) for shape in shapes):
            raise self._error("shapes", f"must be a list of names, got {shapes!r}")
        rates = table.get("rates")
        if rates is None:
            peak = self._range("peak", table.get("peak", [1e-4, 1e-1]))
            rates = list(np.geomspace(peak.low, peak.high, PAPER_RATES)) if not peak.choices else list(peak.choices)
        if not isinstance(rates, list) or not all(map(_is_number, rates)):
            raise self._error("rates", f"must be a list of numbers, got {rates!r}")
        seeds = self._seeds or self._whole("seeds", table.get("seeds", Grid.seeds), least=1)
        return self._built("", Grid, tuple(shapes), tuple(float(rate) for rate in rates), seeds)

    def _list(self, table: Mapping[str, Any]) -> TrialList:
        entries = table.get("trial")
        if not isinstance(entries, list) or not entries:
            raise self._error("trial", "must be given at least once, as [[trial]]")
        trials = [self._trial(number, entry) for number, entry in enumerate(entries, start=1)]
        seen: dict[str, int] = {}
        for number, trial in enumerate(trials, start=1):
            if trial.name in seen:
                raise self._error(f"trial {number}", f"is called {trial.name!r}, as is trial {seen[trial.name]}")
            seen[trial.name] = number
        return TrialList(trials, self._seeds or self._whole("seeds", table.get("seeds", 1), least=1))

    def _trial(self, number: int, entry: Mapping[str, Any]) -> Trial:
        where = f"trial {number}"
        self._check_keys(entry, TRIAL_KEYS, f" in {where}")
        seed = self._whole(f"{where}: seed", entry.get("seed", self._seed), least=0)
        schedule = self._schedule(where, entry)
        settings = entry.get("settings", {})
        plain = (str, int, float, bool)
        if not isinstance(settings, dict) or not all(isinstance(value, plain) for value in settings.values()):
            raise self._error(f"{where}: settings", f"must be a table of plain values, got {settings!r}")
        name = str(entry.get("name", name_of(number, schedule, seed)))
        return Trial(name, seed, len(schedule), schedule, settings)

    def _schedule(self, where: str, entry: Mapping[str, Any]) -> Schedule:
        if "rates" in entry:
            rates = entry["rates"]
            if not isinstance(rates, list) or not rates or not all(map(_is_number, rates)):
                raise self._error(f"{where}: rates", "must be a list of numbers, one for each update")
            return self._built(f"{where}: rates", Schedule, str(entry.get("shape", "listed")), rates)
        total = self._total
        if total is None:
            raise SweepError(f"how many updates has a run? {self._path} does not tell. Fix: --steps N (total_steps=N)")
        if "schedule" in entry:
            beside = sorted({"shape", "peak", *PARAMETERS} & set(entry))
            if beside:
                raise self._error(f"{where}: schedule", f"says it all, and {beside[0]} stands beside it")
            return self._built(where, parse, str(entry["schedule"]), total)
        peak, shape = entry.get("peak"), entry.get("shape", trapezoid.name)
        if not _is_number(peak) or not 0 < float(peak) < math.inf:  # pyright: ignore[reportArgumentType]
            raise self._error(f"{where}: peak", f"must be a number above 0, got {peak!r}")
        family = find(str(shape))
        if family is None:
            raise self._error(f"{where}: shape", f"must be one of {', '.join(FAMILIES)}, got {shape!r}")
        given = {key: entry[key] for key in PARAMETERS if key in entry}
        return self._built(where, family, float(peak), total, **given)  # pyright: ignore[reportArgumentType]

    def _whole(self, key: str, value: Any, *, least: int) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise self._error(key, f"must be a whole number of at least {least}, got {value!r}")
        return value

    def _check_keys(self, table: Mapping[str, Any], known: set[str], where: str) -> None:
        strange = [key for key in table if key not in known]
        if strange:
            raise self._error(strange[0], f"is not known{where}: the keys are {', '.join(sorted(known))}")

    def _built(self, key: str, make: Any, *given: Any, **named: Any) -> Any:
        try:
            return make(*given, **named)
        except (ValueError, TypeError) as error:
            raise self._error(key or "the space", str(error)) from error

    def _error(self, key: str, what: str) -> SweepError:
        return SweepError(f"{self._path}: {key} {what}. Fix: see docs/how-to/sweep.md, 'A space of your own'")


def _from_csv(path: Path, total_steps: int | None, *, seed: int, seeds: int) -> TrialList:
    """Rows of name, step, lr; or a column `step` and a column of rates for each schedule. Straight lines between."""
    with path.open(newline="", encoding="utf-8-sig") as file:
        reader = csv.DictReader(file)
        columns, rows = list(reader.fieldnames or ()), list(reader)
    if "step" not in columns or len(columns) < 2 or not rows:
        raise SweepError(f"{path} needs a column 'step' and columns of rates (or name, step, lr), got {columns}")
    points: dict[str, dict[float, float]] = {}
    named = [("lr", row.get("name") or "schedule") for row in rows] if "lr" in columns else None
    for line, row in enumerate(rows, start=2):
        cells = [named[line - 2]] if named is not None else [(column, column) for column in columns if column != "step"]
        for column, name in cells:
            if row.get(column):
                points.setdefault(name, {})[_cell(path, line, row, "step")] = _cell(path, line, row, column)
    return TrialList([_between(path, name, curve, total_steps, seed) for name, curve in points.items()], seeds)


def _between(path: Path, name: str, points: dict[float, float], total_steps: int | None, seed: int) -> Trial:
    steps = sorted(points)
    total = total_steps or int(steps[-1])
    rates = np.interp(np.arange(1, total + 1), steps, [points[step] for step in steps])
    try:
        return Trial(name, seed, total, Schedule(name, rates))
    except ValueError as error:
        raise SweepError(f"{path}: {error}") from error


def _cell(path: Path, line: int, row: Mapping[str, str | None], column: str) -> float:
    try:
        return float(row.get(column) or "")
    except ValueError:
        raise SweepError(f"{path}, line {line}: {column} must be a number, got {row.get(column)!r}") from None


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
