"""Table 1 in words: the gist of each task, the table of methods and tasks, and where it differs from the paper.

Comes in: kept data. Goes out: Markdown. Every figure is one of the sheets'.
"""

from collections.abc import Sequence
from typing import Any

from lodestar.runs import Direction
from lodestar_bench.paper import theirs
from lodestar_bench.paper.item import Made
from lodestar_bench.paper.wording import listed, p_value, result, table

CLEAR = 0.05
"""A difference with a p-value below this is called one."""


def words(made: Sequence[Made]) -> str:
    """Gist, table, differences."""
    return "\n\n".join(
        [
            " ".join(_gist(one) for one in made),
            _table(made),
            "Mean ± standard deviation of the test metric at the best validation, over fresh seeds; every method was "
            "tuned with as many runs. p: Welch's two-sided t-test of the better preset of Lodestar against the best "
            "method that is not ours. A run that diverged counts as a model that has learned nothing.",
            *filter(None, map(_against_theirs, made)),
        ]
    )


def _gist(one: Made) -> str:
    ours, best = _ours(one), best_other(one)
    text = f"**{one.task}**: "
    if ours is None or best is None:
        return text + "without Lodestar, or without another method, there is nothing to compare."
    told, said = result(one.metric_name, ours["mean"], ours["std"]), result(one.metric_name, best["mean"], best["std"])
    verdict = "level with" if not ours["p"] < CLEAR else "above" if _better(one, ours, best) else "below"
    return (
        f"{text}{ours['title']} reaches {told}, {verdict} the best other method, {best['title']} ({said}, "
        f"p {p_value(ours['p'])}, {ours['count']} seeds)."
    )


def _table(made: Sequence[Made]) -> str:
    titles = {row["method"]: row["title"] for one in made for row in one["table"].rows()}
    means = {name: [_place(one, name) for one in made] for name in titles}
    order = sorted(titles, key=lambda name: sum(means[name]) / len(made))
    rows = [[titles[name], *(_cell(one, name) for one in made)] for name in order]
    last = [p_value(ours["p"]) if (ours := _ours(one)) else "–" for one in made]
    return table(["method", *(f">{one.task}" for one in made)], [*rows, ["*p*", *last]])


def _cell(one: Made, method: str) -> str:
    found = next((row for row in one["table"].rows() if row["method"] == method), None)
    if found is None:
        return "–"
    told = result(one.metric_name, found["mean"], found["std"])
    return f"**{told}**" if _place(one, method) == 0 else told


def _place(one: Made, method: str) -> int:
    """Where a method stands: sheets are sorted, the best first; last where it took no part."""
    names = one["table"]["method"].tolist()
    return names.index(method) if method in names else len(names)


def _against_theirs(one: Made) -> str:
    said = theirs.TABLE1.get(one.task)
    if said is None:
        return f"{one.task} is not among the paper's tasks."
    here = {row["method"]: row["mean"] for row in one["table"].rows()}
    both = [name for name in said if name in here]
    sign = 1.0 if one.direction is Direction.MAX else -1.0
    ours = sorted(both, key=lambda name: -sign * here[name])
    papers = sorted(both, key=lambda name: -said[name][0])
    place = ours.index("lodestar-paper") + 1 if "lodestar-paper" in ours else None
    text = (
        f"{one.task} in the paper, at full size: {said['lodestar-paper'][0]} ± {said['lodestar-paper'][1]} for theirs, "
        f"the best of all (p {theirs.P_VALUES[one.task]:g}); then {listed(papers[1:3])}. "
    )
    if place is None:
        return text + "The paper's preset did not take part here."
    same = "as in the paper" if place == 1 else "which differs from the paper"
    return text + f"Here, at scale {one.scale}, the paper's preset is {place} of the same {len(both)} methods, {same}."


def _ours(one: Made) -> dict[str, Any] | None:
    """The better of our presets."""
    return next((row for row in one["table"].rows() if row["group"] == "ours"), None)


def best_other(one: Made) -> dict[str, Any] | None:
    """The best method that is not ours."""
    return next((row for row in one["table"].rows() if row["group"] != "ours"), None)


def _better(one: Made, ours: dict[str, Any], other: dict[str, Any]) -> bool:
    return one.direction.better(ours["mean"], other["mean"])
