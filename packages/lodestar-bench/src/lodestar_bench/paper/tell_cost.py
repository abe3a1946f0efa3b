"""The cost in words, beside the paper's table: an epoch of each kind against a plain schedule, and what came before.

Comes in: kept data. Goes out: Markdown.
"""

import math
from collections.abc import Sequence
from typing import Any

from lodestar_bench.paper import theirs
from lodestar_bench.paper.context import FITTED
from lodestar_bench.paper.item import Made
from lodestar_bench.paper.wording import listed, number, percent, table

PLAIN = "parametric"
NAMES = {
    PLAIN: "plain schedule",
    "hypergradient": "hypergradient",
    "schedule-free": "schedule-free",
    "rl-xu": "RL controller (Xu)",
    "rl-graph": "RL controller (graph)",
}


def words(made: Sequence[Made]) -> str:
    """Gist, tables, how."""
    return "\n\n".join(
        [
            " ".join(_gist(one) for one in made),
            _table(made),
            "Seconds an epoch takes without evaluations, mean ± standard deviation of five trials, and relative to a "
            "plain schedule; last the paper's ratio, of ResNet18 on CIFAR-100 on an A100. Updates are timed by the "
            "processor's clock on one thread; a scheduler's work by running it over a recorded run; an RL controller's "
            "by its median share in the bench's own runs. Steering costs the same whatever the model: the shorter an "
            "epoch, the more it weighs.",
            _beforehand(made),
            "Seconds of one core before the first final run, as recorded by the bench with a run on each core: tuning "
            "runs, or the sweep Lodestar learns from; then the fit, or the controller's training.",
            " ".join(_before(one) for one in made),
        ]
    )


def rows(one: Made) -> list[tuple[str, tuple[str, float, int], dict[str, Any]]]:
    """A name, the key of the paper's table, and the figures of each kind."""
    found = []
    for row in one["epoch"].rows():
        key = (row["kind"], row["window"], row["samples"])
        name = NAMES.get(row["kind"]) or f"Lodestar, window {row['window']:g} %, {row['samples']} samples"
        found.append((name, key, row))
    return found


def _plain(one: Made) -> float:
    return float(one["epoch"].where(kind=PLAIN)["seconds"][0])


def _gist(one: Made) -> str:
    found = {key: row for _, key, row in rows(one)}
    ours = [row for key, row in found.items() if key[0] == "lodestar"]
    own = [row["own_seconds"] for row in ours]
    said = [value / theirs.EPOCH_SECONDS[PLAIN, 0.0, 0] - 1 for key, value in theirs.EPOCH_SECONDS.items() if key[1]]
    text = (
        f"**{one.task}**: steering takes {number(min(own), 2)} to {number(max(own), 2)} s an epoch, which adds "
        f"{percent(min(own) / _plain(one), 2)} to {percent(max(own) / _plain(one), 2)} to the "
        f"{number(_plain(one), 2)} s of its updates (the paper: {percent(min(said), 2)} to {percent(max(said), 2)})"
    )
    dearest = max(ours, key=lambda row: row["seconds"])
    rivals = {NAMES[key[0]]: found[key] for key in found if key[0] in ("hypergradient", "rl-xu")}
    if not rivals:
        return text + "."
    told = [_against(name, row, dearest) for name, row in rivals.items()]
    return f"{text}. Against the dearest way to steer, {listed(told)}."


def _against(name: str, rival: dict[str, Any], ours: dict[str, Any]) -> str:
    """Whether a rival's epoch costs more; the paper's do."""
    gap, noise = rival["seconds"] - ours["seconds"], math.hypot(rival["std"], ours["std"])
    if abs(gap) <= noise:
        return f"{name} cannot be told apart here (dearer in the paper)"
    return f"{name} costs more, as in the paper" if gap > 0 else f"{name} costs less, unlike in the paper"


def _table(made: Sequence[Made]) -> str:
    lines = {name: key for one in made for name, key, _ in rows(one)}
    cells = []
    for name, key in lines.items():
        said = theirs.EPOCH_SECONDS.get(key)
        ratio = "–" if said is None else f"{said / theirs.EPOCH_SECONDS['parametric', 0.0, 0]:.2f}"
        cells.append([name, *(_cell(one, key) for one in made), ratio])
    return table(["seconds an epoch", *(f">{one.task}" for one in made), ">the paper's ratio"], cells)


def _cell(one: Made, key: tuple[str, float, int]) -> str:
    row = next((row for _, own, row in rows(one) if own == key), None)
    if row is None:
        return "–"
    return f"{number(row['seconds'])} ± {number(row['std'], 2)} ({row['seconds'] / _plain(one):.2f})"


def _beforehand(made: Sequence[Made]) -> str:
    lines = [
        [
            one.task,
            row["method"],
            f"{row['runs']}",
            f"{row['run_seconds']:.0f}",
            f"{row['learning_runs']}",
            f"{row['learning_seconds']:.0f}",
            number(row["one_run_seconds"], 2),
        ]
        for one in made
        for row in one["beforehand"].rows()
    ]
    heads = ("task", "method", ">runs before", ">seconds", ">learning: runs", ">learning: seconds", ">one final run, s")
    return table(heads, lines)


def _before(one: Made) -> str:
    found = {row["method"]: row for row in one["beforehand"].rows()}
    ours = next((found[name] for name in FITTED if name in found), None)
    if ours is None:
        return f"{one.task}: Lodestar took no part."
    share = ours["learning_seconds"] / max(ours["run_seconds"], 1e-9)
    text = (
        f"{one.task}: the fit took {ours['learning_seconds']:.0f} s, {percent(share, 2)} of the "
        f"{ours['run_seconds']:.0f} s that its {ours['runs']} runs took"
    )
    control = found.get("rl-xu")
    if control is None:
        return text + "."
    ratio = control["learning_seconds"] / ours["learning_seconds"]
    said = theirs.CONTROLLER_MINUTES / theirs.FIT_MINUTES
    return f"{text}; training the RL controller took {ratio:.2g} times the fit's time (the paper: {said:.2g})."
