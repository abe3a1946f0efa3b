"""The generated schedules in words: do they leave the shapes they learned from, do seeds agree, do tasks differ?

Comes in: kept data. Goes out: Markdown. The paper says yes three times; each is checked on the sheets.
"""

from collections.abc import Sequence

import numpy as np

from lodestar_bench.paper.item import Made
from lodestar_bench.paper.wording import listed, number, percent, table

NOTICEABLE = 0.1
"""A relative distance above this is called a schedule of its own."""


def words(made: Sequence[Made]) -> str:
    """Gist, table, remarks."""
    methods = dict.fromkeys(name for one in made for name in one["spread"]["method"].tolist())
    gist = (
        "The paper says that generated schedules deviate noticeably from every parametric form in the training data. "
        f"Here {listed([_own(made, name) for name in methods])}."
    )
    return "\n\n".join([gist, _table(made), *map(_remark, made)])


def _own(made: Sequence[Made], method: str) -> str:
    """On how many tasks a method's schedules are of their own."""
    there = [one for one in made if method in one["spread"]["method"]]
    found = {one.task: _shape_distance(one, method) for one in there}
    far = sum(off > NOTICEABLE for off in found.values())
    told = ", ".join(f"{task} {percent(off, 2)}" for task, off in found.items())
    return (
        f"those of {method} do so on {far} of {len(there)} tasks by more than {percent(NOTICEABLE)} (distance to the "
        f"nearest shape at any rate: {told})"
    )


def _table(made: Sequence[Made]) -> str:
    heads = (
        "task", "method", "nearest past schedule", ">off it", "nearest shape, any rate", ">off it", ">seeds differ by",
        ">peak at", ">peak", ">end",
    )  # fmt: skip
    rows = []
    for one in made:
        for row in one["spread"].rows():
            near = one["nearest"].where(method=row["method"])
            rows.append(
                [
                    one.task,
                    row["method"],
                    listed(sorted(set(near["schedule"]))),
                    percent(float(np.mean(near["distance"])), 2),
                    listed(sorted(set(near["shape"]))),
                    percent(float(np.mean(near["shape_distance"])), 2),
                    percent(row["spread"], 2),
                    percent(row["peak_at"], 2),
                    number(row["peak"]),
                    number(row["end"], 2),
                ]
            )
    return table(heads, rows)


def _remark(one: Made) -> str:
    text = []
    for row in one["spread"].rows():
        alike = (
            "agree, as in the paper" if row["spread"] < 2 * NOTICEABLE else "do not agree closely, unlike the paper's"
        )
        text.append(
            f"the {row['runs']} seeds of {row['method']} {alike} ({percent(row['spread'], 2)} of the mean rate)"
        )
    plain = one["rates"].where(kind="plain")["method"][0]
    return f"{one.task}: {listed(text)}. The best plain schedule is {plain}."


def _shape_distance(one: Made, method: str) -> float:
    return float(np.mean(one["nearest"].where(method=method)["shape_distance"]))
