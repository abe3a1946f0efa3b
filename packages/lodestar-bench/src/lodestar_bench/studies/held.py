"""Do the intervals of steered runs hold what they promise? Measured anew from the runs and decisions of a bench.

Comes in: homes of a bench (`bench-out/fmnist-cnn-cpu`). Goes out, for every method of ours with decisions kept: how
many final runs ended, as logged, within the 80 % interval of the first forecast made after a quarter of them. Intervals
are measured again by the code as it is now, on the runs the forecaster held out: a table that was made before a change
to them need not be made again, since no decision looks at an interval.

    python -m lodestar_bench.studies.held bench-out/fmnist-cnn-cpu bench-out/cifar10-mlp-cpu
"""

import json
import sys
from pathlib import Path

import numpy as np

from lodestar.fitting.calibration import held_out, measure_intervals
from lodestar.fitting.dataset import prepare
from lodestar.fitting.folds import Fold
from lodestar.forecaster import Forecaster, load
from lodestar.forecaster.intervals import Intervals
from lodestar.forecaster.preprocessing.normaliser import METRIC
from lodestar.runs import Run, RunSet
from lodestar.scheduler import read_log
from lodestar_bench.home import Home

LEVEL, QUARTER = 0.8, 0.25


def run(*folders: str) -> dict[str, dict[str, str]]:
    """Each home by name, each learning in it that final runs were steered with."""
    homes = [Home(Path(folder)) for folder in folders or map(str, sorted(Path("bench-out").glob("*-cpu")))]
    return {home.path.name: held(home) for home in homes}


def held(home: Home) -> dict[str, str]:
    """How many held, by method and learning."""
    names = [summary.name for summary in home.runs.list()]
    found = {}
    for file in sorted((home.path / "learned").glob("lodestar*/*/knowledge")):
        method, label = file.parts[-3:-1]
        finals = [name for name in names if name.startswith(f"final/{method}/{label}/")]
        logs = {path.stem.rsplit("-", 1)[1]: path for path in (file.parent / "decisions").glob("*.jsonl")}
        finals = [name for name in finals if name.rsplit("/", 1)[1] in logs]
        if finals:
            forecaster = load(file)
            intervals = measured(forecaster, home.runs.read(json.loads((file.parent / "runs.json").read_text())))
            each = [
                within(forecaster, intervals, one, logs[one.name.rsplit("/", 1)[1]]) for one in home.runs.read(finals)
            ]
            found[f"{method} {label}"] = f"{sum(one for one in each if one)} of {sum(one is not None for one in each)}"
    return found


def measured(forecaster: Forecaster, runs: RunSet) -> Intervals:
    """The intervals, from the runs that were held out."""
    data = prepare(runs, recipe=forecaster.recipe)
    place = {name: at for at, name in enumerate(data.names)}
    nothing = np.zeros(0, np.int64)
    folds = [Fold(nothing, np.array(sorted(place[name] for name in part))) for part in forecaster.facts["held_out"]]
    return measure_intervals(held_out(forecaster, data, folds), forecaster.direction)


def within(forecaster: Forecaster, intervals: Intervals, one: Run, log: Path) -> bool | None:
    """Whether a run ended in the interval of its first forecast after a quarter; None where there was none."""
    early = (made for made in read_log(log).decisions if made.step >= QUARTER * one.total_steps)
    first = next((made for made in early if made.interval is not None), None)
    if first is None or first.predicted is None:
        return None
    seen = first.step / one.total_steps
    scale = forecaster.recipe.normaliser.metric
    latents = forecaster.encode(forecaster.context_of(one, seen))
    spread = float(forecaster.network.decode(latents, np.ones(1))[:, 0, 0, METRIC].std())
    low, high = intervals.around_final(float(scale.forward(first.predicted)), spread, seen, LEVEL, good=True)
    return low <= float(scale.forward(one.metric.values[-1])) <= high


if __name__ == "__main__":
    print(json.dumps(run(*sys.argv[1:]), indent=1))
