"""The response: what a schedule would give, before a run or from where it stands now.

Comes in: learning rates to the end, and what was seen of a run, in model units. Goes out: loss and metric to come, and
the final metric with an interval. It is the part of a forecaster that knows schedules; the latent ODE draws runs whose
schedule nobody knows. NumPy only.
"""

import dataclasses

import numpy as np
from numpy.typing import NDArray

from lodestar.forecaster.forecast import Context
from lodestar.forecaster.preprocessing.normaliser import LOSS, METRIC
from lodestar.forecaster.response.channel import ChannelResponse, Seen, raw_inputs
from lodestar.forecaster.response.continuation import Continuation
from lodestar.forecaster.response.history import CELLS, Clock, Rates
from lodestar.forecaster.response.mixture import WAYS, Mixture, mixed
from lodestar.forecaster.response.neighbours import Neighbours
from lodestar.forecaster.response.power_law import power_law_final

_MOST_SEEN = 14  # observed cells that tell of a run's own way; more say the same again


@dataclasses.dataclass(frozen=True)
class Observed:
    """What was seen of one run on the cells: `stand` (cells, 2), the last value held; and how far each channel goes."""

    stand: NDArray[np.float64]
    first: tuple[int, int]  # the first cell with a value, of loss and metric
    last: tuple[int, int]  # the last one; -1: none

    @property
    def cell(self) -> int:
        """The last cell seen."""
        return max(self.last)

    @property
    def share(self) -> float:
        """Of the run, that was seen."""
        return (self.cell + 1) / CELLS

    def seen(self, channel: int) -> Seen | None:
        """Some cells of a channel, the newest among them."""
        if self.last[channel] < 0:
            return None
        at = np.unique(np.linspace(self.first[channel], self.last[channel], _MOST_SEEN).round().astype(np.int64))
        return Seen(at, self.stand[at, channel])

    @classmethod
    def of(cls, context: Context, points: int) -> "Observed | None":
        """A context that begins with the run; None if it holds neither loss nor metric."""
        ends = (np.arange(context.start, context.stop) + 1.0) / points
        cells = (np.arange(CELLS) + 1.0) / CELLS
        stand, first, last = np.zeros((CELLS, 2)), [0, 0], [-1, -1]
        for channel in (LOSS, METRIC):
            fine = np.flatnonzero(context.mask[:, channel])
            if len(fine):
                stand[:, channel] = np.interp(cells, ends[fine], context.values[fine, channel])
                last[channel] = max(int(np.floor(ends[fine[-1]] * CELLS + 1e-9)) - 1, 0)
                first[channel] = min(max(int(np.ceil(ends[fine[0]] * CELLS - 1e-9)) - 1, 0), last[channel])
        return cls(stand, (first[0], first[1]), (last[0], last[1])) if max(last) >= 0 else None


@dataclasses.dataclass(frozen=True)
class Finals:
    """Final metrics (schedules,) in model units: the forecast, the deviation of such runs from it, each way's own.

    `doubt` is the part of the deviation that another run of the same schedule would take away: none of it is luck.
    """

    centre: NDArray[np.float64]
    deviation: NDArray[np.float64]
    doubt: NDArray[np.float64]
    ways: NDArray[np.float64]  # (ways, schedules)


@dataclasses.dataclass(frozen=True)
class Response:
    """Loss and metric as they answer to the rate."""

    clock: Clock
    loss: ChannelResponse
    metric: ChannelResponse
    continuation: Continuation
    neighbours: Neighbours
    mixture: Mixture

    def finals(
        self, rates: Rates, observed: Observed | None = None, latent: NDArray[np.float64] | None = None
    ) -> Finals:
        """The final metric under each schedule; with `observed`: of a run that has come so far under each of them.

        `latent`: the same by the latent ODE (schedules,), where it can tell.
        """
        ways, variance, doubt = self.ways(rates, observed)
        seen = observed.share if observed else 0.0
        centre, deviation = mixed(self.mixture.at(seen), ways, variance)
        if latent is not None:
            latent = self.within_reach(latent, observed)
            centre, deviation = self.mixture.with_latent(seen, centre, deviation, latent)
        return Finals(centre, deviation, np.sqrt(doubt), ways)

    def ways(
        self, rates: Rates, observed: Observed | None
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """The final metric by each way (ways, schedules), its variance, and the part of it that is doubt."""
        end = np.array([CELLS - 1])
        raw = raw_inputs(self.metric.law, self.clock, rates, end)
        points = self.metric.standardised(raw)
        alone = self.metric.at(points)
        seen = observed.seen(METRIC) if observed else None
        if observed is None or seen is None:
            made = np.tile(alone.mean[:, 0], (len(WAYS), 1))
            return self.metric.clipped(made), alone.variance[:, 0], alone.doubt[:, 0]
        own = raw_inputs(self.metric.law, self.clock, rates[:1], np.append(seen.at, observed.cell))
        given = self.metric.given(alone, points, end, self.metric.standardised(own[0, :-1]), seen)
        onward = self.continuation.final(self.clock, rates, observed.stand, observed.cell, own[:, -1], raw[:, 0])
        now = float(observed.stand[observed.last[METRIC], METRIC])
        alike = self.neighbours.finals(rates, observed.stand, observed.first, observed.last)
        power = power_law_final(observed.stand[:, METRIC], observed.first[METRIC], observed.last[METRIC])
        blind = [np.full(len(rates), value) for value in (now, power)]
        made = np.stack([alone.mean[:, 0], given.mean[:, 0], onward, blind[0], *alike, blind[1]])
        low, high = self.neighbours.reach(observed.last[METRIC])
        made = np.clip(made, now + low, now + high)
        return self.metric.clipped(made, now, observed.share), given.variance[:, 0], given.doubt[:, 0]

    def within_reach(self, finals: NDArray[np.float64], observed: Observed | None) -> NDArray[np.float64]:
        """Finals that come from elsewhere, clipped as the ways are."""
        if observed is None or observed.last[METRIC] < 0:
            return self.metric.clipped(finals)
        return self.metric.clipped(finals, float(observed.stand[observed.last[METRIC], METRIC]), observed.share)

    def curves(
        self,
        rates: Rates,
        observed: Observed | None,
        at: NDArray[np.int64],
        latent: NDArray[np.float64] | None = None,
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Loss and metric (schedules, times, 2) at the end of the cells `at` and their deviations, model units.

        `at` ends with the last cell. The metric ends at the mixture's final, and goes there from now at an even pace.
        """
        parts = [
            part.expected(self.clock, rates, at, observed.seen(channel) if observed else None)
            for channel, part in ((LOSS, self.loss), (METRIC, self.metric))
        ]
        start = observed.share if observed else 0.0
        way = np.clip(((at + 1) / CELLS - start) / max(1.0 - start, 1e-9), 0.0, 1.0)
        finals = self.finals(rates, observed, latent)
        metric = parts[METRIC].mean + way * (finals.centre[:, None] - parts[METRIC].mean[:, -1:])
        curves = [self._within(LOSS, parts[LOSS].mean, observed), self._within(METRIC, metric, observed)]
        deviations = np.sqrt(np.stack([part.variance for part in parts], axis=-1))
        deviations[..., METRIC] *= 1.0 + way * (finals.deviation[:, None] / deviations[:, -1:, METRIC] - 1.0)
        return np.stack(curves, axis=-1), deviations

    def _within(self, channel: int, curves: NDArray[np.float64], observed: Observed | None) -> NDArray[np.float64]:
        """Curves no further out than past runs ever were, with the margin that their finals have, or than this run."""
        part, past = (self.loss, self.metric)[channel], self.neighbours.stands[..., channel]
        low = min(part.low, float(past.min()) - (float(past[:, -1].min()) - part.low))
        high = max(part.high, float(past.max()) + (part.high - float(past[:, -1].max())))
        seen = observed.seen(channel) if observed else None
        if seen is not None:
            low, high = min(low, float(seen.values.min())), max(high, float(seen.values.max()))
        return np.clip(curves, low, high)
