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


def write_report(home: Home, folder: Path) -> tuple[Story, list[Path]]:
    """Tell the story of a home; returns it, and the files written."""
    found = story(home)
    drawn = panels(found)
    files = {f"{panel.name}.png": file_bytes(panel, "png") for panel in drawn}
    files |= sheets(found)
    files["README.md"] = markdown(found, tuple(panel.name for panel in drawn)).encode()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(_disk.cannot_write(folder, error)) from error
    for name, data in files.items():
        _disk.write_whole(folder / name, data)
    return found, [folder / name for name in files]
