import json

import pytest
from tests.scheduler.live import train

from lodestar.scheduler import Gate, Outcome, Scheduler
from lodestar.testing import random_forecaster

TOTAL = 400


def plain(step: int) -> float:
    return 1e-3 * (1 - step / 500)


def gated(gate: Gate, quality: dict | None = None, **options) -> Scheduler:
    forecaster = random_forecaster(
        seed=5, points=40, quality=quality or {"spearman_05": 0.6, "relative_mse_loss_05": 0.1}
    )
    return Scheduler(forecaster, TOTAL, gate=gate, base=plain, **options)


def test_a_forecaster_good_enough_steers():
    one = gated(Gate(least=0.6, margin=None))
    assert one.decisions[0].outcome is Outcome.OPENING
    assert train(one, 1, 50) != [plain(step) for step in range(1, 51)]


@pytest.mark.parametrize(
    ("gate", "words"),
    [
        (Gate(least=0.61), "spearman_05 is 0.6 on held-out runs, below the gate's 0.61"),
        (Gate(most=0.05, figure="relative_mse_loss_05"), "relative_mse_loss_05 is 0.1 on held-out runs, above"),
    ],
)
def test_a_forecaster_below_the_threshold_leaves_it_to_the_plain_schedule(gate, words):
    one = gated(gate)
    assert train(one, 1, TOTAL) == [plain(step) for step in range(1, TOTAL + 1)]
    assert [d.outcome for d in one.decisions] == [Outcome.GATED]
    assert words in one.decisions[0].note
    assert words in one.warnings[0]
    assert one.plan().lr_at(TOTAL) == plain(TOTAL)


def test_a_forecaster_that_was_never_tested_does_not_steer():
    forecaster = random_forecaster(seed=5, points=40)
    object.__setattr__(forecaster, "quality", {})
    one = Scheduler(forecaster, TOTAL, gate=Gate(least=0.5), base=plain)
    assert one.lr_at(1) == plain(1)
    assert "was not tested on held-out runs" in one.warnings[0]


def test_a_run_that_leaves_the_training_range_falls_to_the_plain_schedule():
    one = gated(Gate(least=0.1, margin=1.0, stretch=0.1))
    rates = []
    for step in range(1, TOTAL + 1):
        rates.append(one.lr_at(step))
        one.observe(step, loss=1.7 if step <= 200 else 1e-4)
    assert rates[240:] == [plain(step) for step in range(241, TOTAL + 1)]
    assert rates[:200] != [plain(step) for step in range(1, 201)]
    assert "loss has been below anything the training runs did for 10% of the run" in one.decisions[-1].note
    assert one.decisions[-1].outcome is Outcome.GATED
    assert one.followed().values().tolist() == rates


def test_leaving_the_range_for_a_moment_changes_nothing():
    one = gated(Gate(least=0.1, margin=1.0, stretch=0.1), spike=None)
    for step in range(1, TOTAL + 1):
        one.lr_at(step)
        one.observe(step, loss=1e-4 if 200 < step <= 220 else 1.7)
    assert Outcome.GATED not in {d.outcome for d in one.decisions}


def test_a_closed_gate_stays_closed_after_a_resume():
    one = gated(Gate(least=0.1, margin=0.0, stretch=0.05))
    for step in range(1, 101):
        one.lr_at(step)
        one.observe(step, loss=1e-4)
    again = gated(Gate(least=0.1, margin=0.0, stretch=0.05))
    again.load_state_dict(json.loads(json.dumps(one.state_dict())))
    assert again.lr_at(300) == one.lr_at(300) == plain(300)


def test_the_plain_schedule_is_capped_and_that_is_recorded():
    forecaster = random_forecaster(seed=5, points=40)
    one = Scheduler(forecaster, TOTAL, gate=Gate(least=0.99), base=lambda step: 1.0)
    assert one.lr_at(5) == forecaster.ranges.lr_max
    assert any("above the cap" in text for text in one.warnings)


def test_a_plain_schedule_that_fails_holds_its_last_good_rate():
    def broken(step: int) -> float:
        if step > 1:
            raise KeyError("epoch")
        return 1e-3

    one = Scheduler(random_forecaster(seed=5, points=40), TOTAL, gate=Gate(least=0.99), base=broken)
    assert one.lr_at(2) == one.lr_at(300) == 1e-3
    assert any("failed: KeyError('epoch'); its last good rate, 0.001, holds" in text for text in one.warnings)


def test_shadow_mode_goes_on_forecasting_behind_a_closed_gate():
    one = gated(Gate(least=0.99), mode="shadow")
    train(one, 1, TOTAL)
    assert len(one.decisions) == 20


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"margin": None}, "a gate needs a threshold"),
        ({"least": float("nan")}, "least must be a finite number"),
        ({"least": 0.5, "margin": -1.0}, "margin must be a number >= 0"),
        ({"least": 0.5, "stretch": 0.0}, "stretch must be a fraction"),
    ],
)
def test_bad_gates(options, words):
    with pytest.raises(ValueError, match=words):
        Gate(**options)


def test_without_a_base_a_closed_gate_follows_the_family_of_the_plan():
    forecaster = random_forecaster(seed=5, points=40)
    one, steered = Scheduler(forecaster, TOTAL, gate=Gate(least=0.99)), Scheduler(forecaster, TOTAL)
    initial = steered.plan().values()
    rates = train(one, 1, TOTAL)
    assert max(rates) <= max(initial)
    assert rates == sorted(rates, reverse=True)  # this plan's family falls throughout
    assert "a plain schedule (exponential, peak" in one.warnings[0]


def test_a_figure_the_forecaster_does_not_hold_is_named():
    with pytest.raises(ValueError, match="figure must be one the forecaster holds"):
        gated(Gate(least=0.5, figure="spearman"))
