"""All figures of an evaluation, in the order of the page, and as files in a folder.

Comes in: an `Evaluation`. Goes out: panels by section, or PNG and SVG files. Each is written whole or not at all.
"""

from pathlib import Path

from lodestar import _disk
from lodestar._errors import StoreError
from lodestar.evaluate.evaluation import Evaluation
from lodestar.report.curves import curve_panels
from lodestar.report.errors import error_panels, tolerance_panels
from lodestar.report.ink import Panel, file_bytes
from lodestar.report.ranks import coverage_panels, rank_panels
from lodestar.report.solver import solver_panels


def gallery(evaluation: Evaluation) -> dict[str, list[Panel]]:
    """Panels by section."""
    return {
        "curves": curve_panels(evaluation),
        "errors": error_panels(evaluation),
        "ranks": rank_panels(evaluation),
        "bands": coverage_panels(evaluation),
        "tolerance": tolerance_panels(evaluation),
        "solver": solver_panels(evaluation),
    }


def save_figures(evaluation: Evaluation, folder: str | Path) -> list[Path]:
    """Write every figure as PNG and SVG; returns the files."""
    target = Path(folder)
    try:
        target.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(_disk.cannot_write(target, error)) from error
    written = []
    for panel in (panel for panels in gallery(evaluation).values() for panel in panels):
        for kind in ("png", "svg"):
            path = target / f"{panel.name}.{kind}"
            _disk.write_whole(path, file_bytes(panel, kind))
            written.append(path)
    return written
