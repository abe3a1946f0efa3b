"""Others who look for a schedule, live: random search, Optuna's TPE, Ray's PBT and NePS' PriorBand, over five numbers.

Comes in: a rig (a task's compiled problem, kept between trials), a repeat, a budget. Goes out: what each had found at
any work done. All see the same ranges, the same seeds of runs, and the metric at the end of a trial; each is driven
through its own package. Settings are the packages' defaults but where said.
"""

import copy
import dataclasses
import logging
import math
import random
from collections.abc import Callable, Iterator, Mapping
from types import SimpleNamespace
from typing import Any

import jax
import numpy as np
from numpy.typing import NDArray

from lodestar.runs import Direction
from lodestar.schedules import trapezoid
from lodestar_bench import tasks
from lodestar_bench.compiled import Position, Programs
from lodestar_bench.optimizers.forms import optimizer, space

Rates = NDArray[np.float64]
Numbers = Mapping[str, float]
FLOORS = (0.0, 0.01, 0.1)
PERTURBED = 10  # times in a run that PBT looks at its members
_UNFINISHED = 1e6


@dataclasses.dataclass(frozen=True)
class Found:
    """After so many updates in all, a schedule and the metric at its end, on a scale where more is better."""

    spent: float
    worth: float
    rates: Rates = dataclasses.field(repr=False)


@dataclasses.dataclass
class Training:
    """A run under way. Nothing is changed where it stands, so a shallow copy is another run from the same place."""

    position: Position
    seed: int
    total: int
    step: int = 0
    lost: bool = False

    @property
    def done(self) -> bool:
        """Nothing left to do."""
        return self.lost or self.step >= self.total


class Rig:
    """A task on which schedules are tried. The metric is measured where it is asked for, and nowhere else."""

    def __init__(self, task: str):
        self.problem = tasks.problem(task, "cpu")
        self.total, self.every = self.problem.total_steps, self.problem.evaluate_every
        self.space = space("recipe", self.problem.recipe)
        self.sign = 1.0 if self.problem.direction is Direction.MAX else -1.0
        self.look = max(1, round(self.total / self.every / PERTURBED)) * self.every
        self._programs = Programs(self.problem, optimizer("recipe", self.problem.recipe))
        self._programs.longest = self.look
        self._tests: dict[tuple[bytes, int], float] = {}

    def rates(self, numbers: Numbers) -> Rates:
        """The schedule of five numbers: `plateau` is a share of what follows the warm-up."""
        plateau = numbers["plateau"] * (1 - numbers["warmup"])
        shape = {"warmup": numbers["warmup"], "plateau": plateau, "power": numbers["power"], "floor": numbers["floor"]}
        return np.asarray(trapezoid(numbers["peak"], self.total, **shape).rates)

    def begin(self, seed: int, rate: float) -> Training:
        """A run before its first update."""
        params, state = self.problem.begin(seed)
        began = self._programs.begin(params, np.float32(rate))
        return Training(Position(params, state, began), seed, self.total)

    def advance(self, training: Training, rates: Rates, until: int) -> float:
        """Updates up to that one; the last loss."""
        loss, until = math.nan, min(until, self.total)
        while training.step < until and not training.done:
            stop = min(training.step + self.look, until)
            batches = self.problem.batches(training.seed, training.step + 1, stop - training.step)
            wanted, key = np.asarray(rates[training.step : stop], np.float32), jax.random.key(training.seed)
            made = self._programs.advance(training.position, batches, key, training.step + 1, wanted)
            training.position, losses, _ = made
            training.step, loss = stop, float(losses[-1])
            training.lost = not np.isfinite(losses).all()
        return loss

    def measure(self, training: Training) -> float:
        """What the validation metric is worth now: more is better, -inf if the run is lost."""
        if training.lost:
            return -math.inf
        figures = self.problem.evaluate(training.position.params, training.position.state, "validation")
        training.lost = not math.isfinite(figures.loss)
        return -math.inf if training.lost else self.sign * figures.metric

    def go(self, training: Training, rates: Rates, until: int) -> float:
        """On to that update, and what the metric is worth there."""
        self.advance(training, rates, until)
        return self.measure(training)

    def test(self, rates: Rates, seed: int) -> float:
        """Test metric of a run along these rates, with its last weights."""
        key = (np.asarray(rates).tobytes(), seed)
        if key not in self._tests:
            training = self.begin(seed, float(rates[0]))
            self.advance(training, rates, self.total)
            weights = training.position
            figures = None if training.lost else self.problem.evaluate(weights.params, weights.state, "test")
            self._tests[key] = math.nan if figures is None else figures.metric
        return self._tests[key]


def seed_of(repeat: int, number: int) -> int:
    """The seed of a trial's run: the same for all who search."""
    return 1000 * repeat + number


def random_search(rig: Rig, repeat: int, budget: float) -> Iterator[Found]:
    """Optuna's random sampler; nothing is stopped."""
    from optuna import pruners, samplers

    return _optuna(rig, repeat, budget, samplers.RandomSampler(seed=repeat), pruners.NopPruner())


def tpe(rig: Rig, repeat: int, budget: float) -> Iterator[Found]:
    """Optuna's TPE; nothing is stopped."""
    from optuna import pruners, samplers

    return _optuna(rig, repeat, budget, samplers.TPESampler(seed=repeat), pruners.NopPruner())


def tpe_hyperband(rig: Rig, repeat: int, budget: float) -> Iterator[Found]:
    """Optuna's TPE with its Hyperband pruner, told of every evaluation."""
    from optuna import pruners, samplers

    pruner = pruners.HyperbandPruner(max_resource=-(-rig.total // rig.every))
    return _optuna(rig, repeat, budget, samplers.TPESampler(seed=repeat), pruner, rig.every)


def _optuna(
    rig: Rig, repeat: int, budget: float, sampler: Any, pruner: Any, every: int | None = None
) -> Iterator[Found]:
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(direction="maximize", sampler=sampler, pruner=pruner, study_name=f"live{repeat}")
    spent, number = 0, 0
    while budget * rig.total - spent >= rig.total / 2:
        trial = study.ask()
        rates = rig.rates(_asked(rig, trial))
        training, worth = rig.begin(seed_of(repeat, number), float(rates[0])), -math.inf
        pruned = False
        while not training.done and not pruned:
            worth = rig.go(training, rates, training.step + (every or rig.total))
            if math.isfinite(worth):
                trial.report(worth, -(-training.step // rig.every))
                pruned = not training.done and trial.should_prune()
        spent, number = spent + training.step, number + 1
        lost = not math.isfinite(worth)
        states = optuna.trial.TrialState
        if lost or pruned:
            study.tell(trial, state=states.FAIL if lost else states.PRUNED)
        else:
            study.tell(trial, worth)
        yield _found(rig, spent, training, worth, rates)


def _asked(rig: Rig, trial: Any) -> dict[str, float]:
    peak, warmup, plateau, power = (getattr(rig.space, name) for name in ("peak", "warmup", "plateau", "power"))
    return {
        "peak": trial.suggest_float("peak", peak.low, peak.high, log=True),
        "warmup": trial.suggest_float("warmup", warmup.low, warmup.high),
        "plateau": trial.suggest_float("plateau", plateau.low, plateau.high),
        "power": trial.suggest_float("power", power.low, power.high, log=True),
        "floor": trial.suggest_categorical("floor", FLOORS),
    }


def priorband(rig: Rig, repeat: int, budget: float) -> Iterator[Found]:
    """NePS' PriorBand; its prior is the middle of each range. A run that it takes up again goes on where it stopped."""
    import neps  # pyright: ignore[reportMissingImports]
    import torch

    random.seed(repeat)
    np.random.seed(repeat)  # noqa: NPY002 (packages draw from it)
    torch.manual_seed(repeat)
    middles = {name: _middle(getattr(rig.space, name)) for name in ("peak", "warmup", "plateau", "power")}

    class Space(neps.PipelineSpace):
        part = neps.IntegerFidelity(lower=max(1, rig.total // 27), upper=rig.total)
        peak = _neps_float(neps, rig.space.peak, middles["peak"])
        warmup = _neps_float(neps, rig.space.warmup, middles["warmup"])
        plateau = _neps_float(neps, rig.space.plateau, middles["plateau"])
        power = _neps_float(neps, rig.space.power, middles["power"])
        floor = neps.Categorical(choices=FLOORS, prior=1, prior_confidence="low")

    asked = neps.AskAndTell(optimizer=neps.algorithms.priorband(Space()))
    begun: dict[str, tuple[Training, Rates]] = {}
    spent = 0
    while budget * rig.total - spent >= rig.total / 2:
        trial = asked.ask()
        name = str(trial.metadata.id)
        numbers, until = _of_neps(trial.config)
        earlier = begun.get(str(trial.metadata.previous_trial_id))
        if earlier is None:
            rates = rig.rates(numbers)
            earlier = rig.begin(seed_of(repeat, len(begun)), float(rates[0])), rates
        begun[name] = earlier
        training, rates = earlier
        before = training.step
        worth = rig.go(training, rates, until)
        spent += training.step - before
        asked.tell(trial, {"objective_to_minimize": -worth if math.isfinite(worth) else 1e3})
        yield _found(rig, spent, training, worth, rates)


def _found(rig: Rig, spent: float, training: Training, worth: float, rates: Rates) -> Found:
    """A run that was not finished counts below all that were, the less the further it came."""
    return Found(spent, worth - _UNFINISHED * (1 - training.step / rig.total), rates)


def _neps_float(neps: Any, span: Any, middle: float) -> Any:
    return neps.Float(lower=span.low, upper=span.high, log=span.log, prior=middle, prior_confidence="low")


def _of_neps(config: Mapping[str, Any]) -> tuple[dict[str, float], int]:
    """Five numbers, and how far to go."""
    names = ("peak", "warmup", "plateau", "power", "floor")
    return {name: float(config[name]) for name in names}, int(config["part"])


def _middle(span: Any) -> float:
    return math.sqrt(span.low * span.high) if span.log else (span.low + span.high) / 2


def pbt(rig: Rig, repeat: int, budget: int) -> Iterator[Found]:
    """Ray's synchronous PBT over the five numbers, `budget` members, ten looks in a run; the winner's rates as used.

    The scheduler is called as Tune's controller calls it.
    """
    from ray import tune as ray_tune
    from ray.tune.experiment import Trial
    from ray.tune.schedulers import PopulationBasedTraining

    logging.getLogger("ray").setLevel(logging.WARNING)
    random.seed(repeat)
    np.random.seed(repeat)  # noqa: NPY002 (packages draw from it)
    spans = {name: getattr(rig.space, name) for name in ("peak", "warmup", "plateau", "power")}
    mutations = {name: (ray_tune.loguniform if s.log else ray_tune.uniform)(s.low, s.high) for name, s in spans.items()}
    scheduler = PopulationBasedTraining(
        time_attr="updates",
        metric="worth",
        mode="max",
        perturbation_interval=rig.look,
        hyperparam_mutations={**mutations, "floor": list(FLOORS)},
        log_config=False,
        synch=True,
    )
    members = [_Member(number) for number in range(budget)]
    controller: Any = SimpleNamespace(
        search_alg=None, get_trials=lambda: members, get_live_trials=lambda: [m for m in members if not m.is_finished()]
    )
    for member in members:
        scheduler.on_trial_add(controller, member)  # pyright: ignore[reportArgumentType]
        member.training = rig.begin(seed_of(repeat, member.number), member.rates(rig)[0])
    for until in [*range(rig.look, rig.total, rig.look), rig.total]:
        for member in members:
            member.restore()
            member.go(rig, until)
            member.status = Trial.PAUSED  # as Tune has each wait for the others
            result = {"updates": until, "worth": member.worth if math.isfinite(member.worth) else -_UNFINISHED}
            if until < rig.total:  # at the last member's result the scheduler exploits
                scheduler.on_trial_result(controller, member, result)  # pyright: ignore[reportArgumentType]
    best = max(members, key=lambda member: member.worth)
    yield Found(budget * rig.total, best.worth, best.used)


class _Member:
    """A trial of PBT as its scheduler sees one; its checkpoint is the run itself and the rates it has used."""

    def __init__(self, number: int):
        self.number, self.trial_id, self.status = number, f"{number:05d}", "PENDING"
        self.config: dict[str, Any] = {}
        self.evaluated_params: dict[str, Any] = {}
        self.orig_tag = self.experiment_tag = str(number)
        self.temporary_state = SimpleNamespace(saving_to=None)
        keeper = SimpleNamespace(checkpoint_config=SimpleNamespace(num_to_keep=None), _latest_checkpoint_result=None)
        self.run_metadata = SimpleNamespace(checkpoint_manager=keeper)
        self.training: Any = None
        self.used, self.worth = np.zeros(0), -math.inf

    def rates(self, rig: Rig) -> Rates:
        """The schedule of its numbers as they are now; a perturbation may leave the ranges, and is brought back."""
        inside = {
            name: float(np.clip(self.config[name], getattr(rig.space, name).low, getattr(rig.space, name).high))
            for name in ("peak", "warmup", "plateau", "power")
        }
        return rig.rates({**inside, "floor": float(self.config["floor"])})

    def go(self, rig: Rig, until: int) -> None:
        rates, before = self.rates(rig), self.training.step
        self.worth = rig.go(self.training, rates, until)
        self.used = np.concatenate([self.used, rates[before:until]])

    def restore(self) -> None:
        """Go on from the checkpoint that the scheduler put in its place, if it did."""
        keeper = self.run_metadata.checkpoint_manager
        if keeper._latest_checkpoint_result is not None:
            training, used = keeper._latest_checkpoint_result.checkpoint
            self.training, self.used = copy.copy(training), used
            keeper._latest_checkpoint_result = None

    @property
    def checkpoint(self) -> tuple[Training, Rates]:
        return copy.copy(self.training), self.used

    def is_finished(self) -> bool:
        return False

    def set_experiment_tag(self, tag: str) -> None:
        self.experiment_tag = tag

    def set_config(self, config: dict[str, Any]) -> None:
        self.config = config


SEARCHES: Mapping[str, Callable[[Rig, int, float], Iterator[Found]]] = {
    "random search": random_search,
    "Optuna TPE": tpe,
    "Optuna TPE + Hyperband": tpe_hyperband,
    "NePS PriorBand": priorband,
}
"""Those who may be asked at any time; PBT must be run for each budget, as its members are the budget."""
