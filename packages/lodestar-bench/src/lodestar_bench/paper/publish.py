"""Writes what items found for people: figures and words of each item, a list of all, and one interactive page.

    FOLDER/README.md             every item in a sentence or two, with links
    FOLDER/index.html            charts of all items; opens offline
    FOLDER/table1/README.md      what came out, the figures, how it was made
    FOLDER/table1/*.png          the figures; the data lie in FOLDER/table1/TASK-SCALE/

Comes in: a folder with kept data. Goes out: paths. Computes nothing: figures and words are the item's.
"""

from collections.abc import Sequence
from pathlib import Path

from lodestar import _disk
from lodestar_bench import paper
from lodestar_bench.paper.canvas import picture_bytes
from lodestar_bench.paper.item import AbstractItem, Made, Picture
from lodestar_bench.paper.keep import FILE, kept
from lodestar_bench.paper.wording import listed, plain

PAPER = "*Optimization as a Dynamical System: Generative Schedules from Latent ODEs* (Wiemann and Melchior, 2026)"


def publish(items: Sequence[AbstractItem], folder: Path) -> list[Path]:
    """Draw and tell these items, then the list and the page of all that the folder holds."""
    from lodestar.report.html import Section, Text, write_page

    written = [path for item in items if (made := all_kept(folder, item.name)) for path in _item(item, made, folder)]
    there = [(item, made) for name in paper.names() if (made := all_kept(folder, (item := paper.item(name)).name))]
    if not there:
        return written
    _disk.write_whole(folder / "README.md", _list(there).encode())
    sections = [Section(item.title, [*map(Text, plain(item.words(made))), *item.charts(made)]) for item, made in there]
    lead = f"Made from bench runs of {listed(_tasks(there))}. Data, figures for print and how each was made lie beside."
    write_page(folder / "index.html", "The paper's tables and figures, made here", sections, lead)
    return [*written, folder / "README.md", folder / "index.html"]


def all_kept(folder: Path, item: str) -> list[Made]:
    """An item's data on every task it was made for."""
    found = (kept(path.parent) for path in sorted((folder / item).glob(f"*/{FILE}")))
    return [made for made in found if made is not None]


def _item(item: AbstractItem, made: list[Made], folder: Path) -> list[Path]:
    pictures = item.draw(made)
    files = {f"{picture.name}.png": picture_bytes(picture) for picture in pictures}
    files["README.md"] = _page(item, made, pictures).encode()
    here = folder / item.name
    for old in (*here.glob("*.png"), *here.glob("*.svg")):  # release one drew SVGs as well
        if old.name not in files:
            old.unlink()
    for name, data in files.items():
        _disk.write_whole(here / name, data)
    return [here / name for name in files]


def _page(item: AbstractItem, made: Sequence[Made], pictures: Sequence[Picture]) -> str:
    figures = [f"![{one.caption}]({one.name}.png)\n\n*{one.caption}*" for one in pictures]
    return "\n\n".join([f"# {item.title}", item.words(made), *figures, "## How it was made", *map(_made, made)]) + "\n"


def _made(made: Made) -> str:
    record, home = made.record, f"{made.task}-{made.scale}"
    machine = record["machine"]
    versions = ", ".join(f"{name} {machine[name]}" for name in ("lodestar-lr", "python", "numpy", "jax"))
    files = ", ".join(f"[{sheet.file}]({home}/{sheet.file})" for sheet in made.sheets.values())
    lines = [
        f"`{record['command']}`, {record['seconds']:.3g} s",
        f"{machine['cores']} cores of {machine['processor']}, {machine['system']}; {versions}",
        f"seeds: {_seeds(record['seeds'])}",
        *record["notes"],
        f"data: {files}, [{FILE}]({home}/{FILE})",
    ]
    return f"**{home}** ({made.title}):\n\n" + "\n".join(f"- {line}" for line in lines)


def _seeds(seeds: Sequence[int]) -> str:
    """Neighbours together: 0 to 4, 1000 to 1019."""
    stretches: list[list[int]] = []
    for seed in sorted(set(seeds)):
        if stretches and seed == stretches[-1][-1] + 1:
            stretches[-1].append(seed)
        else:
            stretches.append([seed])
    told = [f"{part[0]} to {part[-1]}" if len(part) > 1 else str(part[0]) for part in stretches]
    return ", ".join(told) or "none"


def _list(there: Sequence[tuple[AbstractItem, list[Made]]]) -> str:
    tasks = ", ".join(f"`{task}`" for task in _tasks(there))
    parts = [
        "# The paper's tables and figures",
        f"Those of {PAPER}, made anew from bench runs of {tasks}: `lodestar bench paper all`. "
        "Each folder holds the data, the figures, what came out in words, and the command, the machine, the seeds and "
        "the time it took. index.html, beside this file, has the charts of all, to hover over; where it is missing, "
        "`lodestar bench paper all --draw-only --to .` in this folder draws it from the data.",
    ]
    for item, made in there:
        parts.append(f"## [{item.title}]({item.name}/README.md)")
        parts.append(item.words(made).split("\n\n")[0])
    return "\n\n".join(parts) + "\n"


def _tasks(there: Sequence[tuple[AbstractItem, list[Made]]]) -> list[str]:
    return list(dict.fromkeys(f"{one.task}-{one.scale}" for _, made in there for one in made))
