"""The forecasts in words: table A1 beside the paper's, whether the tolerance matters, whether the ODE is stiff.

Comes in: kept data. Goes out: Markdown.
"""

from collections.abc import Sequence

import numpy as np

from lodestar.evaluate.evaluation import OURS
from lodestar_bench.paper import theirs
from lodestar_bench.paper.item import Made
from lodestar_bench.paper.wording import listed, number, percent, spread, table

TITLES = {"loss": "train loss", "lr": "learning rate", "metric": "validation metric"}
SEEN = (0.05, 0.5)
Figures = tuple[float, float]


def words(made: Sequence[Made]) -> str:
    """Gist, tables, remarks."""
    return "\n\n".join(
        [
            " ".join(_gist(one) for one in made),
            _table(made),
            "Relative MSE (squared error over squared truth, whole run, mean ± standard deviation over runs) against "
            "smoothed curves, on runs the forecaster never learned from; in brackets the paper's, where it has it "
            "(at full size, and not said to be on unseen runs).",
            _rivals(made),
            "The same for what was still to come, beside three forecasters that need no model: whoever repeats what "
            "was seen gets that part right for nothing. The best of each line is bold.",
            *map(_tolerance, made),
            " ".join(map(_solver, made)),
        ]
    )


def error(one: Made, quantity: str, seen: float, forecaster: str = OURS, scope: str = "whole run") -> Figures:
    """Mean and standard deviation of one cell."""
    wanted = {"forecaster": forecaster, "seen": seen, "scope": scope, "truth": "smoothed", "quantity": quantity}
    row = next(one["table_a1"].where(**wanted).rows())
    return row["mean"], row["std"]


def _gist(one: Made) -> str:
    told = [f"{number(error(one, name, SEEN[0])[0], 2)} ({title})" for name, title in TITLES.items()]
    text = f"**{one.task}**: from the first 5 % of a run the rest is forecast with a relative MSE of {listed(told)}"
    said = theirs.RELATIVE_MSE.get(one.task)
    if said is None:
        return text + "; the paper has no such task."
    worse = [title for name, title in TITLES.items() if error(one, name, SEEN[0])[0] > said[name][0]]
    return text + (
        ", each below the paper's." if not worse else f"; above the paper's for {listed(worse)}, below it for the rest."
    )


def _table(made: Sequence[Made]) -> str:
    rows = []
    for name, title in TITLES.items():
        for place, seen in enumerate(SEEN):
            cells = [_beside(one, name, place, seen) for one in made]
            rows.append([f"{title} ({percent(seen)})", *cells])
    return table(["table A1", *(f">{one.task}" for one in made)], rows)


def _beside(one: Made, name: str, place: int, seen: float) -> str:
    said = theirs.RELATIVE_MSE.get(one.task)
    ours = spread(*error(one, name, seen), digits=2)
    return f"{ours} ({said[name][place]})" if said else ours


def _rivals(made: Sequence[Made]) -> str:
    rivals = list(dict.fromkeys(name for one in made for name in one["table_a1"]["forecaster"].tolist()))
    rows = []
    for one in made:
        for name, title in TITLES.items():
            for seen in SEEN:
                found = [error(one, name, seen, rival, "still to come")[0] for rival in rivals]
                best = int(np.nanargmin(found))
                cells = [number(x, 2) if place != best else f"**{number(x, 2)}**" for place, x in enumerate(found)]
                rows.append([f"{one.task}: {title} ({percent(seen)})", *cells])
    return table(["still to come", *(f">{name}" for name in rivals)], rows)


def _tolerance(one: Made) -> str:
    ours = one["tolerance"].where(forecaster=OURS)
    levels = sorted({level for level in ours["tolerance"].tolist() if level == level}, reverse=True)
    means = [ours.where(tolerance=level)["mean"] for level in levels]
    most = max(float(np.nanmax(np.abs(means[i] / means[-1] - 1))) for i in range(len(means)))
    verdict = "the tolerance does not matter" if most < 0.02 else "the tolerance matters"
    return (
        f"{one.task}: between tolerances of {listed([f'{level:g}' for level in levels])} no error changes by more than "
        f"{percent(most, 2)} of itself: {verdict}."
    )


def _solver(one: Made) -> str:
    found = dict(zip(one["solver"]["what"].tolist(), one["solver"]["figure"].tolist(), strict=True))
    own = found["evaluations of its own solver"]
    fixed = "" if own != own else f"; the solver it is used with takes {own:.0f} always"
    return (
        f"{one.task}: Tsit5 at {found['tolerance']:g} takes {found['evaluations of a run']:.0f} ± "
        f"{found['their standard deviation']:.0f} evaluations a run (the paper: about {theirs.EVALUATIONS}) and throws "
        f"{percent(found['share of steps thrown away'], 2)} of its steps away, over {found['runs']:.0f} runs{fixed}."
    )
