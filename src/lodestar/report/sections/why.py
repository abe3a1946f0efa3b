"""Why: a decision of the scheduler in a sentence or two, with its numbers.

Comes in: a `Decision`. Goes out: text. The outcome's own sentence is always part of it, so nothing is glossed over.
"""

from collections import Counter

from lodestar.report.sections.wording import count, number
from lodestar.runs.digits import digits
from lodestar.scheduler import Decision, Outcome

SOURCES = {
    "local": "near this run",
    "references": "from past runs",
    "library": "from past runs",
    "midpoint": "between the two",
}


def why(decision: Decision) -> str:
    """What was weighed and what was done."""
    sentences = [*_weighed(decision), f"{_sentence(decision)}."]
    if decision.note:
        sentences.append(f"{decision.note[:1].upper()}{decision.note[1:]}.")
    return " ".join(sentences)


def word(outcome: Outcome) -> str:
    """An outcome in a word or two."""
    return outcome.name.lower().replace("_", " ")


def _weighed(decision: Decision) -> list[str]:
    if not decision.samples:
        return []
    matched = "no future" if not decision.accepted else f"{decision.accepted} of {decision.samples} futures"
    near = "" if decision.loss is None else f" loss {number(decision.loss)}"
    within = "" if decision.tolerance is None else f" (within {number(decision.tolerance, 2)})"
    sentences = [f"{matched[:1].upper()}{matched[1:]} came near this run's{near}{within}."]
    if decision.winners:
        best = sum(winner.metric for winner in decision.winners) / len(decision.winners)
        apart = digits((best, decision.forecast if decision.plan_forecast is None else decision.plan_forecast))
        sentences.append(
            f"The best {_candidates(decision)} should end at {number(best, apart)}, the running plan at "
            f"{_plan(decision, apart)}."
        )
    return sentences


def _candidates(decision: Decision) -> str:
    sources = Counter(winner.source for winner in decision.winners)
    listed = ", ".join(f"{many} {SOURCES.get(source, source)}" for source, many in sources.items())
    return f"{count(len(decision.winners), 'candidate')} ({listed})"


def _plan(decision: Decision, digits: int) -> str:
    if decision.plan_forecast is not None:
        return number(decision.plan_forecast, digits)
    return f"{number(decision.forecast, digits)} (if the run goes on as it did)"


def _sentence(decision: Decision) -> str:
    text = str(decision.outcome)
    return text[:1].upper() + text[1:]
