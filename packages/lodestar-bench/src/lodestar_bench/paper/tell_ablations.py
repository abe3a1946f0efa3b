"""The ablations in words: what each study found on each task, its table, and what the paper says.

Comes in: kept data. Goes out: Markdown. Every figure is one of the sheet's. A difference is called one where Welch's p
is below 0.05; with many variants a few will be so by chance, and the text says that.
"""

from collections.abc import Sequence
from typing import Any

from lodestar_bench.paper.draw_ablations import TITLES, having, label
from lodestar_bench.paper.item import Made
from lodestar_bench.paper.wording import factor, listed, p_value, result, table

CLEAR = 0.05
PAPERS = {
    "samples-noise": "The paper (ResNet-18 on CIFAR-100, 5 runs) finds no significant effect: 73.6 to 74.9 %, its "
    "choice n 30 and noise 0.15.",
    "horizon": "In the paper greedy horizons are inferior: the longer, the better.",
}
"""What the paper found, where it tells."""


def words(made: Sequence[Made]) -> str:
    """A paragraph, a table and the paper's word for each study."""
    parts = [_lead(made)]
    for name, title in TITLES.items():
        here = having(made, name)
        if here:
            gist = " ".join(_gist(one, name) for one in here)
            parts += [f"**{title}.** {gist} {PAPERS.get(name, '')}".strip(), _table(here, name)]
    count = sum(len(one["variants"]) for one in made)
    parts.append(
        "Each variant is held against the study's reference (in bold) on the same fresh seeds: paired difference, "
        f"better is +, with its 95 % interval; p: Welch. Of {count} rows, one in twenty would be below 0.05 by chance "
        "alone. All variants of a study share one sweep and one fit unless it is the sweep or the fit that changes."
    )
    return "\n\n".join(parts)


def _lead(made: Sequence[Made]) -> str:
    studies = [name for name in TITLES if having(made, name)]
    return f"Judged in the arena on {listed([one.task for one in made])}: {listed(studies)}."


def _gist(one: Made, study: str) -> str:
    rows = list(one["variants"].where(study=study).rows())
    others = [row for row in rows if not row["reference"]]
    clear = [row for row in others if row["p"] < CLEAR]
    worse = [label(row) for row in clear if row["difference"] < 0]
    better = [label(row) for row in clear if row["difference"] > 0]
    if not clear:
        return f"{one.task}: none of {len(others)} differs clearly from the reference."
    told = [f"{word} {listed(names)}" for word, names in (("worse:", worse), ("better:", better)) if names]
    return f"{one.task}: clearly {'; '.join(told)}."


def _table(made: Sequence[Made], study: str) -> str:
    heads = ["variant", *(head for one in made for head in (f">{one.task}", ">difference", ">p"))]
    rows = {one.task: {label(row): row for row in one["variants"].where(study=study).rows()} for one in made}
    names = list(dict.fromkeys(name for found in rows.values() for name in found))
    return table(heads, [[_name(name, rows), *_cells(name, made, rows)] for name in names])


def _name(name: str, rows: dict[str, dict[str, dict[str, Any]]]) -> str:
    held = any(found[name]["reference"] for found in rows.values() if name in found)
    return f"**{name}**" if held else name


def _cells(name: str, made: Sequence[Made], rows: dict[str, dict[str, dict[str, Any]]]) -> list[str]:
    cells = []
    for one in made:
        row = rows[one.task].get(name)
        if row is None:
            cells += ["–", "–", "–"]
            continue
        times = factor(one.metric_name)
        gap = f"{times * row['difference']:+.2g} ± {times * (row['upper'] - row['difference']):.2g}"
        cells += [
            result(one.metric_name, row["mean"], row["std"]),
            "" if row["reference"] else gap,
            "" if row["reference"] else p_value(row["p"]),
        ]
    return cells
