"""A forecaster turned to a job's size, batch and length, and what a person should know of that.

Comes in: a forecaster and what the job states. Goes out: the forecaster in the job's units, a sentence of what the law
over sizes makes of it, and a warning for everything that is a guess: one value only in past runs, a job far outside
them, a job that does not state what past runs differ in. NumPy only.
"""

import dataclasses
import math
from collections.abc import Iterator, Mapping

from lodestar.forecaster.forecaster import Forecaster
from lodestar.forecaster.scale_law import LENGTH, MOST_BEYOND, QUANTITIES, SIZES, Quantity, ScaleLaw
from lodestar.runs.run import Run
from lodestar.runs.scale import scale_of

Job = Mapping[str, float | None]  # quantities by name; None: not stated
Warned = tuple[str, str]  # kind, sentence
_FAR = 10.0  # times outside the known values: worth a word


@dataclasses.dataclass(frozen=True)
class AtScale:
    """The forecaster in a job's units; `words` are empty where nothing changes."""

    forecaster: Forecaster
    words: str
    warnings: tuple[Warned, ...]


def at_scale(forecaster: Forecaster, job: Job) -> AtScale:
    """Turn a forecaster to a job. Beyond a hundred times the known values the law is followed no further."""
    for name, value in job.items():
        if name not in QUANTITIES:
            raise ValueError(f"a job's scale has no {name!r}. Fix: one of {', '.join(QUANTITIES)}")
        if value is not None and not (math.isfinite(value) and value > 0):
            raise ValueError(f"a job's {_plain(name)} must be above 0, got {value}. Fix: leave it out, or state it")
    law = forecaster.law
    # Parameters are counted, a width is stated on purpose.
    unheard = tuple(unheard_of(law, {"width": job.get("width")}))
    if law is None:
        return AtScale(forecaster, "", unheard)
    within = {name: _within(law.of(name), value) for name, value in job.items()}
    turned = forecaster.for_job(within)
    warnings = [(f"job {quantity.name}", text) for quantity in law.quantities if (text := _warning(quantity, job))]
    return AtScale(turned, _words(law, within, turned), (*unheard, *warnings))


def for_run(forecaster: Forecaster, run: Run) -> Forecaster:
    """A forecaster turned to what a stored run states of its scale."""
    scale = scale_of(run)
    return at_scale(forecaster, {name: getattr(scale, name) for name in QUANTITIES}).forecaster


def too_far(law: ScaleLaw | None, job: Job) -> str | None:
    """Why no plan should be made for a job: it lies further out than a law can reach. None where it does not."""
    for quantity in law.quantities if law else ():
        value = job.get(quantity.name)
        if value is not None and quantity.beyond(value) > MOST_BEYOND:
            return f"{_outside(quantity, value)}; beyond {MOST_BEYOND:g} times no law is to be trusted. Fix: {_NEARER}"
    return None


_NEARER = "add a few runs nearer to it; lodestar doctor says which"


def _within(quantity: Quantity | None, value: float | None) -> float | None:
    if quantity is None or value is None:
        return value
    return min(max(value, quantity.low / MOST_BEYOND), quantity.high * MOST_BEYOND)


def _warning(quantity: Quantity, job: Job) -> str | None:
    value, what = job.get(quantity.name), _plain(quantity.name)
    if value is None:
        return _not_stated(quantity) if quantity.learned else None
    beyond = quantity.beyond(value)
    if beyond > MOST_BEYOND:
        return f"{_outside(quantity, value)}: the law is followed no further than {MOST_BEYOND:g} times. Fix: {_NEARER}"
    if not quantity.learned and beyond > 1 and quantity.name != LENGTH:
        return (
            f"the job's {what} is {value:g}, all past runs had {_known(quantity)}, so nothing is known of how the best "
            f"rate moves with it: the plan follows a public rule ({what}^{-quantity.exponent:g}). Fix: {_NEARER}"
        )
    if beyond > _FAR:
        return f"{_outside(quantity, value)}: the plan is a long extrapolation. Fix: {_NEARER}"
    return None


def _not_stated(quantity: Quantity) -> str:
    flag = "size" if quantity.name in SIZES else quantity.name.partition("_")[0]
    return (
        f"past runs differ in their {_plain(quantity.name)} ({_known(quantity)}) and the job does not state its own: "
        f"the plan is that for {quantity.reference:.4g}. Fix: job={{{quantity.name!r}: ...}}, or --{flag} in a command"
    )


def _outside(quantity: Quantity, value: float) -> str:
    far, what = quantity.beyond(value), _plain(quantity.name)
    return f"a {what} of {value:g} lies {far:,.0f} times outside what past runs had ({_known(quantity)})"


def unheard_of(law: ScaleLaw | None, job: Job) -> Iterator[Warned]:
    """What a job states on purpose and no past run does, so that no plan depends on it."""
    for name, value in job.items():
        measured = name in SIZES and law is not None and law.size is not None
        if value is not None and not measured and (law is None or law.of(name) is None):
            what, flag = ("size", "--sizes") if name in SIZES else (_plain(name), "--batches")
            yield (
                f"job {name}",
                f"the job's {_plain(name)} is {value:g}, but the forecaster's runs state no {what}, so its plan does "
                f"not depend on it. Fix: import runs with their {what}, or sweep with {flag}, and fit again",
            )


def _words(law: ScaleLaw, job: Job, turned: Forecaster) -> str:
    if turned.rate_factor == 1.0:
        return ""
    stated = [f"{_plain(name)} {value:g}" for name, value in job.items() if value is not None and law.of(name)]
    times, reach = 1 / turned.rate_factor, math.exp(1.2816 * turned.rate_doubt)
    reference = ", ".join(f"{_plain(q.name)} {q.reference:.4g}" for q in law.quantities)
    return (
        f"at {', '.join(stated)} the best rates are {times:.2g} times ({times / reach:.2g} to {times * reach:.2g}) "
        f"those of the reference job ({reference})"
    )


def _known(quantity: Quantity) -> str:
    return f"{quantity.low:g}" if quantity.low == quantity.high else f"{quantity.low:g} to {quantity.high:g}"


def _plain(name: str) -> str:
    return "length in steps" if name == LENGTH else name.replace("_", " ")
