"""One steered run: its learning rate, what it forecast, how many futures it accepted, why it decided so.

Comes in: a `SteeredRun`, perhaps its forecaster. Goes out: charts and blocks. What a log lacks is not drawn.
"""

import math

from lodestar.forecaster import Forecaster
from lodestar.report.html import (
    Axis,
    Bars,
    Block,
    Chart,
    KeyFigures,
    Line,
    Mark,
    Notes,
    ReferenceLine,
    Scatter,
    Shading,
    Table,
    Text,
)
from lodestar.report.sections.fans import fan_charts
from lodestar.report.sections.steered import SteeredRun
from lodestar.report.sections.why import why, word
from lodestar.report.sections.wording import number, percent, short
from lodestar.scheduler import Decision, Outcome
from lodestar.scheduler.records.shadow import ShadowScore, score_forecasts

MARKED = {
    Outcome.REPLANNED: 1,
    Outcome.RESCALED: 2,
    Outcome.CUT: 6,
    Outcome.GATED: 3,
    Outcome.EXTENDED: 5,
    Outcome.NONE_ACCEPTED: 4,
}


def decision_blocks(steered: SteeredRun, forecaster: Forecaster | None) -> list[Block]:
    """Everything about one run."""
    blocks: list[Block] = [_facts(steered)]
    if steered.log.facts:
        blocks.append(Text(", ".join(f"{key} {value}" for key, value in steered.log.facts.items()), "faint"))
    notes = [("warning", text, "") for text in steered.log.warnings]
    if steered.run is None:
        notes.append(_without_run(steered))
    if steered.log.skipped:
        notes.append(
            (
                "note",
                f"{steered.log.skipped} lines of the log could not be read: cut short by a kill, or changed since.",
                "",
            )
        )
    if notes:
        blocks.append(Notes(notes, {"warning": "warning", "note": "advice"}))
    return [*blocks, *decision_charts(steered), *fan_charts(steered, forecaster), _table(steered)]


def decision_charts(steered: SteeredRun) -> list[Chart]:
    """The learning rate, the forecasts of the end, the futures accepted; only those the log has data for."""
    return [_rate(steered), *_forecast(steered), *_accepted(steered)]


def _without_run(steered: SteeredRun) -> tuple[str, str, str]:
    """Why nothing but the log is drawn."""
    named = "" if steered.states_run else "This log names no run, so a run of its file's name is looked for. "
    lacking = f"No run here is called {short(steered.run_name)}: only what the log holds is drawn."
    fix = "Fix: name the store that holds the run as well" + ("." if steered.states_run else ", or rename the log.")
    return "note", named + lacking, fix


def score(steered: SteeredRun) -> ShadowScore | None:
    """How good its forecasts of the final metric were, where the run is known and over."""
    if steered.run is None or not math.isfinite(steered.run.final_metric):
        return None
    found = score_forecasts(steered.log.decisions, steered.run.final_metric, steering=not steered.shadow)
    return found if found.forecasts else None


def _facts(steered: SteeredRun) -> KeyFigures:
    decisions = steered.log.decisions
    outcomes = [decision.outcome for decision in decisions]
    figures = [
        (str(len(decisions)), "decisions"),
        (str(outcomes.count(Outcome.REPLANNED)), "times it changed the plan"),
    ]
    known = [decision for decision in decisions if decision.predicted is not None]
    if known:
        figures.append((number(known[-1].predicted), f"last forecast of the final {steered.metric}"))
    if steered.run is not None:
        figures.append((number(steered.run.final_metric), f"final {steered.metric}"))
    found = score(steered)
    if found is not None:
        figures.append((number(found.mean_error, 2), "mean error of its forecasts"))
        figures.append((percent(found.within, 2), "of its 80 % intervals held the truth"))
    return KeyFigures(figures)


def _rate(steered: SteeredRun) -> Chart:
    steps, rates = steered.rates()
    at = dict(zip(steps, rates, strict=True))
    series: list[Mark] = [Line("learning rate", steps, rates, colour=0)]
    for outcome, colour in MARKED.items():
        found = [d for d in steered.log.decisions if d.outcome is outcome and d.lr]
        if found:
            x = [d.lr[0][0] for d in found]
            y = [at.get(d.lr[0][0], d.lr[0][1]) for d in found]
            series.append(Scatter(word(outcome), x, y, [f"step {d.step}: {why(d)}" for d in found], colour=colour))
    title = "learning rate it would have chosen" if steered.shadow else "learning rate it chose"
    return Chart(title, series, Axis("step", low=0, high=steered.total_steps), Axis("learning rate", low=0))


def _forecast(steered: SteeredRun) -> list[Chart]:
    """Forecasts of the end, as the run went, narrowing as they should."""
    known = [d for d in steered.log.decisions if d.predicted is not None]
    if not known:
        return []
    known_intervals = [(d.step, *d.interval) for d in known if d.interval is not None]
    seen = [d for d in steered.log.decisions if d.metric is not None]
    series: list[Mark] = []
    if known_intervals:
        steps, low, high = zip(*known_intervals, strict=True)
        series.append(Shading("80 % interval", steps, low, high, colour=0))
    series.append(Line("forecast of the end", [d.step for d in known], _numbers(known, "predicted"), colour=0))
    series.append(Line(f"{steered.metric} so far", [d.step for d in seen], _numbers(seen, "metric"), colour="ink"))
    series += _winners(known)
    rules = []
    if steered.run is not None and math.isfinite(steered.run.final_metric):
        rules.append(ReferenceLine(steered.run.final_metric, "y", "how it ended"))
    x = Axis("step", low=0, high=steered.total_steps)
    return [Chart(f"forecast of the final {steered.metric}", series, x, _axis(steered, known, seen), rules=rules)]


def _winners(known: list[Decision]) -> list[Scatter]:
    """The candidates that were best, where each decision stands."""
    pairs = [(d.step, winner) for d in known for winner in d.winners]
    if not pairs:
        return []
    labels = [f"{w.source} candidate, matched at {percent(w.matched, 2)} of its run" for _, w in pairs]
    x, y = [step for step, _ in pairs], [winner.metric for _, winner in pairs]
    return [Scatter("best candidates", x, y, labels, colour=1, size=2.5)]


def _axis(steered: SteeredRun, known: list[Decision], seen: list[Decision]) -> Axis:
    """The forecasts and the run's second half set the scale, not its first steps."""
    values = _numbers(known, "predicted") + [end for d in known if d.interval is not None for end in d.interval]
    values += [d.metric for d in seen if d.metric is not None and d.step > 0.5 * steered.total_steps]
    low, high = min(values), max(values)
    room = 0.06 * (high - low) or 0.05 * abs(high) or 1.0
    return Axis(steered.metric, low=low - room, high=high + room)


def _accepted(steered: SteeredRun) -> list[Chart]:
    made = [d for d in steered.log.decisions if d.samples]
    if not made:
        return []
    bars = Bars("accepted", range(len(made)), [d.accepted for d in made], colour=2)
    x = Axis("after step", categories=[str(d.step) for d in made])
    most = max(d.samples for d in made)
    rules = [ReferenceLine(most, "y", f"{most} drawn")]
    return [
        Chart(
            "futures whose loss came near this run's",
            [bars],
            x,
            Axis("accepted", low=0, high=1.12 * most, style="count"),
            rules=rules,
        )
    ]


def _table(steered: SteeredRun) -> Table:
    rows = [
        [
            str(d.step),
            number(d.loss),
            number(d.metric),
            f"{d.accepted} of {d.samples}" if d.samples else "–",
            number(d.predicted),
            "–" if d.interval is None else f"{number(d.interval[0])} to {number(d.interval[1])}",
            number(d.first_lr, 3),
            why(d),
        ]
        for d in steered.log.decisions
    ]
    heads = (
        ">after step",
        ">loss",
        f">{steered.metric}",
        ">accepted",
        ">forecast",
        ">80 % interval",
        ">next rate",
        "why",
    )
    return Table(heads, rows, most=30)


def _numbers(decisions: list[Decision], field: str) -> list[float]:
    return [float(getattr(decision, field)) for decision in decisions]
