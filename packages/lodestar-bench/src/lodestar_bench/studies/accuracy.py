"""The accuracy bars: how well a fresh fit forecasts runs it never saw, beside three simple forecasters.

Comes in: runs (a store, or a table such as the paper's grid of 4 shapes x 5 rates x 5 seeds); without any, a sweep on
scikit-learn's digits made on the spot. Goes out: relative MSE and Spearman with 5 % and 50 % of a run seen.

Two splits. `seed`: the last seed is held out, the usual one. The learning-rate curves of its runs are then in the
training runs too, so from some point on the nearest past run *knows* the rest of the schedule: no lesson in its lr of
zero error. `schedule`: whole schedules are held out, where it cannot. Rivals are compared on what was still to come;
over the whole run they have the seen part right for nothing.
"""

import argparse
import json
import runpy
import sys
import time
from pathlib import Path
from typing import Any

from lodestar.evaluate import OURS, Evaluation, evaluate
from lodestar.fitting import fit
from lodestar.importers.tables import read_tables
from lodestar.runs import RunSet, RunStore

BARS = {
    ("loss", 0.05): 0.01,
    ("metric", 0.05): 0.002,
    ("lr", 0.05): 0.15,
    ("loss", 0.5): 0.005,
    ("metric", 0.5): 0.001,
    ("lr", 0.5): 0.03,
}
RANK_BARS = {0.05: 0.75, 0.5: 0.95}
FRACTIONS = (0.05, 0.5)


def read(path: Path | None) -> RunSet:
    """The runs at a path, or the demo's own."""
    if path is None:
        return _demo_runs()
    return RunStore.open(path).read() if path.is_dir() else read_tables([path])[0]


def splits(runs: RunSet, *, seed: int) -> dict[str, tuple[RunSet, RunSet]]:
    """Training and test runs: the last seed apart, and a fifth of the schedules apart."""
    seeds = sorted({run.facts.seed for run in runs if run.facts.seed is not None})
    found = {}
    if len(seeds) > 1:
        last = seeds[-1]
        apart = runs.filter(lambda run: run.facts.seed == last)
        found["seed"] = (runs.filter(lambda run: run.facts.seed != last), apart)
    found["schedule"] = runs.split(0.2, by="schedule", seed=seed)
    return found


def run(
    runs_path: str | Path | None = None,
    *,
    updates: int = 20_000,
    members: int | None = None,
    presets: tuple[str, ...] = ("default",),
    only: str | None = None,
    seed: int = 0,
) -> dict[str, Any]:
    """Fit and test every preset on every split, at equal updates."""
    found: dict[str, Any] = {}
    runs = read(None if runs_path is None else Path(runs_path))
    for split, (past, tested) in splits(runs, seed=seed).items():
        if only not in (None, split):
            continue
        for preset in presets:
            _say(f"{split} split, {preset} preset: fitting on {len(past)} runs, up to {updates:,} updates")
            began = time.monotonic()
            changes = {"updates": updates} if members is None else {"updates": updates, "members": members}
            forecaster = fit(past, seed=seed, preset=preset, **changes)  # pyright: ignore[reportArgumentType]
            seconds = time.monotonic() - began
            evaluation = evaluate(forecaster, tested, fractions=FRACTIONS, against=past, tolerances=())
            found[f"{split}/{preset}"] = {"fit_s": seconds, "tested": len(evaluation.runs), **_figures(evaluation)}
    return found


def _figures(evaluation: Evaluation) -> dict[str, Any]:
    """By figure: ours, the bar, and each rival on what was still to come."""
    found: dict[str, Any] = {}
    for (channel, seen), bar in BARS.items():
        ahead = {
            name: getattr(evaluation.error(name, seen, "still to come"), channel).mean
            for name in evaluation.forecasters
        }
        ours = getattr(evaluation.error(OURS, seen), channel).mean
        found[f"{channel}_{100 * seen:.0f}"] = {"ours": ours, "bar": bar, "met": ours <= bar, "ahead": ahead}
    for seen, bar in RANK_BARS.items():
        ranks = {row.forecaster: row.spearman for row in evaluation.ranking if row.seen == seen}
        found[f"spearman_{100 * seen:.0f}"] = {
            "ours": ranks[OURS],
            "bar": bar,
            "met": ranks[OURS] >= bar,
            "ahead": ranks,
        }
    return found


def _show(found: dict[str, Any]) -> None:
    for title, part in found.items():
        print(f"\n{title}: fitted in {part['fit_s']:.0f} s, tested on {part['tested']} runs")
        rivals = [name for name in part["loss_5"]["ahead"] if name != OURS]
        print(f"{'':14}{'whole run':>10}{'bar':>8}{'':6}|{'to come':>10}" + "".join(f"{name:>14}" for name in rivals))
        for name, row in part.items():
            if not isinstance(row, dict):
                continue
            ahead = row["ahead"]
            worse = min if name.startswith("spearman") else max
            beaten = all(worse(ahead[OURS], ahead[rival]) != ahead[OURS] for rival in rivals)
            print(
                f"{name:14}{row['ours']:10.5f}{row['bar']:8}{'  met ' if row['met'] else ' MISS '}|{ahead[OURS]:10.5f}"
                + "".join(f"{ahead[rival]:14.5f}" for rival in rivals)
                + ("  beats all" if beaten else "  BEATEN")
            )
    _show_presets(found)


def _show_presets(found: dict[str, Any]) -> None:
    """The default preset against the paper's, where both were fitted."""
    for title, part in found.items():
        split, _, preset = title.partition("/")
        rival = found.get(f"{split}/paper")
        if preset != "default" or rival is None:
            continue
        print(f"\n{split}: the paper preset's figure over the default's (above 1: the default is better)")
        for name in (f"{channel}_{100 * seen:.0f}" for channel, seen in BARS):
            print(f"{name:14}{rival[name]['ours'] / part[name]['ours']:10.2f}")
        print(f"{'fit time':14}{rival['fit_s'] / part['fit_s']:10.2f}")


def _demo_runs() -> RunSet:
    """The demo's sweep on digits."""
    path = Path("examples") / "digits.py"
    if not path.exists():
        sys.exit("examples/digits.py is not there to make runs. Fix: start at the root of the clone, or name runs")
    return runpy.run_path(str(path))["sweep"]()


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", nargs="?", type=Path, help="a store or a table of runs; default: the demo's sweep")
    parser.add_argument("--updates", type=int, default=20_000, help="most gradient updates (default: 20000)")
    parser.add_argument("--members", type=int, help="forecasters in the ensemble (default: the preset's)")
    parser.add_argument("--paper", action="store_true", help="also the paper preset, at equal updates (slow)")
    parser.add_argument("--split", choices=["seed", "schedule"], help="only this split")
    parser.add_argument("--seed", type=int, default=0, help="seed of the fits and of the schedule split")
    parser.add_argument("--json", action="store_true", help="print JSON")
    given = parser.parse_args()
    presets = ("default", "paper") if given.paper else ("default",)
    options = {"updates": given.updates, "members": given.members, "presets": presets}
    found = run(given.runs, **options, only=given.split, seed=given.seed)
    if given.json:
        print(json.dumps(found, indent=2))
    else:
        _show(found)


if __name__ == "__main__":
    main()
