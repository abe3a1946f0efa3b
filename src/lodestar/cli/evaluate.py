"""`lodestar evaluate`: how good is a forecaster on runs it never saw, beside three simple ones."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Argument, Option

from lodestar.cli import _screen
from lodestar.cli._source import open_runs

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lodestar.evaluate import Evaluation
    from lodestar.evaluate.evaluation import MeanStd, Scope
    from lodestar.runs.run import Run


SHOWN = 5
WIDE = 110  # columns from which on a spread is shown beside each mean


def evaluate_command(
    model: Annotated[Path, Argument(help="The forecaster file, as lodestar fit writes it.")],
    runs: Annotated[str, Argument(help="A store of runs, or a table that could be imported.")],
    against: Annotated[
        str | None,
        Option(metavar="RUNS", help="The past runs, for the nearest run. Default: those of RUNS that the fit used."),
    ] = None,
    seed: Annotated[list[int] | None, Option(help="Only runs with this seed; may be repeated.")] = None,
    where: Annotated[
        list[str] | None,
        Option(
            "--where",
            "--split",
            metavar="KEY=VALUE",
            help="Only runs with this fact (seed, schedule, peak_lr, task, source, name, ...); may be repeated.",
        ),
    ] = None,
    everything: Annotated[bool, Option("--all", help="Test all runs, also those the fit may have seen.")] = False,
    seen: Annotated[
        list[float] | None,
        Option(metavar="FRACTION", help="How much of a run is shown; repeatable. Default: 0.05 and 0.5."),
    ] = None,
    first_epoch: Annotated[
        float | None,
        Option(metavar="FRACTION", help="How much the selection test shows. Default: one epoch if known, 1/60."),
    ] = None,
    most: Annotated[int, Option(min=1, help="Test no more runs than this.")] = 200,
    out: Annotated[Path | None, Option("--out", "-o", metavar="PAGE", help="Write one HTML page.")] = None,
    figures: Annotated[Path | None, Option(metavar="FOLDER", help="Write every figure as PNG and SVG.")] = None,
    as_json: Annotated[bool, Option("--json", help="Print everything as JSON.")] = False,
) -> None:
    """Say how good a forecaster is, on runs it never saw.

    If the runs are those of the fit, only the ones it held out are tested, each by the members that never saw it. If
    they are others, all are. Both kinds of forecast are tested: of a known schedule, before the first step too, and of
    a run whose schedule nobody knows. Beside them: the last value held, the nearest past run, a power law.

    \b
    Examples:
      lodestar evaluate forecaster.lodestar runs
      lodestar evaluate forecaster.lodestar runs --seed 4 --against runs -o page.html
      lodestar evaluate forecaster.lodestar runs --where schedule=cosine --json > evaluation.json
    """
    from lodestar.evaluate import evaluate
    from lodestar.forecaster import load

    filters = _filters(seed or [], where or [])
    tested = open_runs(runs)
    if filters:
        tested = tested.keep(lambda run: _wanted(run, filters))
    with _screen.progress("evaluating (%)", 100, quiet=as_json) as update:
        try:
            evaluation = evaluate(
                load(model),
                tested,
                fractions=tuple(seen or (0.05, 0.5)),
                against=None if against is None else open_runs(against),
                which="all" if everything else "unseen",
                first_epoch=first_epoch,
                most=most,
                on_progress=lambda done, of: update(round(100 * done / of)),
            )
        except ValueError as error:
            raise typer.BadParameter(str(error)) from None
    written = _write(evaluation, out, figures, as_json)
    if as_json:
        _screen.show_json(evaluation.to_dict())
    else:
        _show(evaluation)
        for line in written:
            _screen.say(line, "green")


def _filters(seeds: list[int], words: list[str]) -> dict[str, list[str]]:
    filters: dict[str, list[str]] = {"seed": [str(seed) for seed in seeds]} if seeds else {}
    for word in words:
        key, sign, value = word.partition("=")
        if not sign or not key.strip():
            raise typer.BadParameter(f"takes KEY=VALUE such as schedule=cosine, got {word!r}", param_hint="--where")
        filters.setdefault(key.strip(), []).append(value.strip())
    return filters


def _wanted(run: "Run", filters: dict[str, list[str]]) -> bool:
    facts = run.facts
    known: dict[str, object] = {**facts.extra, "name": run.name, "status": run.status}
    known["peak_lr"] = run.peak_lr if facts.peak_lr is None else facts.peak_lr
    known |= {"task": facts.task, "schedule": facts.schedule, "seed": facts.seed, "source": facts.source}
    return all(any(_same(known.get(key), value) for value in values) for key, values in filters.items())


def _same(fact: object, value: str) -> bool:
    if isinstance(fact, int | float) and not isinstance(fact, bool):
        try:
            return abs(fact - float(value)) <= 1e-6 * abs(fact)
        except ValueError:
            return False
    return str(fact).lower() == value.lower()


def _write(evaluation: "Evaluation", out: Path | None, figures: Path | None, quiet: bool) -> list[str]:
    """The page and the figures, if asked for; sentences on what was written."""
    if out is None and figures is None:
        return []
    from lodestar.report import save_figures, save_page

    lines = []
    with _screen.progress("drawing", None, quiet=quiet):
        if out is not None:
            save_page(evaluation, out)
            lines.append(f"Page: {out}")
        if figures is not None:
            lines.append(f"Figures: {len(save_figures(evaluation, figures))} files in {figures}")
    return lines


def _show(evaluation: "Evaluation") -> None:
    _screen.say(f"Tested on {len(evaluation.runs)} runs.", "bold")
    for note in evaluation.notes:
        _screen.say(f"Note: {note}", "yellow")
    for name, reason in evaluation.excluded[:SHOWN]:
        _screen.say(f"  {_screen.safe(name, limit=48).plain}: {reason}", "dim")
    if len(evaluation.excluded) > SHOWN:
        _screen.say(f"  and {len(evaluation.excluded) - SHOWN} more (--json lists all)", "dim")
    if evaluation.final_scores:
        _screen.show_table(_finals(evaluation))
    _screen.show_table(_accuracy(evaluation, "whole run", "Relative MSE, whole run (the paper's table A1)"))
    _screen.show_table(_accuracy(evaluation, "still to come", "Relative MSE, only what was still to come"))
    _screen.show_table(_ranks(evaluation))
    _screen.show_table(_intervals(evaluation))
    for sentence in filter(None, (evaluation.differing, evaluation.caution)):
        _screen.say(f"{sentence[0].upper()}{sentence[1:].removesuffix('.')}.", "yellow")
    spent = evaluation.stiffness
    _screen.say(f"Solver: {spent.evaluations.mean:.0f} evaluations a run at {spent.tolerance:g}.", "dim")


def _finals(evaluation: "Evaluation"):
    """Both kinds of forecast of the final metric, and the simple ones."""
    from lodestar.evaluate.evaluation import KNOWN, OURS

    names, level = evaluation.scored, evaluation.final_scores[0].level
    heads = (f">{ {KNOWN: 'known', OURS: 'unknown'}.get(name, name) }" for name in names)
    metric = _screen.safe(evaluation.metric_name, limit=30).plain
    title = f"Final {metric}, schedule known and unknown, beside simple forecasters"
    lines = _screen.table("", *heads, ">n", title=title)
    lines.columns[0].no_wrap = True
    for what, field in {"RMSE": "rmse", "Spearman": "spearman", f"within {level:.0%}": "inside"}.items():
        for seen in dict.fromkeys(row.seen for row in evaluation.final_scores):
            row = evaluation.scores(seen)
            values = [getattr(row[name], field) if name in row else float("nan") for name in names]
            some = [value for value in values if value == value]
            best = {"rmse": min, "spearman": max}.get(field, lambda found: None)(some) if some else None
            cells = (
                _screen.safe(
                    _share(value) if field == "inside" else _screen.number(value, 3),
                    "bold green" if value == best else "",
                )
                for value in values
            )
            lines.add_row(f"{what} ({100 * seen:.3g} %)", *cells, _counts(one.runs for one in row.values()))
    return lines


def _accuracy(evaluation: "Evaluation", scope: "Scope", title: str):
    lines = _screen.table("", *(f">{name}" for name in evaluation.forecasters), ">n", title=title)
    wide = _screen.out().width >= WIDE
    for channel, words in {"loss": "loss", "lr": "lr", "metric": evaluation.metric_name}.items():
        for seen in evaluation.fractions:
            errors = [getattr(evaluation.error(name, seen, scope), channel) for name in evaluation.forecasters]
            best = min((error.mean for error in errors if error.runs), default=None)
            cells = (_screen.safe(_cell(error, wide), "bold green" if error.mean == best else "") for error in errors)
            lines.add_row(
                _screen.safe(f"{words} ({100 * seen:.3g} %)", limit=36), *cells, _counts(error.runs for error in errors)
            )
    return lines


def _ranks(evaluation: "Evaluation"):
    """Spearman, and whom each would have picked."""
    lines = _screen.table("", *(f">{name}" for name in evaluation.forecasters), ">n", title="Which run ends best?")
    for seen in evaluation.fractions:
        row = evaluation.ranks(seen)
        ranks = (_screen.number(one.spearman, 3) for one in row)
        lines.add_row(f"Spearman ({100 * seen:.3g} %)", *ranks, _counts(one.runs for one in row))
    picked = {one.forecaster: one for one in evaluation.selection}
    if picked:
        first = next(iter(picked.values()))
        ranks = (
            f"{picked[name].rank} of {picked[name].runs}" if name in picked else "-" for name in evaluation.forecasters
        )
        finals = (_screen.number(picked[name].final) if name in picked else "-" for name in evaluation.forecasters)
        lines.add_row(f"its pick (shown {100 * first.seen:.2g} %)", *ranks, str(first.runs))
        lines.add_row(f"its final (best {_screen.number(first.best_final)})", *finals, str(first.runs))
    return lines


def _intervals(evaluation: "Evaluation"):
    heads = ("interval", ">seen", ">loss", ">learning rate", ">metric", ">n", ">final metric", ">n")
    lines = _screen.table(*heads, title="What the intervals held")
    for row in evaluation.coverage:
        held = (*map(_share, (row.loss, row.lr, row.metric)), str(row.runs), _share(row.final_metric), str(row.finals))
        lines.add_row(f"{row.level:.0%}", f"{100 * row.seen:.3g} %", *held)
    return lines


def _counts(runs: "Iterable[int]") -> str:
    """How many runs a row rests on; from the fewest to the most where the forecasters differ."""
    found = sorted(set(runs))
    return str(found[0]) if len(found) == 1 else f"{found[0]}-{found[-1]}"


def _cell(error: "MeanStd", wide: bool) -> str:
    if not error.runs:
        return "-"
    return f"{error.mean:.2g} ±{error.std:.1g}" if wide else f"{error.mean:.2g}"


def _share(value: float) -> str:
    return f"{value:.0%}" if value == value else "-"
