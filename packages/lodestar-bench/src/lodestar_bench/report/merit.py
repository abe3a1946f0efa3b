"""The figure of merit as files: a page with its table, the data, and performance profiles as a picture.

Comes in: a `Merit`, what it was made of, a folder. Goes out: the files' paths. Each is written whole or not at all.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from lodestar import _disk
from lodestar._errors import StoreError
from lodestar.report.ink import COLOURS, FAINT, Panel, file_bytes
from lodestar_bench.merit import Interval, Merit, MeritRow, finite

if TYPE_CHECKING:
    from matplotlib.axes import Axes

HEADS = ("method", "mean regret", "95 %", "worst", "95 %", "{asked} less it", "p", "worst seed not below")
_REACH = 5.0  # deviations that profiles are drawn to


def write_merit(found: Merit, about: str, folder: Path) -> list[Path]:
    """Write `merit.md`, `merit.json` and `profiles.png`. `about` says in a sentence what was compared."""
    files = {
        "merit.md": markdown(found, about).encode(),
        "merit.json": (json.dumps(as_data(found, about)) + "\n").encode(),
        "profiles.png": file_bytes(panel(found), "png"),
    }
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(_disk.cannot_write(folder, error)) from error
    for name, data in files.items():
        _disk.write_whole(folder / name, data)
    return [folder / name for name in files]


def cells(found: Merit, row: MeritRow) -> tuple[str, ...]:
    """A line of the table, under `HEADS`."""
    figures = (f"{row.mean.value:.2f}", _span(row.mean), f"{row.worst.value:.2f}", _span(row.worst))
    if row.against is None:
        return (row.method, *figures, "", "", "")
    share = f"{row.not_worst} of {len(found.contests)}"
    return (row.method, *figures, f"{row.against.mean:+.2f}", f"{row.against.p:.2g}", share)


def markdown(found: Merit, about: str) -> str:
    """The page."""
    heads, held = [head.format(asked=found.asked) for head in HEADS], _held(found)
    lines = [
        "# How far from the best",
        "",
        f"{about} Regret: how far a method's mean is below the best method's of the same task, in units of what one "
        "seed differs from the next; its mean and its worst over the tasks. Intervals: 95 %, seeds drawn with "
        f"replacement. {found.asked} less another method: paired by seed, pooled over all tasks, positive is better.",
        "",
        "| " + " | ".join(heads) + " |",
        "|" + "---|" * len(heads),
        *("| " + " | ".join(cells(found, row)) + " |" for row in found.rows),
        "",
        "Regret by task:",
        "",
        "| method | " + " | ".join(found.contests) + " |",
        "|" + "---|" * (1 + len(found.contests)),
        *(
            f"| {row.method} | " + " | ".join(f"{row.regrets[name]:.2f}" for name in found.contests) + " |"
            for row in found.rows
        ),
        "",
        "![In what share of the tasks a method is within so many deviations of the best](profiles.png)",
        *(["", f"Intervals of 80 % given at a quarter of a run that held its end: {held}."] if held else []),
    ]
    return "\n".join(lines) + "\n"


def _held(found: Merit) -> str:
    """Of those that steer, over all tasks."""
    counts = {row.method: [one.held[row.method] for one in found.of if row.method in one.held] for row in found.rows}
    return ", ".join(
        f"{name} {sum(k for k, _ in each)} of {sum(n for _, n in each)}" for name, each in counts.items() if each
    )


def as_data(found: Merit, about: str) -> dict[str, Any]:
    """The same as plain data."""
    rows = [
        {
            "method": row.method,
            "mean": vars(row.mean),
            "worst": vars(row.worst),
            "regrets": dict(row.regrets),
            "against": row.against and {key: finite(value) for key, value in vars(row.against).items()},
            "not_worst": row.not_worst,
        }
        for row in found.rows
    ]
    methods = [row.method for row in found.rows]
    results = [
        {
            "name": one.name,
            "direction": str(one.direction),
            "metric_name": one.metric_name,
            "tests": {name: {seed: float(f"{x:.6g}") for seed, x in one.tests[name].items()} for name in methods},
            "held": {name: one.held[name] for name in methods if name in one.held},
        }
        for one in found.of
    ]
    about_all = {"about": about, "asked": found.asked, "contests": list(found.contests), "seeds": found.seeds}
    return about_all | {"results": results, "rows": rows}


def panel(found: Merit) -> Panel:
    """Performance profiles: the further up and to the left, the better."""
    return Panel("profiles", "within so many deviations of the best", lambda axes: _profiles(axes, found))


def _profiles(axes: "Sequence[Axes]", found: Merit) -> None:
    within = np.linspace(0.0, _REACH, 251)
    shares = found.profile(within)
    best = [row.method for row in found.rows[: len(COLOURS)]]
    for name, share in shares.items():
        mark: dict[str, Any] = {"color": FAINT, "linewidth": 0.8}
        if name in best:
            mark = {"color": COLOURS[best.index(name)], "label": name, "linewidth": 2.4 if name == found.asked else 1.4}
        axes[0].step(within, share, where="post", **mark)
    axes[0].set_xlabel("regret, in standard deviations of a seed")
    axes[0].set_ylabel("share of tasks")
    axes[0].set_ylim(0.0, 1.03)


def _span(interval: Interval) -> str:
    return f"{interval.lower:.2f} to {interval.upper:.2f}"
