"""What is foreseen for a job under way: the fan from now on, the plan's alternatives, and any schedule drawn by hand.

Comes in: a job, its curves, and the forecaster it steers by, found through its log. Goes out: a `Live` to draw, and
figures. Where the forecaster is not at hand, the plan and its forecast are drawn as the log has them; where it does not
know schedules, there is a fan but no what-if. The job itself is asked nothing.
"""

import dataclasses
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lodestar._errors import ForecasterError, LodestarError
from lodestar.forecaster import Context, Forecast, Forecaster, load
from lodestar.forecaster.known_schedules import judge, response_of, what_if
from lodestar.forecaster.response.history import CELLS
from lodestar.planning.compare import beyond
from lodestar.planning.plan import to_schedule
from lodestar.planning.space import Candidates, candidates
from lodestar.report.html.thin import corners
from lodestar.report.sections.live import Curve, Fan, Live
from lodestar.runs.run import Series
from lodestar.runs.store import RunStore
from lodestar.scheduler import Outcome
from lodestar.scheduler.checkpoint import fingerprint
from lodestar.scheduler.records.command import checked_value
from lodestar.schedules import parse
from lodestar.watch.jobs import Job

LEVELS = (0.5, 0.8)
_QUIET = (Outcome.KEPT, Outcome.NONE_ACCEPTED, Outcome.NO_CONSENSUS, Outcome.NOTHING_SEEN)
_KNOTS = 9  # of a schedule to be drawn by hand
_DRAWN = 128  # quasi-random schedules beside the families and past runs
_KEPT = 64  # outlooks


@dataclasses.dataclass(frozen=True)
class Alternative:
    """Another schedule for the rest of the run, and the final metric it is forecast to give."""

    name: str
    final: float
    lower: float
    upper: float
    curve: Curve

    def to_dict(self) -> dict[str, Any]:
        """Plain data, without the curve."""
        return {"name": self.name, "final": self.final, "lower": self.lower, "upper": self.upper}


@dataclasses.dataclass(frozen=True)
class View:
    """One job as it is shown: what to draw, and what stands beside it."""

    live: Live
    alternatives: Sequence[Alternative]
    plan: Alternative | None
    what_if: str  # why there is no what-if; empty where there is
    _ground: "_Ground | None" = dataclasses.field(default=None, repr=False)

    def by_hand(self, knots: Sequence[tuple[float, float]]) -> dict[str, Any]:
        """What a schedule through these knots would give from now on."""
        if self._ground is None:
            raise ForecasterError(self.what_if)
        ground = self._ground
        checked_value("take", knots)
        steps, lr = np.array(knots, float).T
        rates = ground.rates(steps, lr)
        if not rates[ground.first :].max() > 0:
            raise ValueError("a schedule must have a rate above zero somewhere. Fix: draw it higher")
        made = what_if(ground.forecaster, rates, ground.context, LEVELS[-1])
        final, lower, upper = made.final_metric
        fan = _fan(made, "metric", ground.total, {LEVELS[-1]: made})
        low, high = fan.ends[LEVELS[-1]]
        return {
            "final": final,
            "lower": lower,
            "upper": upper,
            "beyond": beyond(ground.forecaster, rates, ground.context),
            "knots": [list(knot) for knot in knots],
            "metric": {
                name: part.tolist() for name, part in zip(_PARTS, (fan.steps, fan.centre, low, high), strict=True)
            },
        }

    def family(self, words: str) -> list[tuple[float, float]]:
        """The rest of a schedule given in words, such as cosine:1e-3, as knots to draw."""
        rates = parse(words, self.live.total_steps)
        return [(step, rates.lr_at(round(step))) for step in _spread(self.live)]

    def planned_knots(self) -> list[tuple[float, float]]:
        """The plan from now on, as knots to draw."""
        steps, rates = self.live.plan
        return [(s, float(np.interp(s, steps, rates))) for s in _spread(self.live)] if len(steps) else []


_PARTS = ("x", "y", "low", "high")


@dataclasses.dataclass(frozen=True)
class _Ground:
    """What every forecast of one job stands on: in the forecaster's own rates, where the job's were rescaled."""

    forecaster: Forecaster
    choice: Candidates
    context: Context | None
    total: int
    now: int
    lr: Curve
    factor: float

    @property
    def first(self) -> int:
        return min(self.now * CELLS // self.total, CELLS - 1)

    def rates(self, steps: NDArray[np.float64], lr: NDArray[np.float64]) -> NDArray[np.float64]:
        """The whole run on cells: as it was, then these rates."""
        middles = (np.arange(CELLS) + 0.5) * self.total / CELLS
        past = np.interp(middles, *self.lr) if len(self.lr[0]) else np.zeros(CELLS)
        return self.factor * np.where(middles <= self.now, past, np.interp(middles, steps, lr))

    def rest(self, rates: NDArray[np.float64]) -> Curve:
        """A schedule on cells from now on, in the job's rates."""
        schedule = to_schedule(rates / self.factor, self.total)
        steps = np.unique(np.linspace(min(self.now + 1, self.total), self.total, 200).round())
        return corners(steps, [schedule.lr_at(int(step)) for step in steps], 60)


class Outlooks:
    """Views of jobs, kept while nothing new came. `model` stands in for forecasters that a log does not name."""

    def __init__(self, store: RunStore | None = None, model: Path | None = None):
        self._store, self._model = store, model
        self._views: dict[str, tuple[str, View]] = {}
        self._foreseen: dict[str, tuple[object, View]] = {}
        self._forecasters: dict[str, Forecaster | str] = {}
        self._choices: dict[int, Candidates] = {}  # by the forecaster, each of which is kept above
        self._lock = threading.Lock()

    def of(self, job: Job) -> View:
        """The job as it is shown now."""
        with self._lock:
            known = self._views.get(job.id)
            if known is None or known[0] != job.version:
                known = (job.version, self._view(job))
                self._views = {**dict(list(self._views.items())[-_KEPT:]), job.id: known}
            return known[1]

    def _view(self, job: Job) -> View:
        decisions, total = job.steered.log.decisions, job.steered.total_steps
        curves = job.curves(self._store)
        marked = [d for d in decisions if d.outcome not in _QUIET]
        drawn = (curves["loss"], curves["metric"], curves["lr"])
        live = Live(job.steered.metric, total, *drawn, plan=_planned(job), decisions=marked)
        forecaster = self._forecaster(job)
        if isinstance(forecaster, str) or job.step >= total:
            over = "the run is over" if job.step >= total else str(forecaster)
            return View(dataclasses.replace(live, fans={} if job.step >= total else _logged_fans(job)), (), None, over)
        # A forecast sees whole points of the grid: between two of them, and without a decision, it stays as it is.
        key = (job.id, len(decisions), decisions[-1].step, total, job.step * forecaster.points // total)
        if self._foreseen.get(job.id, (None,))[0] != key:
            self._foreseen[job.id] = (key, self._forecast(job, live, forecaster))
        seen = self._foreseen[job.id][1]
        return dataclasses.replace(
            seen, live=dataclasses.replace(live, fans=seen.live.fans, alternatives=seen.live.alternatives)
        )

    def _forecast(self, job: Job, live: Live, forecaster: Forecaster) -> View:
        factor, total = job.last.rescale or 1.0, live.total_steps
        try:
            context = _context(forecaster, live, factor)
            if id(forecaster) not in self._choices:
                self._choices[id(forecaster)] = candidates(forecaster, count=_DRAWN)
            choice = self._choices[id(forecaster)]
            return _foreseen(live, _Ground(forecaster, choice, context, total, job.step, live.lr, factor))
        except (LodestarError, ValueError) as error:
            return View(dataclasses.replace(live, fans=_logged_fans(job)), (), None, str(error))

    def _forecaster(self, job: Job) -> Forecaster | str:
        """The one the job steers by, or why it is not at hand."""
        stated = job.steered.log.header.get("forecaster")
        stated = stated if isinstance(stated, dict) else {}
        file = self._model or stated.get("file")
        if not isinstance(file, str | Path):
            return "the log does not say which forecaster file the job steers by. Fix: lodestar watch --model FILE"
        key = str(file)
        if key not in self._forecasters:
            try:
                self._forecasters[key] = load(file)
            except (LodestarError, OSError) as error:
                self._forecasters[key] = f"the job's forecaster is not at hand: {error}"
        found = self._forecasters[key]
        if isinstance(found, Forecaster) and stated.get("mark") not in (None, fingerprint(found)):
            return f"{key} is not the forecaster the job steers by. Fix: lodestar watch --model FILE with that one"
        return found


def _foreseen(live: Live, ground: _Ground) -> View:
    """The fan of the plan and its alternatives where the forecaster knows schedules, else the latent ODE's fan."""
    forecaster, context = ground.forecaster, ground.context
    if forecaster.response is None or not len(live.plan[0]):
        if context is None:
            return View(live, (), None, _no_response(forecaster))
        by_level = {level: forecaster.forecast(context, level) for level in LEVELS}
        fans = {name: _fan(by_level[0.8], name, ground.total, by_level) for name in ("loss", "metric")}
        return View(dataclasses.replace(live, fans=fans), (), None, _no_response(forecaster))
    rates = ground.rates(*live.plan)
    by_level = {level: what_if(forecaster, rates, context, level) for level in LEVELS}
    fans = {name: _fan(by_level[0.8], name, ground.total, by_level) for name in ("loss", "metric")}
    plan, *others = _alternatives(ground, rates)
    drawn = [(other.name, other.curve) for other in others]
    return View(dataclasses.replace(live, fans=fans, alternatives=drawn), others, plan, "", ground)


def _alternatives(ground: _Ground, plan: NDArray[np.float64]) -> list[Alternative]:
    """The plan, half and twice its rates, the best plain family and the best past run's schedule."""
    choice = ground.choice
    rates = np.concatenate([np.array([1.0, 0.5, 2.0])[:, None] * plan, choice.rates])
    judged = judge(ground.forecaster, rates, ground.context)
    names = {0: "the plan", 1: "half the rate", 2: "twice the rate"}
    for kind in ("family", "past run"):
        places = 3 + choice.of(kind)
        if len(places):
            best = int(places[np.argmax(judged.merit[places])])
            name, _, peak = choice.names[best - 3].partition(":")
            names[best] = f"{name}, peak {float(peak):.3g}" if kind == "family" else f"as {choice.names[best - 3]} did"
    figures = np.stack([judged.centre, judged.lower, judged.upper], axis=1).tolist()
    return [Alternative(name, *figures[place], curve=ground.rest(rates[place])) for place, name in names.items()]


def _context(forecaster: Forecaster, live: Live, factor: float) -> Context | None:
    loss, metric, lr = Series(*live.loss), Series(*live.metric), Series(live.lr[0], factor * live.lr[1])
    return forecaster.context(loss, metric, lr, live.total_steps) if len(loss) or len(metric) else None


def _fan(centre: Forecast, channel: str, total: int, by_level: Mapping[float, Forecast]) -> Fan:
    first = max(centre.seen[1] - 1, 0)
    kept = np.unique(np.linspace(first, len(centre.times) - 1, 60).round().astype(int))
    ends = {level: (getattr(f, channel).lower[kept], getattr(f, channel).upper[kept]) for level, f in by_level.items()}
    return Fan(centre.steps(total)[kept].astype(float), getattr(centre, channel).centre[kept], ends)


def _logged_fans(job: Job) -> dict[str, Fan]:
    """As the last decision has them; the interval opens from nothing now to what was forecast for the end."""
    ahead, decision = job.last.ahead, job.forecast
    if not ahead:
        return {}
    fans = {}
    for place, name in ((2, "loss"), (3, "metric")):
        rows = np.array([(row[0], row[place]) for row in ahead if row[place] is not None], float).reshape(-1, 2)
        if not len(rows):
            continue
        ends = {}
        interval = job.row()["interval"]
        if name == "metric" and decision is not None and interval is not None:
            opened = (rows[:, 0] - rows[0, 0]) / max(rows[-1, 0] - rows[0, 0], 1.0)
            ends = {0.8: tuple(rows[:, 1] + opened * (end - rows[-1, 1]) for end in interval)}
        fans[name] = Fan(rows[:, 0], rows[:, 1], ends)
    return fans


def _planned(job: Job) -> Curve:
    ahead = [row for row in job.last.ahead if row[0] >= job.step]
    return np.array([row[0] for row in ahead], float), np.array([row[1] for row in ahead], float)


def _spread(live: Live) -> list[float]:
    now = min(live.now + 1, live.total_steps)
    return [float(step) for step in np.unique(np.linspace(now, live.total_steps, _KNOTS).round())]


def _no_response(forecaster: Forecaster) -> str:
    try:
        response_of(forecaster)
    except ForecasterError as error:
        return str(error)
    return "the log holds no plan to the end of the run: it is of an older Lodestar, or the gate is closed"
