"""The contract every adapter passes: inherit `AdapterContract` in a test class and write one method, `train`.

Comes in: a way to run a real, small training job through the adapter, to stop it and to go on from its checkpoint. Goes
out: pytest tests: the rate of every update is the scheduler's, a resumed run has the same rates bit for bit, param
groups keep their ratios, loss and metric arrive, NaN never raises, a run may outlast its plan, a person's commands are
obeyed, and the scheduler's records can be had from the adapter. Needs pytest; knows no framework.

    class TestMyAdapter(AdapterContract):
        ratios = (1.0, 0.1)

        def train(self, scheduler, folder, *, steps, stop, poison): ...
"""

import dataclasses
import json
import math
from pathlib import Path
from typing import Any

import pytest

from lodestar.scheduler import Outcome, Scheduler, read_log
from lodestar.scheduler.records.command import FORMAT, VERSION, Command, control_path
from lodestar.testing.forecasters import random_forecaster

STEPS = 60


class Watched(Scheduler):
    """A real scheduler that remembers what it was told and asked."""

    def __init__(self, *args: Any, **options: Any):
        self.told: list[tuple[int, str, float]] = []
        self.answers: dict[int, float] = {}
        super().__init__(*args, **options)

    def observe(self, step: int, *unnamed: Any, loss: Any = None, metric: Any = None) -> None:
        """As `Scheduler.observe`."""
        for name, value in (("loss", loss), ("metric", metric)):
            if value is not None:
                self.told.append((step, name, float(value.item() if hasattr(value, "item") else value)))
        super().observe(step, *unnamed, loss=loss, metric=metric)

    def lr_at(self, step: int) -> float:
        """As `Scheduler.lr_at`."""
        self.answers[step] = super().lr_at(step)
        return self.answers[step]

    def heard(self, name: str) -> dict[int, float]:
        """The values of `name` by step."""
        return {step: value for step, kind, value in self.told if kind == name}


class Commanded(Watched):
    """One that is commanded to halve its rate after step 14, and to stop after step 26."""

    def __init__(self, log: Path, *args: Any, **options: Any):
        self._log, self._orders = log, [(14, "scale", 0.5), (26, "stop", None)]
        super().__init__(*args, log=log, control=True, **options)

    def observe(self, step: int, *unnamed: Any, loss: Any = None, metric: Any = None) -> None:
        """As `Scheduler.observe`."""
        super().observe(step, *unnamed, loss=loss, metric=metric)
        if self._orders and step >= self._orders[0][0]:
            _, do, value = self._orders.pop(0)
            command = Command(do, value, "the contract", "2026-01-01T00:00:00Z", do)
            job = read_log(self._log).header["job"]
            content = {"format": FORMAT, "version": VERSION, "job": job, "command": command.to_dict()}
            control_path(self._log).write_text(json.dumps(content))


@dataclasses.dataclass(frozen=True)
class Trained:
    """What a job did, by step: the rate of each param group at each update, the metrics measured; and its adapter."""

    rates: dict[int, list[float]]
    metrics: dict[int, float]
    adapter: Any


class AdapterContract:
    """Inherit, and write `train`."""

    ratios: tuple[float, ...] = (1.0,)  # of the job's param groups to the first
    precision: float = 0.0  # relative; 1e-6 for a framework that keeps rates in 32 bit
    stops: tuple[int, ...] = (20, 36)  # where `train` can be stopped and resumed
    loss_every: int = 1  # updates between two losses
    ends_itself: bool = True  # a command to stop ends the job; False: `train` has a loop of its own, and looks not

    def train(self, scheduler: Scheduler, folder: Path, *, steps: int, stop: int, poison: int | None) -> Trained:
        """Run a job planned for `steps` updates, up to update `stop`, and leave a checkpoint in `folder`.

        If `folder` holds a checkpoint, build everything anew and go on from it. The same data in the same order each
        time; a metric at least every 20 updates; from update `poison` on, all inputs are NaN. `scheduler` is what the
        adapter steers by.
        """
        raise NotImplementedError

    def scheduler(self, steps: int = STEPS, log: Path | None = None) -> Watched:
        """A scheduler that decides every 6 updates and changes its mind often; with `log`, one that is commanded."""
        forecaster, options = random_forecaster(seed=2, points=30), {"window": 0.1, "tolerance": 1000.0}
        if log is not None:
            return Commanded(log, forecaster, steps, preset="paper", **options)
        return Watched(forecaster, steps, preset="paper", **options)

    @pytest.fixture(scope="class")
    @classmethod
    def whole(cls, tmp_path_factory: pytest.TempPathFactory) -> tuple[Trained, Watched]:
        """One run from start to end, shared by the tests that only look at it."""
        contract = cls()
        scheduler = contract.scheduler()
        folder = tmp_path_factory.mktemp("whole")
        return contract.train(scheduler, folder, steps=STEPS, stop=STEPS, poison=None), scheduler

    def test_every_update_uses_the_schedulers_rate(self, whole: tuple[Trained, Watched]):
        trained, scheduler = whole
        assert sorted(trained.rates) == list(range(1, STEPS + 1))
        for step, rates in trained.rates.items():
            assert rates[0] == pytest.approx(scheduler.answers[step], rel=self.precision, abs=0.0)

    def test_the_rate_was_replanned_on_the_way(self, whole: tuple[Trained, Watched]):
        assert sum("replanned" in str(decision.outcome) for decision in whole[1].decisions) >= 2

    def test_param_groups_keep_their_ratios(self, whole: tuple[Trained, Watched]):
        for rates in whole[0].rates.values():
            assert rates == pytest.approx([rates[0] * ratio for ratio in self.ratios], rel=max(self.precision, 1e-12))

    def test_the_schedulers_records_can_be_had_from_the_adapter(self, whole: tuple[Trained, Watched]):
        adapter, scheduler = whole[0].adapter, whole[1]
        assert adapter.warnings == scheduler.warnings
        assert adapter.plan() == scheduler.plan()
        assert adapter.followed() == scheduler.followed()
        assert len(adapter.followed()) == STEPS
        assert str(adapter.score()) == str(scheduler.score())
        assert adapter.score().forecasts

    def test_losses_reach_the_scheduler_at_their_steps(self, whole: tuple[Trained, Watched]):
        heard = whole[1].heard("loss")
        assert sorted(heard) == list(range(self.loss_every, STEPS + 1, self.loss_every))
        assert heard[STEPS] < heard[self.loss_every], "the job did not learn anything"

    def test_metrics_reach_the_scheduler_at_their_steps(self, whole: tuple[Trained, Watched]):
        assert whole[0].metrics, "the job measured no metric"
        assert whole[1].heard("metric") == pytest.approx(whole[0].metrics, rel=1e-6)

    def test_a_decision_hears_the_metric_measured_just_before_it(self, whole: tuple[Trained, Watched]):
        for decision in whole[1].decisions:
            if decision.step in whole[0].metrics:
                assert decision.metric is not None

    @pytest.mark.parametrize("which", [0, -1])
    def test_a_resumed_run_has_the_same_rates(self, which: int, whole: tuple[Trained, Watched], tmp_path: Path):
        stop = self.stops[which]
        before = self.train(self.scheduler(), tmp_path, steps=STEPS, stop=stop, poison=None)
        after = self.train(self.scheduler(), tmp_path, steps=STEPS, stop=STEPS, poison=None)
        assert sorted(before.rates) == list(range(1, stop + 1))
        assert {**before.rates, **after.rates} == whole[0].rates

    def test_nan_losses_never_raise(self, tmp_path: Path):
        scheduler = self.scheduler()
        trained = self.train(scheduler, tmp_path, steps=STEPS, stop=STEPS, poison=20)
        rates = [rate for rates in trained.rates.values() for rate in rates]
        assert len(trained.rates) == STEPS
        assert all(math.isfinite(rate) and 0 <= rate <= scheduler.forecaster.ranges.lr_max * 1.000001 for rate in rates)
        assert any(math.isnan(value) for value in scheduler.heard("loss").values())

    def test_commands_are_obeyed_and_end_the_run(self, tmp_path: Path):
        scheduler = self.scheduler(log=tmp_path / "run.jsonl")
        trained = self.train(scheduler, tmp_path, steps=STEPS, stop=STEPS, poison=None)
        by_hand = [decision for decision in scheduler.decisions if decision.command is not None]
        assert [decision.outcome for decision in by_hand] == [Outcome.SCALED, Outcome.STOPPED]
        for step, rates in trained.rates.items():
            assert rates[0] == pytest.approx(scheduler.answers[step], rel=self.precision, abs=0.0)
        if self.ends_itself:
            assert by_hand[-1].step <= len(trained.rates) <= by_hand[-1].step + 2
        else:
            assert trained.adapter.stopped

    def test_a_run_may_outlast_its_plan(self, tmp_path: Path):
        trained = self.train(self.scheduler(steps=40), tmp_path, steps=STEPS, stop=STEPS, poison=None)
        assert len(trained.rates) == STEPS
        assert all(math.isfinite(rates[0]) for rates in trained.rates.values())
