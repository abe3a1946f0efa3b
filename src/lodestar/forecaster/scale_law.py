"""The law over sizes: what a learning rate does in a job of another size, batch or length.

    log rate in the reference job = log rate + a log(size / reference) + b log(batch / reference) + c log(length / ...)

and a job moves exp(gain log(size / reference)) times as far from where runs begin, in loss and metric. Comes in: what
is known of a job. Goes out: a factor for its rates and a normaliser in its own units, so that a forecaster, which lives
in the units of the reference job, forecasts, plans and steers it unchanged. `lodestar.fitting` finds the exponents.
NumPy only.
"""

import dataclasses
import math
from collections.abc import Mapping
from typing import Any

from lodestar.forecaster.preprocessing.normaliser import Channel, Normaliser
from lodestar.forecaster.preprocessing.transform import Kind, Transform

LENGTH = "total_steps"
SIZES = ("width", "parameters")
QUANTITIES = (*SIZES, "batch_size", LENGTH)
# Mean and deviation of the exponents before any run has spoken. Width: nanochat and the square-root rule have 0.5, muP
# 1 for hidden matrices, Porian et al. N^-0.36, Microsoft N^-0.23; parameters grow about as width^2. Batch: rates go
# with its square root (Malladi et al. 2022). Length: Step Law has D^0.307, Microsoft D^-0.32: signs differ, so none.
PRIORS = {"width": (0.5, 0.25), "parameters": (0.25, 0.15), "batch_size": (-0.5, 0.25), "total_steps": (0.0, 0.2)}
MOST_BEYOND = 100.0  # times the largest known value: further out, a straight line is no guess worth making
DIMINISHED, DIMINISHED_DOUBT = 0.6, 0.4  # of a slope, beyond the known values: 0.43 and 0.78 on the two tasks looked at
_NEAR = 1.01  # values that differ by less are the same
_SEVERAL = {"width": "widths", "parameters": "numbers of parameters", "batch_size": "batch sizes", LENGTH: "lengths"}


@dataclasses.dataclass(frozen=True)
class Quantity:
    """One quantity: where past runs stand, how the best rate falls with it, and how much further runs come.

    The best rate goes as value^-exponent; `deviation` is how unsure that is. `distinct` values were seen: with one, the
    exponent is the prior's. `gains` of loss and metric: a run comes value^gain times as far from where runs begin.
    """

    name: str
    reference: float
    low: float
    high: float
    distinct: int
    exponent: float
    deviation: float
    gains: tuple[float, float] = (0.0, 0.0)

    def __post_init__(self):
        numbers = (self.reference, self.low, self.high, self.exponent, self.deviation, *self.gains)
        if self.name not in QUANTITIES or not all(isinstance(x, int | float) and math.isfinite(x) for x in numbers):
            raise ValueError(f"a law over {self.name!r} needs finite numbers and a name in {QUANTITIES}, got {numbers}")
        if not (0 < self.low <= self.reference <= self.high and self.deviation >= 0 and self.distinct >= 1):
            raise ValueError(f"a law over {self.name} needs 0 < low <= reference <= high, got {numbers}")
        if max(abs(self.exponent), *map(abs, self.gains)) > 10:
            raise ValueError(f"a law over {self.name} needs exponents from -10 to 10, got {numbers}")

    @property
    def learned(self) -> bool:
        """Whether runs of several values speak of it."""
        return self.distinct > 1

    def beyond(self, value: float) -> float:
        """How many times a value lies above the highest known one or below the lowest; 1 inside, or all but there."""
        times = max(value / self.high, self.low / value, 1.0)
        return times if times > _NEAR else 1.0

    @property
    def words(self) -> str:
        """The exponent with its 80 % interval, in a sentence."""
        what = self.name.replace("_", " ")
        reach = 1.2816 * self.deviation
        ends = sorted((-self.exponent - reach, -self.exponent + reach))
        verb = "falls" if self.exponent >= 0 else "rises"
        law = f"the best rate {verb} as {what}^{-self.exponent:.2f} ({ends[0]:.2f} to {ends[1]:.2f}"
        if self.learned:
            return f"in your runs {law}, 80 % interval), from {self.distinct} {_SEVERAL[self.name]}"
        return f"{law}; a public rule, since all past runs have the same {what}: nothing was learned of it)"


@dataclasses.dataclass(frozen=True)
class ScaleLaw:
    """All quantities, and where runs begin: `starts` of loss and metric, transformed but not standardised."""

    quantities: tuple[Quantity, ...]
    starts: tuple[float, float]

    def of(self, name: str) -> Quantity | None:
        """One quantity."""
        return next((quantity for quantity in self.quantities if quantity.name == name), None)

    @property
    def learned(self) -> bool:
        """Whether past runs differ in anything."""
        return any(quantity.learned for quantity in self.quantities)

    @property
    def size(self) -> Quantity | None:
        """The measure of size that past runs state."""
        return next((quantity for quantity in self.quantities if quantity.name in SIZES), None)

    def places(self, job: Mapping[str, float | None]) -> bool:
        """Whether the job states its size, and runs of several sizes speak of it."""
        return self.size is not None and self.size.learned and job.get(self.size.name) is not None

    def apart(self, job: Mapping[str, float | None]) -> dict[str, float]:
        """log(value / reference) of every quantity the job states; near enough to a single known value is none."""
        found = {}
        for quantity in self.quantities:
            value = job.get(quantity.name)
            if value is not None:
                one = not quantity.learned and quantity.beyond(value) == 1.0
                found[quantity.name] = 0.0 if one else math.log(value / quantity.reference)
        return found

    def factor(self, job: Mapping[str, float | None]) -> float:
        """A rate of the job times this does what that rate did in the reference job."""
        apart = self.apart(job)
        return math.exp(sum(q.exponent * apart.get(q.name, 0.0) for q in self.quantities))

    def doubt(self, job: Mapping[str, float | None]) -> float:
        """One deviation of log `factor`."""
        apart = self.apart(job)
        return math.sqrt(sum((q.deviation * apart.get(q.name, 0.0)) ** 2 for q in self.quantities))

    def gains(self, job: Mapping[str, float | None]) -> tuple[float, float]:
        """How many times as far as the reference job loss and metric come from where they begin.

        Returns diminish: beyond the known values a slope counts for less.
        """
        made = [0.0, 0.0]
        for quantity, apart, beyond in self._reach(job):
            for channel in (0, 1):
                made[channel] += quantity.gains[channel] * (apart - (1.0 - DIMINISHED) * beyond)
        return math.exp(made[0]), math.exp(made[1])

    def gain_doubt(self, job: Mapping[str, float | None]) -> float:
        """One deviation of the logarithm of the metric's gain: how far returns diminish is not known."""
        return math.sqrt(
            sum((DIMINISHED_DOUBT * quantity.gains[1] * beyond) ** 2 for quantity, _, beyond in self._reach(job))
        )

    def _reach(self, job: Mapping[str, float | None]) -> list[tuple[Quantity, float, float]]:
        """Each quantity with log(value / reference), and how much of that lies beyond the known values."""
        apart = self.apart(job)
        found = []
        for quantity in self.quantities:
            far = apart.get(quantity.name, 0.0)
            known = min(
                max(far, math.log(quantity.low / quantity.reference)), math.log(quantity.high / quantity.reference)
            )
            found.append((quantity, far, far - known))
        return found

    def normaliser(self, reference: Normaliser, job: Mapping[str, float | None]) -> Normaliser:
        """The job's units to the reference job's model units, and back."""
        factor, gains = self.factor(job), self.gains(job)
        loss, metric = (
            moved(channel, start, gain)
            for channel, start, gain in zip((reference.loss, reference.metric), self.starts, gains, strict=True)
        )
        return Normaliser(loss, metric, rescaled(reference.lr, factor))

    def to_dict(self) -> dict[str, Any]:
        """Plain data, for a file header."""
        return {"quantities": [dataclasses.asdict(quantity) for quantity in self.quantities], "starts": [*self.starts]}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "ScaleLaw":
        """Back from `to_dict`, checked."""
        made = tuple(
            Quantity(**{**q, "gains": (float(q["gains"][0]), float(q["gains"][1]))}) for q in data["quantities"]
        )
        starts = float(data["starts"][0]), float(data["starts"][1])
        if len({quantity.name for quantity in made}) < len(made) or not all(map(math.isfinite, starts)):
            raise ValueError(f"a law over sizes needs each quantity once and finite starts, got {starts}")
        return cls(made, starts)


def moved(channel: Channel, start: float, gain: float) -> Channel:
    """The channel of a job that comes `gain` times as far from `start`."""
    return dataclasses.replace(channel, mean=start + gain * (channel.mean - start), std=gain * channel.std)


def rescaled(channel: Channel, factor: float) -> Channel:
    """A channel of rates, each of which counts `factor` times: log(f r + floor) = log f + log(r + floor / f)."""
    if channel.transform.kind is not Kind.LOG:
        raise ValueError(f"a rate's channel must be logarithmic to be rescaled, got {channel.transform.kind}")
    transform = Transform(Kind.LOG, channel.transform.floor / factor, channel.transform.top)
    return dataclasses.replace(channel, transform=transform, mean=channel.mean - math.log(factor))
