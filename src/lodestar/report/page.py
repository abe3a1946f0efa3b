"""An evaluation as one HTML page, and its figures as files in a folder.

Comes in: an `Evaluation`. Goes out: the page, which carries the same figures as JSON; or PNG and SVG files. Each is
written whole or not at all.
"""

from pathlib import Path

from lodestar import _disk
from lodestar._errors import StoreError
from lodestar.evaluate.evaluation import Evaluation
from lodestar.report.draw import chart_panel
from lodestar.report.html import Chart, write_page
from lodestar.report.html import page as html_page
from lodestar.report.ink import file_bytes
from lodestar.report.sections.errors import error_charts, tolerance_charts
from lodestar.report.sections.examples import example_charts
from lodestar.report.sections.intervals import coverage_charts
from lodestar.report.sections.quality import quality_sections
from lodestar.report.sections.ranks import final_score_charts, finals_chart, rank_chart
from lodestar.report.sections.solver import evaluations_chart, step_size_chart
from lodestar.report.sections.wording import count, percent

TITLE = "How good is this forecaster?"


def page(evaluation: Evaluation) -> str:
    """The whole page."""
    return html_page(TITLE, quality_sections(evaluation), _lead(evaluation))


def save_page(evaluation: Evaluation, path: str | Path) -> None:
    """Write the page."""
    write_page(path, TITLE, quality_sections(evaluation), _lead(evaluation))


def figures(evaluation: Evaluation) -> dict[str, list[Chart]]:
    """Every figure by the name of its file; several charts of one stand one above the other."""
    examples = {
        f"curves-{example.why}-{_part(drawn.seen)}": example_charts(example, drawn, evaluation.metric_name)
        for example in evaluation.examples
        for drawn in example.forecasts
    }
    single = {
        **{f"error-{channel}": chart for channel, chart in error_charts(evaluation).items()},
        **{f"finals-{_part(finals.seen)}": finals_chart(evaluation, finals) for finals in evaluation.finals},
        "spearman": rank_chart(evaluation),
        **{f"final-{field}": chart for field, chart in final_score_charts(evaluation).items()},
        **{f"coverage-{_part(seen)}": chart for seen, chart in coverage_charts(evaluation).items()},
        **{f"tolerance-{channel}": chart for channel, chart in tolerance_charts(evaluation).items()},
        "solver-step-size": step_size_chart(evaluation.stiffness),
        "solver-evaluations": evaluations_chart(evaluation.stiffness),
    }
    return examples | {name: [chart] for name, chart in single.items()}


def save_figures(evaluation: Evaluation, folder: str | Path) -> list[Path]:
    """Write every figure as PNG and SVG; returns the files."""
    target = Path(folder)
    try:
        _disk.make_folder(target)
    except OSError as error:
        raise StoreError(_disk.cannot_write(target, error)) from error
    written = []
    for name, charts in figures(evaluation).items():
        for kind in ("png", "svg"):
            path = target / f"{name}.{kind}"
            _disk.write_whole(path, file_bytes(chart_panel(name, charts), kind))
            written.append(path)
    return written


def _lead(evaluation: Evaluation) -> str:
    labels = {"preset": "preset", "seed": "seed", "members": "members", "runs": "fitted on runs:"}
    model = ", ".join(f"{label} {evaluation.model[key]}" for key, label in labels.items() if key in evaluation.model)
    return f"Tested on {count(len(evaluation.runs), 'run')}. The forecaster: {model}."


def _part(seen: float) -> str:
    return percent(seen).removesuffix(" %")
