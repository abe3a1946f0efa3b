"""The account of a plan: what speaks for it and what does not, in sentences."""

from lodestar.forecaster.about import known_words
from lodestar.forecaster.forecaster import Forecaster
from lodestar.planning.compare import Outlook, beyond, compare, other_length
from lodestar.planning.plan import SchedulePlan, to_schedule
from lodestar.planning.space import peak_range
from lodestar.runs.run import Direction
from lodestar.schedules.families import find

PLAN, FAMILY, PAST = "the plan", "best plain family", "best past run's schedule"


def rivals(forecaster: Forecaster, planned: SchedulePlan) -> dict[str, Outlook]:
    """The plan, the best plain family and the best past run's schedule, each over the very steps of the job."""
    total = len(planned.schedule)
    schedules = {PLAN: planned.schedule}
    for what, rival in ((FAMILY, planned.best_family), (PAST, planned.best_past)):
        if rival is not None:
            schedules[f"{what}: {_short(rival.name)}"] = to_schedule(rival.rates, total, rival.name)
    found = compare(forecaster, schedules, level=planned.forecast.level)
    return {outlook.name.partition(":")[0]: outlook for outlook in found}


def account(forecaster: Forecaster, planned: SchedulePlan) -> list[str]:
    """What a person should know before following the plan."""
    found = rivals(forecaster, planned)
    said = [_against(forecaster, planned, found[PLAN], found[what]) for what in (FAMILY, PAST) if what in found]
    low, high = tried_peaks(forecaster, planned)
    said.append(
        f"How flat the top is: with the same shape, any peak from {low:.2g} to {high:.2g} ends as well, within half of "
        "what luck does (peaks that past runs have tried)."
    )
    runs = forecaster.facts.get("runs")
    rests = "This rests on " + ("past runs" if runs is None else f"{runs} past runs")
    said.append(" ".join([f"{rests}.", *known_words(forecaster)]))
    for warning in (beyond(forecaster, planned.schedule.rates), other_length(forecaster, len(planned.schedule))):
        if warning:
            said.append(f"Mind: {warning}.")
    return said


def tried_peaks(forecaster: Forecaster, planned: SchedulePlan) -> tuple[float, float]:
    """Between which peaks the plan's shape ends as well, as far as past runs have tried such peaks."""
    (low, high), (least, most), peak = planned.peaks, peak_range(forecaster), planned.schedule.peak
    return min(max(low, least), peak), max(min(high, most), peak)


def _against(forecaster: Forecaster, planned: SchedulePlan, ours: Outlook, rival: Outlook) -> str:
    by = (ours.final - rival.final) * (1.0 if forecaster.direction is Direction.MAX else -1.0)
    said = f"Against the {rival.name}: {'better' if by >= 0 else 'worse'} by {abs(by):.2g}, by the same model"
    if abs(by) <= planned.luck:
        return (
            f"{said}; that is within luck (another run of one schedule is off by {planned.luck:.2g}), so call it level."
        )
    return f"{said}; by luck alone, another run of one schedule is off by {planned.luck:.2g}."


def _short(words: str) -> str:
    """A schedule's words with short numbers; any other name as it is."""
    family, colon, rest = words.partition(":")
    if find(family) is None or not colon:
        return words
    parts = [part.partition("=") for part in rest.split(":")]
    return ":".join(
        [family, *(f"{key}={float(value):.3g}" if sign else f"{float(key):.3g}" for key, sign, value in parts)]
    )
