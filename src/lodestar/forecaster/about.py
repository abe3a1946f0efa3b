"""What a forecaster is and how good it is: as plain data, and in words.

Comes in: a forecaster, of any release. Goes out: what it was fitted to, and how well it forecast runs it never learned
from, for both kinds of forecast: with the schedule to the end unknown (the latent ODE) and known (the response). Every
figure has its n beside it.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from lodestar.forecaster.forecaster import Forecaster

_COUNTS = {"workloads": "task and size", "optimizers": "optimizer"}  # of runs, where a fit knows it
_RANKS = ((0.9, "ranks them very well"), (0.75, "ranks them well"), (0.5, "ranks them roughly"))
_FEW = 10  # runs, below which a figure says little


def about(forecaster: Forecaster) -> dict[str, Any]:
    """Plain data: what it forecasts, what it was fitted to, how good it is. None where the file does not say."""
    facts, job = forecaster.facts, forecaster.job
    held_out = {name for fold in facts.get("held_out", []) for name in fold}
    return {
        "metric": facts.get("metric_name"),
        "direction": str(forecaster.direction),
        "workloads": _counted(facts.get("workloads")),
        "optimizers": _counted(facts.get("job", {}).get("optimizers")),
        "runs": facts.get("runs"),
        "held_out_runs": len(held_out) if "held_out" in facts else forecaster.quality.get("held_out_runs"),
        "excluded_runs": len(facts["set_aside"]) if "set_aside" in facts else None,
        "reference_runs": len(forecaster.references),
        "peak_lr": facts.get("peak_lr"),
        "lr": [forecaster.ranges.lr_min, forecaster.ranges.lr_max],
        "total_steps": facts.get("total_steps"),
        "batch_sizes": job.batch_sizes,
        "parameters": job.parameters,
        "widths": job.widths,
        "points": forecaster.points,
        "members": forecaster.members,
        "preset": facts.get("preset"),
        "lodestar": facts.get("lodestar"),
        "scale_law": forecaster.law and forecaster.law.to_dict(),
        "knows_schedules": forecaster.response is not None,
        "quality": dict(forecaster.quality),
    }


def lines(forecaster: Forecaster) -> list[tuple[str, str]]:
    """(what, words): a line each, only of what is known."""
    told = about(forecaster)
    aim = "higher is better" if told["direction"] == "max" else "lower is better"
    found = [("forecasts", f"{told['metric'] or 'the metric'}, {aim}; loss and learning rate as well")]
    found += [(word, _listed(told[name])) for name, word in _COUNTS.items() if told[name] is not None]
    found.append(("fitted to", _runs(told)))
    peaks = f"peaks {_span(told['peak_lr'], '.3g')}, " if told["peak_lr"] else ""
    found.append(("learning rates", f"{peaks}all rates {_span(told['lr'], '.3g')}"))
    length = f"{_span(told['total_steps'], 'd')} steps, " if told["total_steps"] else ""
    found.append(("length of a run", f"{length}looked at in {told['points']} points"))
    sizes = {"width": told["widths"], "batch": told["batch_sizes"], "parameters": told["parameters"]}
    if any(sizes.values()):
        found.append(("sizes", ", ".join(f"{word} {_span(ends, '.6g')}" for word, ends in sizes.items() if ends)))
    found += [("law over sizes", words) for words in law_words(forecaster)]
    made = [f"preset {told['preset']}" if told["preset"] else "", f"members {told['members']}"]
    made.append(f"by Lodestar {told['lodestar']}" if told["lodestar"] else "")
    found.append(("fit", ", ".join(part for part in made if part)))
    return found


def law_words(forecaster: Forecaster) -> list[str]:
    """How the best rate moves with what past runs differ in, a sentence each; none where they differ in nothing."""
    return [quantity.words for quantity in forecaster.law.quantities if quantity.learned] if forecaster.law else []


def quality_words(forecaster: Forecaster) -> list[str]:
    """How good its forecasts are, a sentence for each kind and share seen."""
    return [*unknown_words(forecaster), *known_words(forecaster)]


def unknown_words(forecaster: Forecaster) -> list[str]:
    """Of forecasts that do not know the rest of the schedule."""
    quality = forecaster.quality
    said = [
        _sentence(
            f"Schedule unknown, {seen} of a run seen",
            quality.get(f"spearman_{label}"),
            error,
            quality.get(f"runs_{label}", quality.get("held_out_runs")),
            quality.get(f"spearman_runs_{label}"),
        )
        for label, seen in (("05", "5 %"), ("50", "50 %"))
        if (error := quality.get(f"final_metric_rmse_{label}")) is not None
    ]
    return said or ["Schedule unknown: nothing was held out, so how good the forecasts are is not known."]


def known_words(forecaster: Forecaster) -> list[str]:
    """Of forecasts that know the schedule to the end."""
    quality, count = forecaster.quality, forecaster.quality.get("response_runs")
    if forecaster.response is None:
        return [
            "It does not know schedules: it cannot say what a schedule would give. Fix: fit again with this version of "
            "Lodestar, preset default, to at least 3 finished runs."
        ]
    said = [
        _sentence(f"Schedule known, {seen} of a run seen", quality.get(f"response_spearman_{label}"), error, count)
        for label, seen in (("00", "nothing"), ("50", "50 %"))
        if (error := quality.get(f"response_rmse_{label}")) is not None
    ]
    return said or ["Schedule known: how good the forecasts are was not measured."]


def _sentence(what: str, rank: float | None, error: float, count: int | None, ranked: int | None = None) -> str:
    word = "" if rank is None else next((word for least, word in _RANKS if rank >= least), "hardly ranks them")
    among = f" among {ranked} of them" if ranked is not None and ranked != count else ""
    ranks = "" if rank is None else f"{word} (rank correlation {rank:.2f}{among}); "
    runs = "" if count is None else f"; n = {count} runs it had not seen"
    few = ", too few to be sure of that" if count is not None and count < _FEW else ""
    return f"{what}: {ranks}final metric off by {error:.2g} (root mean square){runs}{few}."


def _counted(counts: Any) -> dict[str, int] | None:
    named = {key: count for key, count in counts.items() if key} if isinstance(counts, Mapping) else {}
    return named or None


def _runs(told: Mapping[str, Any]) -> str:
    if told["runs"] is None:
        return "a number of runs it does not state"
    held = f", {told['held_out_runs']} of them held out to check it" if told["held_out_runs"] else ", none held out"
    excluded = f"; {told['excluded_runs']} more were excluded" if told["excluded_runs"] else ""
    return f"{told['runs']} runs{held}{excluded}"


def _span(ends: Iterable[float], form: str) -> str:
    low, high = ends
    return f"{low:{form}}" if low == high else f"{low:{form}} to {high:{form}}"


def _listed(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} ({count} runs)" for name, count in counts.items())
