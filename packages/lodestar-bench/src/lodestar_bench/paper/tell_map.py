"""The map in words: what the latent space is arranged by, and whose pieces lie among whose.

Comes in: kept data. Goes out: Markdown. All figures are of the latent space itself, not of the flat map.
"""

from collections.abc import Sequence

from lodestar_bench.paper.context import OURS
from lodestar_bench.paper.item import Made
from lodestar_bench.paper.wording import listed, number, percent, table

NAMES = {"part": "time", "loss": "loss", "metric": "metric", "lr": "learning rate"}


def words(made: Sequence[Made]) -> str:
    """Gist, table, how."""
    how = sorted({str(one.record["notes"][0]) for one in made})
    return "\n\n".join(
        [
            " ".join(_gist(one) for one in made),
            *map(_table, made),
            "Share of a piece's ten nearest pieces of other runs, by family; a line adds up to 100 %. Explained: the "
            "part of a quantity's variance that the mean over those neighbours explains (1 is all; loss and rate as "
            f"logarithms). Twenty runs of each family, ten pieces an epoch; {listed(how)}.",
        ]
    )


def _gist(one: Made) -> str:
    share = {(row["family"], row["of"]): row["share"] for row in one["neighbours"].rows()}
    families = list(dict.fromkeys(one["neighbours"]["family"].tolist()))
    ours = next((name for name in OURS if name in families), None)
    explained = {row["what"]: row["figure"] for row in one["explained"].rows()}
    told = listed([f"{NAMES[what]} {number(figure, 2)}" for what, figure in explained.items()])
    text = f"**{one.task}**: neighbours in latent space explain {told}."
    if ours is None or len(families) < 2:
        return text
    rest = {name: share[ours, name] for name in families if name not in OURS}
    nearest = max(rest, key=rest.__getitem__)
    same = "as in the paper" if nearest == "onecycle" else "where the paper's are nearest to OneCycle's"
    return (
        f"{text} Among the plain families, the pieces of {ours} lie nearest to those of {nearest} "
        f"({percent(rest[nearest], 2)} of their neighbours), {same}."
    )


def _table(one: Made) -> str:
    families = list(dict.fromkeys(one["neighbours"]["family"].tolist()))
    share = {(row["family"], row["of"]): row["share"] for row in one["neighbours"].rows()}
    rows = [[name, *(percent(share[name, other], 2) for other in families)] for name in families]
    return table([f"{one.task}: neighbours of", *(f">{name}" for name in families)], rows)
