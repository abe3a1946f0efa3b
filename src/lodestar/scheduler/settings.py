"""Settings: every choice the scheduler leaves open, with its rule, and the two presets.

`PAPER` is Algorithm 1 as printed. `DEFAULT` is what steered better in measurement: the plan made at step 0 is kept
unless candidates beat its own forecast, candidates come from past runs as well as from noise, a match must be near the
present, and a plan is not replaced in a job where past runs are no guide. Names are words: window (the paper's mu),
samples (n), noise (sigma), horizon (delta t). The names of release one are accepted, and are what files hold.
"""

import dataclasses
import difflib
import functools
import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal

from lodestar.scheduler.steps.accept import ACCEPTANCE
from lodestar.scheduler.steps.average import MEANS
from lodestar.scheduler.steps.candidates import SOURCES, Source
from lodestar.scheduler.steps.matching import RULES, Rule
from lodestar.scheduler.steps.perturb import UNITS
from lodestar.scheduler.steps.plain_plan import checked_words
from lodestar.scheduler.steps.score import SCORES

Preset = Literal["default", "paper"]

CONTEXTS = ("window", "all")
INITIAL_PLANS = ("auto", "search", "whole", "first-window")
JUDGED = ("schedules", "latents")
OLD_NAMES = {"opening": "initial_plan", "opening_runs": "initial_runs", "piece": "context", "gear": "rescale"}
OLD_SOURCES = {"library": "references"}
RESCALED_BY = ("law", "run")
AS_EVER = {  # what release one did, which had no such settings: files hold them only where they are otherwise
    "acceptance": "two-sided",
    "tolerance_points": None,
    "noise_unit": "spread",
    "hold": None,
    "least_near": None,
    "rescale_by": "run",
}


@dataclasses.dataclass(frozen=True)
class Settings:
    """How one decision is made. Lengths are fractions of the run."""

    initial_plan: str = "auto"  # "whole": of the best past runs; "search" of schedules, as for a job of another size
    judge: str = "latents"  # Algorithm 1; or "schedules" for the rest of the run, where the forecaster knows them
    initial_runs: int = 5  # how many of the best are averaged in it
    window: float = 0.05  # a decision every so often; what is encoded
    context: str = "window"  # encode the last window, or all that was seen
    samples: int = 30  # candidates in all, shared out evenly over the sources
    candidates: tuple[str, ...] = tuple(SOURCES)
    noise: float = 0.3  # in units of the spread of the training latents, per dimension
    noise_unit: str = "spread"  # or of the "latent" itself: |z0|, per dimension
    acceptance: str = "two-sided"  # a loss matches near the live one; "one-sided": also anywhere below it
    tolerance: float = 2.0  # a loss matches within so many standard deviations of the window's losses
    tolerance_points: int | None = None  # of so many losses at the window's end alone; None: of all
    least_tolerance: float = 0.05  # but never asks for more than this, in standard deviations of the training losses
    matching: str = "nearest"
    reach: float = 0.1  # "nearest" looks so far from the present, either way
    horizon: float | None = None  # score the metric so far ahead; None: at the end of the run
    score: str = "consensus"
    average: int = 3  # how many of the best are averaged
    mean: str = "log"  # of learning rates: "log" (geometric) or "arithmetic"
    hold: float | None = None  # a chosen schedule is followed so long before another may be; None: one window
    hysteresis: float | None = 0.3  # keep the plan unless beaten by so many standard deviations; None: always replan
    least_near: float | None = 0.8  # replan only if in such a share of all decisions a tenth of the candidates was near
    rescale: float | None = 8.0  # the largest factor a plan's rates may be divided or multiplied by; None: never
    rescale_by: str = "law"  # only a job that the law over sizes has placed; "run": any that begins unlike past runs
    unlike: float = 4.0  # rescale if the run is forecast so many times worse than past runs are
    spike: float | None = 1.5  # the guard acts on such a jump of the loss, in standard deviations; None: never
    cut: float = 0.5  # and multiplies the learning rate by this for one window

    def __post_init__(self):
        if isinstance(self.candidates, str):
            object.__setattr__(self, "candidates", (self.candidates,))
        object.__setattr__(self, "candidates", tuple(OLD_SOURCES.get(source, source) for source in self.candidates))
        _within("window", self.window, 0, 0.5, "a fraction of the run, for example 0.05")
        _within("reach", self.reach, 0, 1, "a fraction of the run, for example 0.1")
        if self.horizon is not None:
            _within("horizon", self.horizon, 0, 1, "a fraction of the run, or None for the rest of the run")
        if self.hold is not None:
            _within("hold", self.hold, 0, 1, "1 for the rest of the run, or None for one window")
        if self.tolerance_points is not None:
            _whole("tolerance_points", self.tolerance_points, 2, "3 is the released code's, None takes all")
        _whole("samples", self.samples, 1, "30 is the paper's")
        _whole("average", self.average, 1, "3 is the paper's")
        _whole("initial_runs", self.initial_runs, 1, "1 is the paper's")
        _at_least_zero("noise", self.noise, "0.15 is the paper's, 0 turns the noise off")
        _at_least_zero("least_tolerance", self.least_tolerance, "0 turns the floor off")
        _positive("tolerance", self.tolerance, "2 is the paper's")
        if self.hysteresis is not None:
            _at_least_zero("hysteresis", self.hysteresis, "None always replans")
        if self.least_near is not None:
            _within("least_near", self.least_near, 0, 1, "0.8 is usual, None replans whatever was found before")
        if self.rescale is not None and not _number("rescale", self.rescale, "None never rescales") > 1:
            raise ValueError(f"rescale must be above 1, got {self.rescale!r}. Fix: 8 is usual, None never rescales")
        _at_least_zero("unlike", self.unlike, "4 is usual")
        if self.spike is not None:
            _positive("spike", self.spike, "None turns the guard off")
        _within("cut", self.cut, 0, 1, "0.5 halves the learning rate")
        words = {"matching": RULES, "score": SCORES, "mean": MEANS, "context": CONTEXTS}
        words |= {"rescale_by": RESCALED_BY, "judge": JUDGED, "acceptance": ACCEPTANCE, "noise_unit": UNITS}
        for name, known in words.items():
            one_of(name, getattr(self, name), tuple(known))
        checked_words("initial_plan", self.initial_plan, INITIAL_PLANS)
        _sources(self.candidates)
        if self.samples < len(self.candidates):
            raise ValueError(
                f"samples must be at least 1 for each of the {len(self.candidates)} candidate sources, got "
                f"{self.samples}. Fix: raise samples, or name fewer sources in candidates"
            )

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            if name in OLD_NAMES:
                return getattr(self, OLD_NAMES[name])
            raise AttributeError(f"settings have no {name!r}")

    def judges_schedules(self, forecaster: Any) -> bool:
        """Whether decisions are made among schedules, which takes a forecaster that knows them."""
        return self.judge == "schedules" and forecaster.response is not None

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "Settings":
        """Of what `to_dict` gave, here or in release one."""
        return cls(**(AS_EVER | dict(data)))

    def window_points(self, points: int) -> int:
        """The window on a grid of `points`: at least one point."""
        return max(1, round(self.window * points))

    def horizon_points(self, points: int, seen: int) -> int:
        """How far ahead of the match the metric is read, in points; the rest of the run by default."""
        return points - seen if self.horizon is None else max(1, round(self.horizon * points))

    def holds(self, start: int, seen: int, points: int) -> bool:
        """Whether the schedule chosen at point `start` may not be replaced yet; the initial plan always may."""
        return self.hold is not None and start > 0 and seen - start < self.hold * points

    def rule(self, points: int) -> Rule:
        """The matching rule on a grid of `points`."""
        return _built(RULES[self.matching], reach=max(1, round(self.reach * points)))

    def sources(self) -> list[Source]:
        """Where candidates come from."""
        return [_built(SOURCES[name], noise=self.noise, noise_unit=self.noise_unit) for name in self.candidates]

    def to_dict(self) -> dict[str, Any]:
        """Plain data, under the names of release one; a setting it did not know only where it is not as it was then."""
        names, sources = ({new: old for old, new in table.items()} for table in (OLD_NAMES, OLD_SOURCES))
        data = dataclasses.asdict(self) | {"candidates": [sources.get(source, source) for source in self.candidates]}
        kept = {name: value for name, value in data.items() if name not in AS_EVER or value != AS_EVER[name]}
        return {names.get(name, name): value for name, value in kept.items()}


def _accepting_old_names(init: Callable[..., None]) -> Callable[..., None]:
    @functools.wraps(init)
    def accepting(self: Settings, *args: Any, **given: Any) -> None:
        init(self, *args, **_with_new_names(given))

    return accepting


Settings.__init__ = _accepting_old_names(Settings.__init__)


def settings_of(preset: str, **changes: Any) -> Settings:
    """A preset with some settings changed."""
    one_of("preset", preset, tuple(PRESETS))
    changes = _with_new_names(changes)
    known = [field.name for field in dataclasses.fields(Settings)]
    for name in changes:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"known are {', '.join(known)}"
            raise ValueError(f"unknown option {name!r} = {changes[name]!r}. Fix: {hint}")
    return dataclasses.replace(PRESETS[preset], **changes)


def _with_new_names(given: Mapping[str, Any]) -> dict[str, Any]:
    """Keywords by the names they have now; one given by its old name counts."""
    old = {OLD_NAMES[name]: value for name, value in given.items() if name in OLD_NAMES}
    return {name: value for name, value in given.items() if name not in OLD_NAMES} | old


def _built(variant: Any, **known: Any) -> Any:
    """A variant, with those of the known parameters that are its own."""
    return variant(**{field.name: known[field.name] for field in dataclasses.fields(variant)})


def one_of(name: str, value: object, known: tuple[str, ...]) -> None:
    """Refuse a word that is not on the list."""
    if value not in known:
        near = difflib.get_close_matches(str(value), known, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"pass {known[0]!r}"
        raise ValueError(f"{name} must be one of {', '.join(map(repr, known))}, got {value!r}. Fix: {hint}")


def _sources(candidates: tuple[str, ...]) -> None:
    if not candidates:
        raise ValueError("candidates must name at least one source, got none. Fix: candidates=('local',)")
    for source in candidates:
        one_of("candidates", source, tuple(SOURCES))
    if len(set(candidates)) < len(candidates):
        raise ValueError(f"candidates must not repeat a source, got {candidates}. Fix: name each once")


def _number(name: str, value: object, fix: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError(f"{name} must be a finite number, got {value!r}. Fix: {fix}")
    return float(value)


def _within(name: str, value: object, low: float, high: float, fix: str) -> None:
    if not low < _number(name, value, fix) <= high:
        raise ValueError(f"{name} must be above {low:g} and at most {high:g}, got {value!r}. Fix: {fix}")


def _at_least_zero(name: str, value: object, fix: str) -> None:
    if _number(name, value, fix) < 0:
        raise ValueError(f"{name} must not be negative, got {value!r}. Fix: {fix}")


def _positive(name: str, value: object, fix: str) -> None:
    if _number(name, value, fix) <= 0:
        raise ValueError(f"{name} must be above 0, got {value!r}. Fix: {fix}")


def _whole(name: str, value: object, least: int, fix: str) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise ValueError(f"{name} must be a whole number of at least {least}, got {value!r}. Fix: {fix}")


DEFAULT = Settings()
PAPER = Settings(
    initial_plan="first-window",
    judge="latents",
    initial_runs=1,
    candidates=("local",),
    noise=0.15,
    least_tolerance=0.0,
    matching="highest-lr",
    score="each",
    mean="arithmetic",
    hysteresis=None,
    least_near=None,
    rescale=None,
    rescale_by="run",
    spike=None,
)
DEFAULT_OF_RELEASE_ONE = dataclasses.replace(DEFAULT, hysteresis=0.15, least_near=None, rescale_by="run")
PRESETS: dict[str, Settings] = {"default": DEFAULT, "paper": PAPER}
