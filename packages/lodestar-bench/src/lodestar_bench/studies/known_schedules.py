"""Known schedules: how well a response ranks schedules it never saw, and how the forecast sharpens as a run goes on.

Comes in: runs (a store, or a table). Goes out, over random splits: rank correlation with the final metric (all runs,
and the better half), its RMSE and the share of 80 % intervals that held, from few and from many runs, at several
shares seen; beside last value, nearest past run and power law. `--most` takes a random part of a large table first.
`--latent` fits a latent ODE that reads known schedules too, alone and with its share in the forecast.

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
    """A row for each size and share seen: means over the splits, and the worst split's rank correlation."""
    runs = list(read(Path(path)))
    found: list[dict[str, Any]] = []
    for size in sizes:
        rows = [one_split(runs, size, test, seed, most, simple, latent) for seed in range(first, first + splits)]
        found += [_mean([row[place] for row in rows], size) for place in range(len(SHARES))]
    return found


def one_split(
    runs: Sequence[Run], size: int, test: int, seed: int, most: int | None, simple: bool, latent: bool = False
) -> list[dict[str, float]]:
    """Fit to `size` random runs, forecast `test` others; a row for each share seen. `latent`: the latent ODE too."""
    order = np.random.default_rng(seed).permutation(len(runs))[:most]
    past = prepare([runs[i] for i in order[test : test + size]])
    tested = prepare([runs[i] for i in order[:test]], recipe=past.recipe)
    began = time.process_time()
    forecaster = fit(past, seed=seed, known=0.6, averaging=500) if latent else None
    response = forecaster.response if forecaster else (fit_response(past, seed=seed) or (None,))[0]
    if response is None:
        raise SystemExit(f"split {seed}: fewer than three of {size} runs are usable. Fix: --from more runs")
    seconds = time.process_time() - began
    return [_row(past, tested, response, forecaster, share, simple) | {"fit_s": seconds} for share in SHARES]


def _row(
    past: Prepared, tested: Prepared, response: Response, forecaster: Forecaster | None, share: float, simple: bool
) -> dict[str, float]:
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
    row = {"seen": share, "tested": float(len(whole)), "runs": float(len(past)), "held": float(held.mean())}
    row |= _figures("", units.inverse(centre), units.inverse(truth), past.recipe.direction)
    if latent is not None:
        row |= _figures("latent ODE ", units.inverse(latent), units.inverse(truth), past.recipe.direction)
        row["latent ODE share"] = float(np.interp(share, KNOWN_SHARES, response.mixture.latent))
    if simple and share:
        for name, forecast in _simple(past, tested, share).items():
            row |= _figures(f"{name} ", forecast[whole], units.inverse(truth), past.recipe.direction)
    return row


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
        f"{name}rmse": float(np.sqrt(np.mean((forecast - truth) ** 2))),
    }


def _simple(past: Prepared, tested: Prepared, share: float) -> dict[str, NDArray[np.float64]]:
    stop = max(1, round(share * tested.recipe.points))
    contexts = [Context(v[:stop], m[:stop], 0) for v, m in zip(tested.values, tested.mask, strict=True)]
    made = [kind.fit(past.recipe, past) for kind in SIMPLE]
    return {one.name: np.array([one.forecast(context)[-1, METRIC] for context in contexts]) for one in made}


def _mean(rows: list[dict[str, float]], size: int) -> dict[str, Any]:
    mean = {name: float(np.mean([row[name] for row in rows])) for name in rows[0]}
    return {"from": size, "splits": len(rows), "worst": float(np.min([row["spearman"] for row in rows])), **mean}


def main() -> None:
    """Print the table, a line for each size and share."""
    told = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    told.add_argument("runs", type=Path, help="a run store, or a table")
    told.add_argument("--from", dest="sizes", type=int, nargs="+", default=[5, 10, 20, 70], help="runs to learn from")
    told.add_argument("--test", type=int, default=30, help="runs to test on")
    told.add_argument("--splits", type=int, default=5, help="random splits")
    told.add_argument("--seed", type=int, default=0, help="of the first split")
    told.add_argument("--most", type=int, help="take so many random runs of the table first")
    told.add_argument("--latent", action="store_true", help="a latent ODE that reads known schedules too (slow)")
    told.add_argument("--json", type=Path, help="write the rows here too")
    given = told.parse_args()
    rows = run(
        given.runs,
        sizes=given.sizes,
        test=given.test,
        splits=given.splits,
        most=given.most,
        first=given.seed,
        latent=given.latent,
    )
    print("from  seen  usable  spearman (worst)  better half  rmse     80 % held  best simple forecaster's rmse")
    for row in rows:
        others = {name: row[f"{name} rmse"] for name in (kind.name for kind in SIMPLE) if f"{name} rmse" in row}
        best = min(others, key=lambda name: others[name]) if others else ""
        print(
            f"{row['from']:4d}  {row['seen']:4.2f}  {row['runs']:6.0f}  {row['spearman']:8.3f} ({row['worst']:.3f})"
            f"  {row['better half']:11.3f}  {row['rmse']:.5f}  {row['held']:9.2f}  "
            + (f"{others[best]:.5f} ({best})" if best else "")
        )
    if given.json:
        given.json.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
