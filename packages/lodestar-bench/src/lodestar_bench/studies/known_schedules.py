"""Known schedules: how well a response ranks schedules it never saw, and how the forecast sharpens as a run goes on.

Comes in: runs (stores, or tables). Goes out, over random splits: rank correlation with the final metric (all runs,
and the better half), its RMSE and the share of 80 % intervals that held, from few and from many runs, at several
shares seen; beside last value, nearest past run and power law. Then a count of the cells in which it is below all of
these, ties told apart. `--most` takes a random part of a large table first. With `--json` what was done is kept: a
second call goes on where the first ended. `--latent` fits a latent ODE that reads known schedules too, alone and with
its share in the forecast.

    python -m lodestar_bench.studies.known_schedules runs.parquet --from 5 10 20 70 --test 30 --splits 5
"""

import argparse
import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lodestar.evaluate.simple import SIMPLE
from lodestar.fitting import fit
from lodestar.fitting.calibration import contexts_of
from lodestar.fitting.dataset import Prepared, prepare
from lodestar.fitting.quality import spearman
from lodestar.fitting.response.cells import cell_runs
from lodestar.fitting.response.response import fit_response
from lodestar.forecaster import Forecaster
from lodestar.forecaster.forecast import Context
from lodestar.forecaster.preprocessing.normaliser import METRIC
from lodestar.forecaster.response.history import CELLS
from lodestar.forecaster.response.mixture import SHARES as KNOWN_SHARES
from lodestar.forecaster.response.response import Response
from lodestar.runs import Direction, Run
from lodestar_bench.studies.accuracy import read
from lodestar_bench.studies.known_cells import OURS, Errors, best_simple, counted, rmse, verdict

SHARES = (0.0, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9)
LEVEL = 0.8


def run(
    path: str | Path,
    *,
    sizes: Sequence[int] = (5, 10, 20, 70),
    test: int = 30,
    splits: int = 5,
    most: int | None = None,
    simple: bool = True,
    first: int = 0,
    latent: bool = False,
) -> list[dict[str, Any]]:
    """A row for each size and share seen: means over the splits, the worst split's rank correlation, a verdict."""
    runs = list(read(Path(path)))
    seeds = range(first, first + splits)
    return [row for size in sizes for row in of_size(runs, size, test, seeds, most, simple, latent)]


def of_size(
    runs: Sequence[Run],
    size: int,
    test: int,
    seeds: Sequence[int],
    most: int | None,
    simple: bool,
    latent: bool = False,
) -> list[dict[str, Any]]:
    """The rows of one size."""
    made = [found for seed in seeds if (found := one_split(runs, size, test, seed, most, simple, latent)) is not None]
    if not made:
        raise SystemExit(f"fewer than three of {size} runs are usable in every split. Fix: --from more runs")
    return [_mean([split[place] for split in made], size, len(seeds)) for place in range(len(SHARES))]


def one_split(
    runs: Sequence[Run], size: int, test: int, seed: int, most: int | None, simple: bool, latent: bool = False
) -> list[tuple[dict[str, float], Errors]] | None:
    """Fit to `size` random runs, forecast `test` others; figures and errors for each share seen.

    `latent`: by the latent ODE too.
    """
    order = np.random.default_rng(seed).permutation(len(runs))[:most]
    past = prepare([runs[i] for i in order[test : test + size]])
    tested = prepare([runs[i] for i in order[:test]], recipe=past.recipe)
    began = time.process_time()
    forecaster = fit(past, seed=seed, known=0.6, averaging=500) if latent else None
    response = forecaster.response if forecaster else (fit_response(past, seed=seed) or (None,))[0]
    if response is None:
        return None
    seconds = time.process_time() - began
    found = [_row(past, tested, response, forecaster, share, simple) for share in SHARES]
    return [(row | {"fit_s": seconds}, errors) for row, errors in found]


def _row(
    past: Prepared, tested: Prepared, response: Response, forecaster: Forecaster | None, share: float, simple: bool
) -> tuple[dict[str, float], Errors]:
    cells = cell_runs(tested)
    whole = np.flatnonzero(cells.whole)
    units = past.recipe.normaliser.metric
    truth = cells.stands[whole, -1, METRIC]
    centre, held = np.zeros(len(whole)), np.zeros(len(whole), dtype=bool)
    latent = _latent(forecaster, tested, cells.rates, whole, share)
    for place, number in enumerate(whole):
        seen = cells.observed(int(number), max(round(share * CELLS) - 1, 0)) if share else None
        finals = response.finals(cells.rates[number][None], seen, None if latent is None else latent[[place]])
        width = response.mixture.width(share, LEVEL) * finals.deviation[0]
        centre[place] = finals.centre[0]
        held[place] = abs(truth[place] - finals.centre[0]) <= width
    forecasts = {OURS: units.inverse(centre)}
    if simple and share:
        forecasts |= {name: forecast[whole] for name, forecast in _simple(past, tested, share).items()}
    row = {"seen": share, "tested": float(len(whole)), "runs": float(len(past)), "held": float(held.mean())}
    for name, forecast in forecasts.items():
        label = "" if name == OURS else f"{name} "
        row |= _figures(label, forecast, units.inverse(truth), past.recipe.direction)
    if latent is not None:
        row |= _figures("latent ODE ", units.inverse(latent), units.inverse(truth), past.recipe.direction)
        row["latent ODE share"] = float(np.interp(share, KNOWN_SHARES, response.mixture.latent))
    return row, {name: forecast - units.inverse(truth) for name, forecast in forecasts.items()}


def _latent(
    forecaster: Forecaster | None, tested: Prepared, rates: NDArray, whole: NDArray[np.int64], share: float
) -> NDArray[np.float64] | None:
    """The finals by the latent ODE alone."""
    if forecaster is None:
        return None
    contexts = contexts_of(tested, whole, 0.0, share) if share else []
    return forecaster.known_finals(rates[whole], *contexts).mean(axis=0)


def _figures(name: str, forecast: NDArray, truth: NDArray, direction: Direction) -> dict[str, float]:
    better = np.argsort(-truth if direction is Direction.MAX else truth, kind="stable")[: len(truth) // 2]
    return {
        f"{name}spearman": spearman(forecast, truth),
        f"{name}better half": spearman(forecast[better], truth[better]),
        f"{name}rmse": rmse(forecast - truth),
    }


def _simple(past: Prepared, tested: Prepared, share: float) -> dict[str, NDArray[np.float64]]:
    stop = max(1, round(share * tested.recipe.points))
    contexts = [Context(v[:stop], m[:stop], 0) for v, m in zip(tested.values, tested.mask, strict=True)]
    made = [kind.fit(past.recipe, past) for kind in SIMPLE]
    return {one.name: np.array([one.forecast(context)[-1, METRIC] for context in contexts]) for one in made}


def _mean(made: Sequence[tuple[dict[str, float], Errors]], size: int, splits: int) -> dict[str, Any]:
    rows, errors = [row for row, _ in made], [split for _, split in made]
    mean = {name: float(np.mean([row[name] for row in rows])) for name in rows[0]}
    worst = float(np.min([row["spearman"] for row in rows]))
    about: dict[str, Any] = {"from": size, "splits": len(rows), "unusable splits": splits - len(rows), "worst": worst}
    if len(errors[0]) > 1:
        best = best_simple(errors)
        about |= {"best simple": best, "best simple rmse": mean[f"{best} rmse"], "verdict": verdict(errors, best)}
    return about | mean


def _print(path: Path, rows: Sequence[dict[str, Any]]) -> None:
    print(path.stem)
    print("from  seen  usable  spearman (worst)  better half  rmse     80 % held  best simple forecaster's rmse")
    for row in rows:
        best = f"{row['best simple rmse']:.5f} ({row['best simple']}): {row['verdict']}" if "verdict" in row else ""
        print(
            f"{row['from']:4d}  {row['seen']:4.2f}  {row['runs']:6.0f}  {row['spearman']:8.3f} ({row['worst']:.3f})"
            f"  {row['better half']:11.3f}  {row['rmse']:.5f}  {row['held']:9.2f}  {best}"
        )


def main() -> None:
    """Print the tables, a line for each size and share, and the counts."""
    told = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    told.add_argument("runs", type=Path, nargs="+", help="run stores, or tables")
    told.add_argument("--from", dest="sizes", type=int, nargs="+", default=[5, 10, 20, 70], help="runs to learn from")
    told.add_argument("--test", type=int, default=30, help="runs to test on")
    told.add_argument("--splits", type=int, default=5, help="random splits")
    told.add_argument("--seed", type=int, default=0, help="of the first split")
    told.add_argument("--most", type=int, help="take so many random runs of the table first")
    told.add_argument("--latent", action="store_true", help="a latent ODE that reads known schedules too (slow)")
    told.add_argument("--json", type=Path, help="keep the rows here")
    given = told.parse_args()
    kept: dict[str, list[dict[str, Any]]] = (
        json.loads(given.json.read_text()) if given.json and given.json.exists() else {}
    )
    setting = f"--test {given.test} --splits {given.splits} --seed {given.seed} --most {given.most}"
    setting += " --latent" * given.latent
    for path in given.runs:
        runs = None
        for size in given.sizes:
            key = f"{path.stem} --from {size} {setting}"
            if key not in kept:
                runs = list(read(path)) if runs is None else runs
                seeds = range(given.seed, given.seed + given.splits)
                kept[key] = of_size(runs, size, given.test, seeds, given.most, True, given.latent)
                if given.json:
                    given.json.write_text(json.dumps(kept, indent=1) + "\n")
        _print(path, [row for size in given.sizes for row in kept[f"{path.stem} --from {size} {setting}"]])
    for size in given.sizes:
        rows = [row for path in given.runs for row in kept[f"{path.stem} --from {size} {setting}"]]
        print(f"\nfrom {size}: {counted(rows)}")


if __name__ == "__main__":
    main()
