"""The exam: which runs a forecaster is tested on, and which of its members may speak on each.

Comes in: a forecaster and runs. Goes out: those runs as arrays, smoothed and raw, and forecasts of them. A run that a
member learned from proves nothing about that member, so by default only runs the fit held out, each by the members that
never saw it, and runs new to the forecaster are tested; if it learned from every one, all are, and a note says so.
"""

import dataclasses
import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from lodestar._errors import PrepareError
from lodestar.fitting.dataset import Prepared
from lodestar.fitting.scale_law import prepared_for, scale_at
from lodestar.forecaster.forecast import Context
from lodestar.forecaster.forecaster import Forecaster
from lodestar.forecaster.preprocessing.normaliser import METRIC
from lodestar.forecaster.scale_law import ScaleLaw
from lodestar.runs.run import Run

Which = Literal["unseen", "all"]
_BLOCK = 64  # runs decoded at a time
PAPER_EPOCHS = 60


@dataclasses.dataclass(frozen=True)
class SomeRuns:
    """Some of the runs, as often as needed."""

    runs: Iterable[Run]
    wanted: Callable[[Run], bool]

    def __iter__(self) -> Iterator[Run]:
        return filter(self.wanted, self.runs)


@dataclasses.dataclass(frozen=True)
class Seen:
    """Forecasts in model units after the first `stop` points of each run; NaN for a run with nothing logged yet."""

    stop: int
    centre: NDArray[np.float64]  # (runs, points, 3): mean of the members that may speak
    disagreement: NDArray[np.float64]  # (runs, points, 3): spread over all members, which widens the intervals


@dataclasses.dataclass(frozen=True)
class Exam:
    """Runs under test. `speakers` (runs, members): who may forecast which; `raw` as logged, user's units."""

    forecaster: Forecaster
    data: Prepared
    raw: NDArray[np.float64]
    speakers: NDArray[np.bool_]
    hidden: tuple[frozenset[str], ...]  # for each run, the past runs no rival may look at
    epochs: float
    notes: tuple[str, ...]

    def stop(self, fraction: float) -> int:
        """How many points a fraction is; never none."""
        return max(1, round(fraction * self.data.recipe.points))

    def contexts(self, fraction: float) -> list[Context]:
        """The beginning of every run."""
        stop = self.stop(fraction)
        return [Context(v[:stop], m[:stop], 0) for v, m in zip(self.data.values, self.data.mask, strict=True)]

    def latents(self, fraction: float) -> NDArray[np.float64]:
        """z0 of every run from its beginning: (members, runs, latent)."""
        return self.forecaster.encode(*self.contexts(fraction))

    def forecast(self, fraction: float, tolerance: float | None = None) -> Seen:
        """Every run from its beginning, by the forecaster's own solver or by Tsit5 at a tolerance."""
        latents = self.latents(fraction)
        parts = [self._decode(latents[:, i : i + _BLOCK], tolerance) for i in range(0, len(self.data), _BLOCK)]
        raw = np.concatenate(parts, axis=1)
        voice = self.speakers.T[:, :, None, None]
        centre = np.where(voice, raw, 0.0).sum(axis=0) / voice.sum(axis=0)
        stop = self.stop(fraction)
        centre[~self.data.mask[:, :stop].any(axis=(1, 2))] = np.nan
        return Seen(stop, centre, raw.std(axis=0))

    def natural(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Model units to the user's."""
        return self.data.recipe.normaliser.inverse(values)

    def last_metric(self) -> NDArray[np.int64]:
        """The point of each run's last logged metric."""
        return self.data.mask.shape[1] - 1 - np.argmax(self.data.mask[:, ::-1, METRIC], axis=1)

    def finals(self, curves: NDArray[np.float64]) -> NDArray[np.float64]:
        """The metric of each run's curve (runs, points, 3) where its last metric was logged."""
        return curves[np.arange(len(self.data)), self.last_metric(), METRIC]

    def _decode(self, latents: NDArray[np.float64], tolerance: float | None) -> NDArray[np.float64]:
        network, times = self.forecaster.network, self.forecaster.times
        if tolerance is None:
            return network.decode(latents, times)
        return network.read(network.trace(latents, times, tolerance)[0])


def make_exam(forecaster: Forecaster, runs: Iterable[Run], which: Which = "unseen", most: int = 200) -> Exam:
    """Choose the runs, prepare them as the forecaster's own were, and work out who may speak."""
    if which not in ("unseen", "all"):
        raise ValueError(f"which must be 'unseen' or 'all', got {which!r}")
    again = tuple(runs) if isinstance(runs, Iterator) else runs
    names = [run.name for run in again]
    folds = [frozenset(fold) for fold in forecaster.facts.get("held_out", [])]
    held = frozenset(itertools.chain.from_iterable(folds))
    learned = frozenset(forecaster.facts.get("names", forecaster.references.names)) - held
    fair, chosen = _choose(names, learned, which, most)
    wanted = set(chosen)
    tested = [run for run in again if run.name in wanted]
    data = prepared_for(forecaster, tested)
    notes = [_account(names, fair, chosen, data, held, learned), *_flattery(names, learned.intersection(chosen))]
    speakers = _speakers(data.names, folds, forecaster.members)
    if forecaster.law and forecaster.law.learned:
        at = ", ".join(f"{q.name.replace('_', ' ')} {q.reference:.4g}" for q in forecaster.law.quantities if q.learned)
        notes.append(f"Runs of several sizes: every figure is in the units of one reference job ({at}).")
    if held.intersection(data.names):
        notes.append("The intervals were measured on some of these runs: their coverage is right by construction here.")
    hidden = _hidden(data.names, folds, which)
    return Exam(forecaster, data, _raw(tested, data, forecaster.law), speakers, hidden, _epochs(tested), tuple(notes))


def _choose(names: Sequence[str], learned: frozenset[str], which: Which, most: int) -> tuple[list[str], list[str]]:
    """The names that may be tested, and those of them that are."""
    if not names:
        raise PrepareError("there is no run to evaluate on. Fix: check the path of the runs, or the filter")
    apart = [name for name in names if name not in learned]
    fair = apart if which == "unseen" and apart else list(names)
    if len(fair) <= most:
        return fair, fair
    return fair, [fair[i] for i in np.linspace(0, len(fair) - 1, most).round().astype(int)]


def _account(
    names: Sequence[str],
    fair: Sequence[str],
    chosen: Sequence[str],
    data: Prepared,
    held: frozenset[str],
    learned: frozenset[str],
) -> str:
    """How many runs are tested, and what became of every other one: the counts add up."""
    own, known = len(held.intersection(data.names)), len(learned.intersection(data.names))
    parts = {"held out by the fit": own, "it never saw": len(data) - own - known}
    parts |= {"it learned from": known} if known else {}
    text = f"Tested on {len(data)} of {len(names)} runs: {', '.join(f'{n} {what}' for what, n in parts.items())}."
    others = {
        "the fit learned from": len(names) - len(fair),
        "to keep it short (an even choice, --most changes it)": len(fair) - len(chosen),
        "excluded, each with its reason": len(data.excluded),
    }
    left = ", ".join(f"{n} {what}" for what, n in others.items() if n)
    return f"{text} Not tested: {left}." if left else text


def _flattery(names: Sequence[str], known: frozenset[str]) -> list[str]:
    if not known:
        return []
    return [
        f"The fit learned from {len(known)} of these {len(names)} runs: the figures flatter it. "
        "Fix: test on runs it never saw, or fit with --hold-out or --leave-seed."
    ]


def _speakers(names: Sequence[str], folds: Sequence[frozenset[str]], members: int) -> NDArray[np.bool_]:
    """(runs, members): those that held the run out; everyone where nobody did."""
    table = np.zeros((len(names), members), dtype=bool)
    for member, fold in enumerate(folds[:members]):
        table[:, member] = [name in fold for name in names]
    return np.where(table.any(axis=1, keepdims=True), table, True)


def _hidden(names: Sequence[str], folds: Sequence[frozenset[str]], which: Which) -> tuple[frozenset[str], ...]:
    """What the forecaster could not learn from either: the folds that held the run out; else the runs under test."""
    found = []
    for name in names:
        kept_from = [fold for fold in folds if name in fold]
        new = frozenset([name]) if which == "all" else frozenset(names)
        found.append(frozenset().union(*kept_from) if kept_from else new)
    return tuple(found)


def _raw(runs: Iterable[Run], data: Prepared, law: ScaleLaw | None) -> NDArray[np.float64]:
    """The same points without smoothing, user's units; of runs of several sizes, the reference job's."""
    rough = dataclasses.replace(data.recipe, smoothing=0.0)
    made = {run.name: rough.to_points(run.loss, run.metric, run.lr, run.total_steps).values for run in runs}
    values = np.stack([made[name] for name in data.names])
    if law is None or not law.learned:
        return values
    home = data.recipe.normaliser
    turned = [law.normaliser(home, scale_at(data.scales, run)).forward(values[run]) for run in range(len(data))]
    return home.inverse(np.stack(turned))


def _epochs(runs: Sequence[Run]) -> float:
    """Epochs of a run: the middle of what the runs state, else the paper's."""
    stated = [run.facts.extra.get("epochs") for run in runs]
    known = [float(n) for n in stated if isinstance(n, int | float) and math.isfinite(n) and n >= 1]
    return float(np.median(known)) if known else float(PAPER_EPOCHS)
