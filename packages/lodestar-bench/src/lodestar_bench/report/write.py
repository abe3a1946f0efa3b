"""Writes a bench's report into a folder: README.md with the table, CSV files with the data, PNG figures.

Comes in: a home and a folder. Goes out: the files' paths. Each file is written whole or not at all.
"""

from pathlib import Path

from lodestar import _disk
from lodestar._errors import StoreError
from lodestar.report.ink import file_bytes
from lodestar_bench.home import Home
from lodestar_bench.report.draw import panels
from lodestar_bench.report.sheets import sheets
from lodestar_bench.report.story import Story, story
from lodestar_bench.report.words import markdown

SMALL = ("table.csv", "records.csv", "about.json")


def write_report(home: Home, folder: Path, *, small: bool = False) -> tuple[Story, list[Path]]:
    """Tell the story of a home; returns it, and the files written.

    `small`: no pictures, and of the data only the table and a line for each run, from which the other sheets follow.
    """
    found = story(home)
    drawn = [] if small else panels(found)
    files = {f"{panel.name}.png": file_bytes(panel, "png") for panel in drawn}
    files |= {name: data for name, data in sheets(found).items() if not small or name in SMALL}
    files["README.md"] = markdown(found, tuple(panel.name for panel in drawn)).encode()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(_disk.cannot_write(folder, error)) from error
    for name, data in files.items():
        _disk.write_whole(folder / name, data)
    return found, [folder / name for name in files]
