"""The forecaster: what a fit leaves behind and a training job loads. NumPy only.

Comes in: a file, then contexts (the observed part) of a live or stored run. Goes out: forecasts of the whole run with
intervals, and latents and decoded ensembles for the scheduler. It does its own smoothing and resampling (the recipe of
its training runs).
"""

import dataclasses
import functools
import os
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lodestar._errors import ForecasterError
from lodestar._extras import picture
from lodestar.forecaster.architecture import TOKEN_FEATURES, Architecture
from lodestar.forecaster.axes import DecodedCurves, Latents, MemberFinals, MemberSpread, PointValues, Times
from lodestar.forecaster.file import damaged, read, write
from lodestar.forecaster.forecast import Context, Forecast, Interval
from lodestar.forecaster.intervals import LEVELS, SEEN, TARGETS, Intervals
from lodestar.forecaster.job import KnownJob, known_job
from lodestar.forecaster.network import Network, weight_shapes
from lodestar.forecaster.preprocessing.recipe import LR, METRIC, Recipe
from lodestar.forecaster.reference_runs import ReferenceRuns
from lodestar.forecaster.response.history import on_cells
from lodestar.forecaster.response.pack import pack, unpack
from lodestar.forecaster.response.response import Response
from lodestar.forecaster.scale_law import ScaleLaw
from lodestar.forecaster.tokens import context_tokens, schedule_bins, schedule_tokens
from lodestar.runs.run import Direction, Run, Series


@dataclasses.dataclass(frozen=True)
class Trajectories:
    """Decoded runs in the user's units."""

    loss: DecodedCurves
    metric: DecodedCurves
    lr: DecodedCurves


@dataclasses.dataclass(frozen=True)
class Ranges:
    """What the training runs did: lowest and highest of each channel at each point, model units; rates."""

    low: PointValues
    high: PointValues
    lr_min: float  # the lowest non-zero rate any training run used
    lr_max: float  # the highest rate any training run survived


@dataclasses.dataclass(frozen=True)
class Forecaster:
    """A fitted latent ODE (or an ensemble of several) with everything a job needs to use it."""

    network: Network
    recipe: Recipe
    spread: MemberSpread  # the spread of training latents, the unit of the noise
    references: ReferenceRuns
    ranges: Ranges
    intervals: Intervals
    facts: Mapping[str, Any]  # how it was fitted: runs, preset, seed, updates, metric name, ...
    quality: Mapping[str, Any]  # figures on held-out runs
    response: Response | None = None  # forecasts known schedules; None in a file that has no such part
    law: ScaleLaw | None = None  # over size, batch and length; None where past runs state none of them
    rate_factor: float = 1.0  # a rate of the job times this is one of the reference job, whose units the model has
    rate_doubt: float = 0.0  # one deviation of its logarithm
    level_doubt: float = 0.0  # one deviation of the logarithm of how far the metric comes from where it begins
    placed: bool = False  # the job's size is stated, and past runs of several sizes say what it does

    def _repr_html_(self) -> str | None:
        return picture(self)

    @property
    def points(self) -> int:
        """Points in a whole run."""
        return self.recipe.points

    @property
    def direction(self) -> Direction:
        """Whether the metric is to be maximised or minimised."""
        return self.recipe.direction

    @property
    def members(self) -> int:
        """How many forecasters the ensemble has."""
        return self.network.members

    @functools.cached_property
    def job(self) -> KnownJob:
        """What it knows of the job its training runs did."""
        ranges = self.ranges
        return known_job(self.facts, self.recipe, ranges.low, ranges.high, (ranges.lr_min, ranges.lr_max))

    def for_job(self, job: Mapping[str, float | None]) -> "Forecaster":
        """The same forecaster in the units of a job of another size, batch or length: its rates, loss and metric.

        `job` states quantities of the law by name (width, parameters, batch_size, total_steps); one that it does not
        state is taken to be as in the reference job.
        """
        if self.law is None:
            return self
        if self.rate_factor != 1.0:
            raise ValueError("for_job must be called on the forecaster as it was loaded, got one turned to a job")
        factor, ranges = self.law.factor(job), self.ranges
        rates = {"lr_min": ranges.lr_min / factor, "lr_max": ranges.lr_max / factor}
        peaks = self.facts.get("peak_lr")
        scaled = {"peak_lr": [peak / factor for peak in peaks]} if isinstance(peaks, list) else {}
        return dataclasses.replace(
            self,
            recipe=dataclasses.replace(self.recipe, normaliser=self.law.normaliser(self.recipe.normaliser, job)),
            ranges=dataclasses.replace(ranges, **rates),
            facts={**self.facts, **scaled},
            rate_factor=factor,
            rate_doubt=self.law.doubt(job),
            level_doubt=self.law.gain_doubt(job),
            placed=self.law.places(job),
        )

    @property
    def times(self) -> Times:
        """The fractions of the run at which the points stand."""
        return np.arange(1, self.points + 1) / self.points

    def context(
        self,
        loss: Series,
        metric: Series,
        lr: Series,
        total_steps: int,
        *,
        start: int = 0,
        stop: int | None = None,
    ) -> Context:
        """Raw series on the grid, smoothed and normalised, cut to points [start, stop) (default: all that was seen)."""
        on_grid = self.recipe.to_points(loss, metric, lr, total_steps)
        seen = np.flatnonzero(on_grid.mask.any(axis=1))
        last = int(seen[-1]) + 1 if len(seen) else 0
        stop = last if stop is None else min(stop, last)
        if stop <= start:
            raise ForecasterError(f"no point between {start} and {stop} was observed: log some steps first")
        if not on_grid.mask[start:stop, :LR].any():
            raise ForecasterError(_from_nothing(start, stop, on_grid.mask))
        values = self.recipe.normalised(on_grid)
        return Context(values[start:stop], on_grid.mask[start:stop], start)

    def context_of(self, run: Run, fraction: float = 1.0) -> Context:
        """The first `fraction` of a stored run."""
        if not 0 < fraction <= 1:
            raise ValueError(f"fraction must be in (0, 1], got {fraction}")
        stop = max(1, round(fraction * self.points))
        return self.context(run.loss, run.metric, run.lr, run.total_steps, stop=stop)

    piece, piece_of = context, context_of  # their names in release one

    def encode(self, *contexts: Context) -> Latents:
        """z0 of each context."""
        made = [context_tokens(p.values, p.mask, p.start, self.points, self.network.shape.tokens) for p in contexts]
        return self.network.encode(np.stack([t for t, _ in made]), np.stack([v for _, v in made]))

    @property
    def reads_schedules(self) -> bool:
        """Whether its latent ODE was taught to see a schedule that is known to its end."""
        return self.network.shape.schedules

    def encode_known(self, rates: NDArray[np.float64], *contexts: Context) -> Latents:
        """z0 of runs with these learning rates (n, any length), known to their end, in the user's units.

        An equal part of the run for each entry. `contexts`: what was seen of one run, which goes on under each of them,
        or of n runs, one for each; none: nothing was seen.
        """
        if not self.reads_schedules:
            raise ForecasterError(
                "this forecaster's latent ODE reads no known schedules: no fit taught it to. "
                "Fix: lodestar fit RUNS -o forecaster.lodestar --set known=0.6"
            )
        bins = self.network.shape.tokens
        made = schedule_tokens(schedule_bins(on_cells(rates), self.recipe.normaliser.lr, bins))
        schedules = self.network.read_schedules(made)
        if contexts:
            return self.encode(*contexts) + schedules
        return self.network.encode(np.zeros((1, bins, TOKEN_FEATURES)), np.zeros((1, bins), bool)) + schedules

    def known_finals(self, rates: NDArray[np.float64], *contexts: Context) -> MemberFinals:
        """The final metric under these schedules by each member of the latent ODE, in model units."""
        return self.network.decode(self.encode_known(rates, *contexts), np.ones(1))[:, :, 0, METRIC]

    def decode(self, z0: Latents, times: Times | None = None) -> Trajectories:
        """Whole runs in the user's units from latents; default: at every point."""
        raw = self.network.decode(z0, self.times if times is None else times)
        channels = self.recipe.normaliser
        return Trajectories(
            channels.loss.inverse(raw[..., 0]), channels.metric.inverse(raw[..., 1]), channels.lr.inverse(raw[..., 2])
        )

    def forecast(self, context: Context, level: float = 0.8) -> Forecast:
        """The whole run from a context, with intervals meant to hold `level` of such runs."""
        raw = self.network.decode(self.encode(context), self.times)[:, 0]
        centre, spread = raw.mean(axis=0), raw.std(axis=0)
        lower, upper = self.intervals.around(centre, spread, context.stop / self.points, self.times, level)
        back = [self.recipe.normaliser.shown(part) for part in (centre, lower, upper)]
        loss, metric, lr = (Interval(*(part[:, channel] for part in back)) for channel in range(3))
        return Forecast(self.times, loss, metric, lr, level, (context.start, context.stop))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the file: to a temporary name, then renamed."""
        if self.rate_factor != 1.0:
            raise ValueError("a forecaster must be saved as it was fitted, got one turned to a job (for_job)")
        tensors = {f"weights.{name}": value for name, value in self.network.weights.items()}
        tensors |= {
            "latent.spread": self.spread,
            "library.values": self.references.values.astype(np.float32),
            "library.mask": self.references.mask,
            "library.merit": self.references.merit,
            "ranges.low": self.ranges.low,
            "ranges.high": self.ranges.high,
            "bands.low": self.intervals.low,
            "bands.high": self.intervals.high,
            "bands.typical": self.intervals.typical,
        }
        if self.intervals.good is not None:
            tensors["bands.good"] = self.intervals.good
        arrays, plain = pack(self.response) if self.response else ({}, None)
        tensors |= {f"response.{name}": value for name, value in arrays.items()}
        header = {
            "response": plain,
            "architecture": self.network.shape.to_dict(),
            "recipe": self.recipe.to_dict(),
            "lr_min": self.ranges.lr_min,
            "lr_max": self.ranges.lr_max,
            "library": list(self.references.names),
            "facts": dict(self.facts),
            "scale_law": self.law.to_dict() if self.law else None,
            "quality": dict(self.quality),
        }
        write(path, tensors, header)


def _from_nothing(start: int, stop: int, mask: NDArray[np.bool_]) -> str:
    """Why there is no forecast where neither loss nor metric was logged."""
    points = len(mask)
    later = np.flatnonzero(mask[stop:, :LR].any(axis=1))
    where = (
        f"the first {stop / points:.1%}"
        if start == 0
        else f"this stretch ({start / points:.1%} to {stop / points:.1%})"
    )
    first = f"the first stands at {(stop + later[0] + 1) / points:.1%} of the run" if len(later) else "none came later"
    return (
        f"neither loss nor metric was logged in {where} of the run, so there is nothing to forecast from ({first}). "
        "Fix: show it more of the run (--seen), or log from the first step on"
    )


def load(path: str | os.PathLike[str]) -> Forecaster:
    """Read a forecaster file."""
    tensors, header = read(path)
    try:
        return _assemble(tensors, header)
    except ForecasterError as error:
        raise ForecasterError(f"{path}: {error}") from error
    except Exception as error:
        raise damaged(path, error) from error


def _assemble(tensors: Mapping[str, NDArray], header: Mapping[str, Any]) -> Forecaster:
    shape = Architecture.from_dict(header["architecture"])
    recipe = Recipe.from_dict(header["recipe"])
    network = Network(shape, {name: tensors[f"weights.{name}"] for name in weight_shapes(shape)})
    names, rates = header["library"], (header["lr_min"], header["lr_max"])
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise ValueError("the names of its reference runs are no list of texts")
    if not all(isinstance(rate, float | int) for rate in rates) or not 0 <= rates[0] <= rates[1] > 0:
        raise ValueError(f"its runs' rates are from {rates[0]!r} to {rates[1]!r}")
    if not isinstance(header["facts"], dict) or not isinstance(header["quality"], dict):
        raise ValueError("its facts or its quality are no table")
    _check_arrays(tensors, _array_shapes(network, recipe.points, len(names)))
    return Forecaster(
        network=network,
        recipe=recipe,
        spread=tensors["latent.spread"],
        references=ReferenceRuns(
            tuple(names),
            tensors["library.values"].astype(np.float64),
            tensors["library.mask"],
            tensors["library.merit"],
        ),
        ranges=Ranges(tensors["ranges.low"], tensors["ranges.high"], float(rates[0]), float(rates[1])),
        intervals=Intervals(
            tensors["bands.low"], tensors["bands.high"], tensors["bands.typical"], tensors.get("bands.good")
        ),
        facts=header["facts"],
        quality=header["quality"],
        response=_response(tensors, header.get("response")),
        law=ScaleLaw.from_dict(law) if (law := header.get("scale_law")) is not None else None,
    )


def _response(tensors: Mapping[str, NDArray], plain: Mapping[str, Any] | None) -> Response | None:
    """The part that knows schedules; files of release one have none."""
    head = "response."
    return (
        unpack({name[len(head) :]: t for name, t in tensors.items() if name.startswith(head)}, plain) if plain else None
    )


def _array_shapes(network: Network, points: int, runs: int) -> dict[str, tuple[int, ...]]:
    """Every array of a file but the weights, which the network checks itself."""
    table = (len(SEEN), len(TARGETS), 3)
    return {
        "latent.spread": (network.members, network.shape.latent),
        **dict.fromkeys(("library.values", "library.mask"), (runs, points, 3)),
        "library.merit": (runs,),
        **dict.fromkeys(("ranges.low", "ranges.high"), (points, 3)),
        **dict.fromkeys(("bands.low", "bands.high"), (len(LEVELS), *table)),
        "bands.typical": table,
        "bands.good": (2, len(LEVELS), len(SEEN)),
    }


def _check_arrays(tensors: Mapping[str, NDArray], shapes: Mapping[str, tuple[int, ...]]) -> None:
    for name, shape in shapes.items():
        if name == "bands.good" and name not in tensors:  # not every fit measures it
            continue
        array, kind = tensors[name], "b" if name == "library.mask" else "f"
        if array.shape != shape or array.dtype.kind != kind:
            raise ValueError(f"array {name!r} must be {kind} of shape {shape}, got {array.dtype} of {array.shape}")
        if not np.all(np.isfinite(array)):
            raise ValueError(f"array {name!r} holds a value that is not finite")
