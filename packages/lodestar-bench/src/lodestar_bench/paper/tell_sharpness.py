"""Sharpness in words: whether Lodestar's minima are flatter, as the paper says, and how near the edge its runs go.

Comes in: kept data. Goes out: Markdown. Every figure is one of the sheets'.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.stats import spearmanr

from lodestar_bench.paper.item import Made
from lodestar_bench.paper.sheet import Sheet
from lodestar_bench.paper.wording import in_order, listed, number, percent, result, spread, table, times

THEIRS = {
    "lodestar-paper": (0.62, 0.22), "onecycle": (1.22, 0.44), "hypergradient": (2.36, 0.37),
    "schedule-free": (2.66, 0.29), "cosine": (3.00, 0.29), "step": (3.69, 1.53), "constant": (13.23, 3.56),
}  # fmt: skip
"""The paper's table: ResNet18 on CIFAR-100, mean and standard deviation."""
WHY = (
    "Sharpness is the largest eigenvalue of the Hessian of the training loss on 256 training examples, the same for "
    "every run, at the weights the model ends with (schedule-free: its averaged ones). Power iteration on "
    "Hessian-vector products; Lanczos is the second opinion and gives the lowest eigenvalue too. The paper holds rate "
    "x sharpness / 2 against 1, the edge for plain gradient descent. AdamW divides each weight's step by the root of "
    "its second moment, so the number that bounds its rate is the largest eigenvalue of the Hessian preconditioned "
    "alike, and its edge is (1 + b1) / (1 - b1), 19 for b1 = 0.9 (Cohen et al. 2022): both are given. A weight that "
    "has hardly had a gradient (a pixel that is nearly always dark) has a second moment near zero, and alone makes the "
    "preconditioned number huge; hence its median in the table. Adam does not run away there: the first large gradient "
    "raises the second moment at once. Edges are exact for a quadratic and full batches, and a guide for small ones."
)


def words(made: Sequence[Made]) -> str:
    """Gist, tables, the edge."""
    gist = (
        "The paper says that its schedules end in minima at least twice as flat as any other schedule's (ResNet18 on "
        f"CIFAR-100). Here {listed([_gist(one) for one in made])}."
    )
    parts = [part for one in made for part in (_table(one), _opinions(one), *_edge(one))]
    return "\n\n".join([gist, *parts, WHY])


def means(one: Made) -> dict[str, float]:
    """Mean sharpness at the end of each method that has one, the flattest first."""
    end = one["end"]
    found = {name: _mean(end.where(method=name)["sharpness"]) for name in dict.fromkeys(end["method"].tolist())}
    return dict(sorted(((name, mean) for name, mean in found.items() if np.isfinite(mean)), key=lambda pair: pair[1]))


def _gist(one: Made) -> str:
    found, groups = means(one), dict(zip(one["end"]["method"].tolist(), one["end"]["group"].tolist(), strict=True))
    ours = [name for name in found if groups[name] == "ours"]
    others = [name for name in found if groups[name] != "ours"]
    if not ours or not others:
        return f"on {one.task} there is nothing to compare"
    places = [f"{name} {in_order(list(found).index(name) + 1)} ({number(found[name])})" for name in ours]
    ratio = found[others[0]] / found[ours[0]]
    verdict = "the claim holds" if ratio >= 2 else "ours is flatter, by less" if ratio > 1 else "it is not so"
    return (
        f"on {one.task} {verdict}: of {len(found)} methods, the flattest first, {listed(places)}; the flattest other "
        f"is {others[0]} ({number(found[others[0]])}, {times(ratio)} ours){_flat_is_good(one)}"
    )


def _flat_is_good(one: Made) -> str:
    """Whether flatter methods are the better ones."""
    sharp = means(one)
    tests = [_mean(one["end"].where(method=name)["test"]) for name in sharp]
    if len(sharp) < 4 or not np.ptp(tests):
        return ""
    found: Any = spearmanr(list(sharp.values()), tests)
    return f"; rank correlation of sharpness and test {one.metric_name} over methods {found.statistic:+.2f}"


def _table(one: Made) -> str:
    theirs = one.task == "cifar100-resnet18"
    heads = [
        one.task, ">sharpness", ">lowest eigenvalue", ">preconditioned (median)", f">test {one.metric_name}", ">seeds",
    ]  # fmt: skip
    rows = []
    order = [*means(one), *(name for name in dict.fromkeys(one["end"]["method"].tolist()) if name not in means(one))]
    for name in order:
        mine = one["end"].where(method=name)
        cells = [_spread(mine, "sharpness"), _spread(mine, "lowest"), _median(mine["preconditioned_sharpness"])]
        rows.append([mine["title"][0], *cells, result(one.metric_name, _mean(mine["test"])), str(len(mine))])
        if theirs:
            rows[-1].append(spread(*THEIRS[name]) if name in THEIRS else "–")
    return table([*heads, *([">the paper's"] if theirs else [])], rows)


def _opinions(one: Made) -> str:
    """How far the two methods are apart, and whether all converged."""
    end = one["end"]
    there = np.isfinite(end["sharpness"])
    off = np.abs(end["lanczos_sharpness"] / end["sharpness"] - 1)[there]
    lost = int((~there).sum())
    settled = int(np.nansum(end["converged"])), int(np.nansum(end["lanczos_converged"]))
    more = f" {lost} runs diverged and have no sharpness." if lost else ""
    return (
        f"{one.task}: power iteration converged (residual below 1 %) on {settled[0]} of {int(there.sum())} runs, "
        f"Lanczos on {settled[1]}; they differ by {percent(float(np.median(off)), 2)} in the median and "
        f"{percent(float(off.max()), 2)} at most.{more}"
    )


def _edge(one: Made) -> list[str]:
    """How often the runs that were followed lay beyond the edge."""
    lines = {row["quantity"]: row["line"] for row in one["lines"].rows() if row["optimiser"] == "gradient descent"}
    lines |= {row["quantity"]: row["line"] for row in one["lines"].rows() if row["quantity"] == "preconditioned"}
    told = []
    for name in dict.fromkeys(one["along"]["method"].tolist()):
        mine = one["along"].where(method=name)
        plain = mine["stability"]
        text = f"{name} lies beyond the edge of gradient descent at {percent(float(np.mean(plain > 1)), 2)} of "
        text += f"{len(mine)} places (at most {times(float(np.nanmax(plain)))} of it)"
        scaled = mine["preconditioned_stability"]
        if "preconditioned" in lines and np.isfinite(scaled).any():
            share = scaled / lines["preconditioned"]
            text += f" and beyond that of the optimizer at {percent(float(np.mean(share > 1)), 2)}"
            text += f" (at most {times(float(np.nanmax(share)))})"
        told.append(text)
    return [f"{one.task}, along one run of each: {'; '.join(told)}."] if told else []


def _spread(mine: Sheet, column: str) -> str:
    finite = mine[column][np.isfinite(mine[column])]
    return spread(_mean(finite), float(finite.std(ddof=1)) if len(finite) > 1 else np.nan)


def _median(values: np.ndarray) -> str:
    finite = values[np.isfinite(values)]
    return number(float(np.median(finite))) if len(finite) else "–"


def _mean(values: np.ndarray) -> float:
    finite = values[np.isfinite(values)]
    return float(finite.mean()) if len(finite) else np.nan
