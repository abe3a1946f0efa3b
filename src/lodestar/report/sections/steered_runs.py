"""All steered runs: a table of them, their learning rates in one chart, and each one by itself.

Comes in: steered runs. Goes out: blocks.
"""

from collections.abc import Sequence

from lodestar.forecaster import Forecaster
from lodestar.report.html import Axis, Block, Chart, Details, Line, Table, Text
from lodestar.report.sections.decisions import decision_blocks, score
from lodestar.report.sections.steered import SteeredRun
from lodestar.report.sections.wording import count, number, percent, short
from lodestar.scheduler import Outcome

SHOWN = 40  # runs shown in full


def steered_blocks(steered: Sequence[SteeredRun], forecaster: Forecaster | None) -> list[Block]:
    """An overview where there are several, then each run in a fold."""
    blocks: list[Block] = [Text(_lead(steered, forecaster))]
    if len(steered) > 1:
        blocks += [_rates(steered), _table(steered)]
    shown = _picked(steered)
    blocks += [
        Details(f"{short(one.name)} ({one.kind})", decision_blocks(one, forecaster), place == 0)
        for place, one in enumerate(shown)
    ]
    if len(shown) < len(steered):
        blocks.append(Text(f"{len(shown)} of {len(steered)} runs are shown in full, evenly spread.", "faint"))
    return blocks


def _lead(steered: Sequence[SteeredRun], forecaster: Forecaster | None) -> str:
    known = sum(one.run is not None for one in steered)
    text = f"{count(len(steered), 'decision log')}. "
    if known == len(steered):
        text += "The curves of each were found among the runs."
    elif known:
        text += f"The curves of {known} were found among the runs; of the others only what the log holds is drawn."
    else:
        text += "Their curves are not among the runs, so only what the logs hold is drawn."
    if known and forecaster is None:
        text += " With --model their forecasts are drawn as fans."
    return text


def _picked(steered: Sequence[SteeredRun]) -> list[SteeredRun]:
    if len(steered) <= SHOWN:
        return list(steered)
    return [steered[round(i * (len(steered) - 1) / (SHOWN - 1))] for i in range(SHOWN)]


def _rates(steered: Sequence[SteeredRun]) -> Chart:
    kinds = list(dict.fromkeys(one.kind for one in steered))
    same = len({one.total_steps for one in steered}) == 1
    lines = []
    for one in steered:
        steps, rates = one.rates()
        x = steps if same else [step / one.total_steps for step in steps]
        lines.append(Line(one.name, x, rates, one.kind, kinds.index(one.kind), faint=len(steered) > 6))
    axis = Axis("step") if same else Axis("part of the run", style="percent")
    return Chart("learning rates chosen, a line for each run", lines, axis, Axis("learning rate", low=0), wide=True)


def _table(steered: Sequence[SteeredRun]) -> Table:
    rows = []
    for one in steered:
        outcomes = [decision.outcome for decision in one.log.decisions]
        forecasts = [d.predicted for d in one.log.decisions if d.predicted is not None]
        found = score(one)
        rows.append(
            [
                short(one.name, 40),
                one.kind,
                str(len(outcomes)),
                str(outcomes.count(Outcome.REPLANNED)),
                str(outcomes.count(Outcome.NONE_ACCEPTED)),
                str(outcomes.count(Outcome.CUT)),
                number(forecasts[-1] if forecasts else None),
                number(one.run.final_metric if one.run is not None else None),
                "–" if found is None else number(found.mean_error, 2),
                "–" if found is None else percent(found.within, 2),
            ]
        )
    heads = (
        *("run", "settings", ">decisions", ">replanned", ">none accepted", ">cuts"),
        *(">last forecast", ">ended at", ">mean error", ">intervals held"),
    )
    return Table(heads, rows, "Forecasts are of the final metric; error and intervals are over all decisions.", most=12)
