import json
import logging
import subprocess
import sys

import numpy as np
import pytest
from tests.scheduler.live import loss_at, metric_at, train

from lodestar.forecaster import load
from lodestar.scheduler import DEFAULT, Gate, Outcome, Scheduler, Settings
from lodestar.testing import random_forecaster

TOTAL = 400
FORECASTER = random_forecaster(seed=5, points=40, references=6)


def scheduler(**options) -> Scheduler:
    return Scheduler(FORECASTER, TOTAL, **options)


def restless(**options) -> Scheduler:
    """One that replans whenever anything is accepted, with a generous tolerance."""
    return scheduler(**{"hysteresis": None, "least_near": None, "tolerance": 20.0, **options})


def test_a_decision_is_made_at_the_first_step_past_a_window():
    one = scheduler()
    train(one, 1, 20)
    assert len(one.decisions) == 1  # the initial plan
    one.lr_at(21)
    assert [(d.window, d.step) for d in one.decisions] == [(0, 0), (1, 20)]


def test_it_says_when_the_next_decision_falls_due():
    one = scheduler()
    assert one.next_decision() == 21
    train(one, 1, 20)
    assert one.next_decision() == 21  # not yet asked for
    one.lr_at(21)
    assert one.next_decision() == 41
    one.extend(2 * TOTAL)
    assert one.next_decision() == 41  # a window is 40 steps now, and the first of them has not ended
    train(one, 22, 2 * TOTAL)
    assert one.next_decision() == 2 * TOTAL + 1


def test_a_closed_gate_decides_no_more():
    one = scheduler(gate=Gate(least=0.95), base=lambda step: 1e-3)
    assert one.next_decision() == TOTAL + 1


def test_settings_have_the_names_of_release_one_too():
    old = Settings(opening="first-window", opening_runs=1, piece="all", gear=None, candidates=("library",))  # pyright: ignore
    new = Settings(initial_plan="first-window", initial_runs=1, context="all", rescale=None, candidates=("references",))
    assert old == new
    assert (old.opening, old.opening_runs, old.piece, old.gear) == ("first-window", 1, "all", None)  # pyright: ignore
    assert scheduler(gear=2.0, opening_runs=3).settings == scheduler(rescale=2.0, initial_runs=3).settings
    assert {"opening", "opening_runs", "piece", "gear"} <= set(new.to_dict())
    assert new.to_dict()["candidates"] == ["library"]


def test_asking_often_or_rarely_gives_the_same_rates():
    often, rarely = restless(), restless()
    for step in range(1, TOTAL + 1):
        for _ in range(3):
            often.lr_at(step)
        often.observe(step, loss=loss_at(step, TOTAL))
        if step % 17 == 0:
            rarely.lr_at(step)
        rarely.observe(step, loss=loss_at(step, TOTAL))
    assert [often.lr_at(s) for s in range(1, TOTAL + 1)] == [rarely.lr_at(s) for s in range(1, TOTAL + 1)]
    assert Outcome.REPLANNED in {d.outcome for d in often.decisions}


def test_step_zero_is_read_as_one_and_past_the_end_holds():
    one = scheduler()
    assert one.lr_at(0) == one.lr_at(1)
    assert one.lr_at(10 * TOTAL) == one.lr_at(TOTAL)
    assert any("past the end" in text for text in one.warnings)


def test_rates_already_given_never_change():
    one = restless()
    given = train(one, 1, 300)
    assert [one.lr_at(step) for step in range(1, 301)] == given


def test_a_late_observation_does_not_reopen_a_decision_but_counts_later():
    on_time, late = restless(), restless()
    for one in (on_time, late):
        train(one, 1, 10)
    on_time.observe(12, loss=1.6)
    rates = [one.lr_at(21) for one in (on_time, late)]
    late.observe(12, loss=1.6)
    assert late.lr_at(21) == rates[1]
    assert late.state_dict()["history"]["loss"] == on_time.state_dict()["history"]["loss"]


def test_what_is_observed_past_the_window_is_not_used_for_it():
    plain, ahead = restless(), restless()
    for one in (plain, ahead):
        train(one, 1, 20)
    ahead.observe(25, loss=0.1, metric=0.99)
    assert plain.lr_at(21) == ahead.lr_at(21)
    assert plain.decisions == ahead.decisions


@pytest.mark.parametrize("preset", ["default", "paper"])
@pytest.mark.parametrize("killed_at", [0, 1, 20, 21, 133, 399])
def test_a_resumed_run_gives_the_same_rates_bit_for_bit(preset, killed_at):
    whole = Scheduler(FORECASTER, TOTAL, preset=preset, tolerance=20.0, hysteresis=None)
    rates = train(whole, 1, TOTAL)
    first = Scheduler(FORECASTER, TOTAL, preset=preset, tolerance=20.0, hysteresis=None)
    before = train(first, 1, killed_at)
    text = json.dumps(first.state_dict(), allow_nan=False)
    again = Scheduler(FORECASTER, TOTAL, preset=preset, tolerance=20.0, hysteresis=None)
    again.load_state_dict(json.loads(text))
    assert before + train(again, killed_at + 1, TOTAL) == rates
    assert again.decisions == whole.decisions


def test_a_state_passes_torch_load_with_weights_only(tmp_path):
    torch = pytest.importorskip("torch")
    one = scheduler()
    train(one, 1, 50)
    torch.save(one.state_dict(), tmp_path / "state.pt")
    again = scheduler()
    again.load_state_dict(torch.load(tmp_path / "state.pt", weights_only=True))
    assert again.state_dict() == one.state_dict()


def test_a_state_resumes_with_the_forecaster_read_from_its_file(tmp_path):
    one = scheduler()
    train(one, 1, 50)
    FORECASTER.save(tmp_path / "f.lode")
    again = Scheduler(tmp_path / "f.lode", TOTAL)
    again.load_state_dict(one.state_dict())
    assert again.lr_at(30) == one.lr_at(30)
    assert again.forecaster.points == load(tmp_path / "f.lode").points


def test_another_seed_draws_other_candidates():
    rates = [train(restless(seed=seed), 1, TOTAL) for seed in (0, 1)]
    assert rates[0] != rates[1]


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (lambda s: {}, "not a scheduler's state"),
        (lambda s: s | {"version": 99}, "version 99"),
        (lambda s: s | {"forecaster": "other"}, "another forecaster"),
        (lambda s: s | {"course": None}, "damaged"),
        (lambda s: {k: v for k, v in s.items() if k != "history"}, "damaged"),
    ],
)
def test_a_state_that_does_not_fit_is_refused_and_changes_nothing(damage, words):
    one = scheduler()
    train(one, 1, 50)
    before = one.state_dict()
    with pytest.raises(ValueError, match=words):
        one.load_state_dict(damage(before))
    assert one.state_dict() == before


def test_other_settings_on_resume_are_recorded():
    one = scheduler()
    again = scheduler(noise=0.9)
    again.load_state_dict(one.state_dict())
    assert any("saved with settings" in text for text in again.warnings)


def test_nothing_observed_keeps_the_plan():
    one = scheduler()
    begun = one.plan().values().tolist()
    assert [one.lr_at(step) for step in range(1, TOTAL + 1)] == begun
    assert {d.outcome for d in one.decisions[1:]} == {Outcome.NOTHING_SEEN}


def test_nothing_accepted_extends_the_running_schedule():
    one = scheduler(preset="paper")
    begun = one.plan().values().tolist()
    rates = []
    for step in range(1, TOTAL + 1):
        rates.append(one.lr_at(step))
        one.observe(step, loss=1000.0 + step)
    assert rates == begun
    assert {d.outcome for d in one.decisions[1:]} == {Outcome.NONE_ACCEPTED}


def test_the_plan_is_kept_unless_it_is_beaten_by_enough():
    kept, replanned = (restless(hysteresis=h) for h in (1e6, -0.0))
    for one in (kept, replanned):
        train(one, 1, TOTAL)
    assert Outcome.KEPT in {d.outcome for d in kept.decisions}
    assert Outcome.REPLANNED not in {d.outcome for d in kept.decisions}
    assert Outcome.REPLANNED in {d.outcome for d in replanned.decisions}


def test_a_replanned_window_follows_what_the_decision_recorded():
    one = restless()
    train(one, 1, TOTAL)
    for decision in one.decisions:
        for step, rate in decision.lr:
            if step <= decision.step + 20:
                assert one.lr_at(step) == rate


def test_no_rate_leaves_the_bounds():
    one = restless(min_lr=9e-4, max_lr=1e-3)
    rates = train(one, 1, TOTAL)
    assert min(rates) >= 9e-4
    assert max(rates) <= 1e-3
    assert train(restless(), 1, TOTAL) != rates


def test_never_above_what_the_training_runs_survived():
    one = restless(max_lr=1e3)
    assert max(train(one, 1, TOTAL)) <= FORECASTER.ranges.lr_max


def test_observing_after_the_end_is_a_recorded_warning(caplog):
    one = scheduler()
    with caplog.at_level(logging.WARNING, "lodestar.scheduler"):
        one.observe(TOTAL + 1, loss=1.0)
        one.observe(TOTAL + 2, loss=1.0)
    assert len(one.warnings) == len(caplog.records) == 1
    assert "extend(total_steps)" in one.warnings[0]


def test_leaping_ahead_without_observations_is_warned_about():
    one = scheduler()
    one.lr_at(TOTAL)
    assert any("plan().lr_at(step)" in text for text in one.warnings)


def test_looking_ahead_with_the_plan_decides_nothing():
    one = scheduler()
    plan = one.plan()
    assert plan.lr_at(TOTAL) == one.plan().lr_at(TOTAL)
    assert len(one.decisions) == 1


def test_the_followed_plan_is_what_was_given():
    one = restless()
    given = train(one, 1, 333)
    followed = one.followed()
    assert len(followed) == 333
    assert followed.values().tolist() == given
    assert one.plan().first_step == 334


def test_before_the_first_step_nothing_was_followed():
    one = Scheduler(FORECASTER, 20)
    assert len(one.followed()) == 0
    assert one.followed().values().tolist() == []


def test_a_metric_to_be_minimised_is_steered_down():
    forecaster = random_forecaster(seed=5, points=40, direction="min")  # pyright: ignore[reportArgumentType]
    one = Scheduler(forecaster, TOTAL, preset="paper", tolerance=500.0)
    train(one, 1, 200)
    winners = [d.winners for d in one.decisions if d.outcome is Outcome.REPLANNED]
    assert winners
    assert all([w.metric for w in group] == sorted(w.metric for w in group) for group in winners)


def test_an_ensemble_is_decided_over_all_members():
    forecaster = random_forecaster(seed=5, points=40, members=3)
    one = Scheduler(forecaster, TOTAL, preset="paper", tolerance=500.0)
    train(one, 1, 60)
    assert one.decisions[1].samples == 90
    assert one.decisions[1].accepted > 30  # more than one member alone has


def test_importing_the_scheduler_brings_no_jax_and_no_heavy_package():
    code = (
        "import sys, lodestar.scheduler; print([m for m in "
        "('jax', 'pyarrow', 'pydantic', 'torch', 'matplotlib', 'rich', 'typer') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


class TestExtend:
    """The run's length changes on the way."""

    @pytest.mark.parametrize("at", range(1, 40, 3))
    def test_no_rate_already_given_changes_in_the_last_bit(self, at):
        one = scheduler()
        given = train(one, 1, at)
        one.extend(2 * TOTAL)
        assert [one.lr_at(step) for step in range(1, at + 1)] == given

    @pytest.mark.parametrize("length", [TOTAL // 2, TOTAL + 1, 3 * TOTAL])
    def test_the_rates_given_stay_and_the_new_length_is_reached(self, length):
        one = restless()
        given = train(one, 1, 110)
        one.extend(length)
        train(one, 111, length)
        assert one.total_steps == length
        assert one.followed().values().tolist()[:110] == given
        assert len(one.followed()) == length
        assert max(d.step for d in one.decisions) > 110

    def test_the_rest_of_the_plan_is_stretched(self):
        one = scheduler(hysteresis=1e6)
        plan = one.plan()
        train(one, 1, 200)
        one.extend(600)
        stretched = one.plan()
        assert stretched.last_step == 600
        for share in (0.25, 0.5, 1.0):
            assert stretched.lr_at(200 + int(400 * share)) == pytest.approx(
                plan.lr_at(200 + int(200 * share)), rel=0.02
            )

    def test_it_is_decided_anew_and_recorded(self):
        one = scheduler(hysteresis=1e6)
        train(one, 1, 110)
        one.extend(2 * TOTAL)
        assert one.decisions[-1].outcome is Outcome.EXTENDED
        assert "from 400 to 800" in one.decisions[-1].note

    def test_observations_stay_where_they_were_in_steps(self):
        one = scheduler()
        train(one, 1, 200)
        one.extend(2 * TOTAL)
        history = one.state_dict()["history"]
        assert sum(history["losses"]) == 200
        assert max(history["at"]) == 9  # 200 steps are now a quarter of 40 points

    @pytest.mark.parametrize("bad", [50, 0, -3, None, "long", 1.5, float("nan")])
    def test_a_length_that_makes_no_sense_is_a_warning(self, bad):
        one = scheduler()
        train(one, 1, 110)
        one.extend(bad)
        assert one.total_steps == TOTAL
        assert any("length was left at 400" in text for text in one.warnings)

    def test_a_resume_in_a_job_of_another_length_extends_the_run(self):
        one = restless()
        given = train(one, 1, 110)
        longer = Scheduler(FORECASTER, 2 * TOTAL, hysteresis=None, tolerance=20.0)
        longer.load_state_dict(one.state_dict())
        assert longer.total_steps == 2 * TOTAL
        assert "from 400 to 800" in longer.decisions[-1].note
        assert longer.followed().values().tolist() == given

    def test_a_gate_that_closes_there_changes_no_rate_already_given(self):
        options = {"gate": Gate(margin=0.0, stretch=0.05), "base": lambda step: 1e-3}
        one = scheduler(**options)
        given = []
        for step in range(1, 16):
            given.append(one.lr_at(step))
            one.observe(step, loss=1e-3)
        one.extend(300)
        assert one.decisions[-1].outcome is Outcome.GATED
        assert [one.lr_at(step) for step in range(1, 16)] == given
        assert one.lr_at(16) == 1e-3

    def test_a_resume_after_it_is_exact(self):
        one = restless()
        train(one, 1, 110)
        one.extend(500)
        again = restless()
        again.load_state_dict(json.loads(json.dumps(one.state_dict())))
        assert again.total_steps == 500
        assert train(again, 111, 500) == train(one, 111, 500)


class TestShadow:
    """Shadow mode changes nothing."""

    def test_the_base_schedule_is_followed_exactly(self):
        one = scheduler(mode="shadow", base=lambda step: 7.0 / step)  # far above every cap
        assert train(one, 1, TOTAL) == [7.0 / step for step in range(1, TOTAL + 1)]
        assert one.followed().values().tolist() == [7.0 / step for step in range(1, TOTAL + 1)]

    def test_it_records_what_it_would_have_done(self):
        one = restless(mode="shadow", base=lambda step: 1e-3)
        train(one, 1, TOTAL)
        replanned = [d for d in one.decisions if d.outcome is Outcome.REPLANNED]
        assert replanned
        assert all(rate != 1e-3 for d in replanned for _, rate in d.lr)

    def test_it_scores_its_own_forecasts(self):
        one = scheduler(mode="shadow", base=lambda step: 1e-3)
        train(one, 1, TOTAL)
        score = one.score()
        assert score.actual == metric_at(TOTAL, TOTAL)
        assert len(score.forecasts) == len([d for d in one.decisions if d.forecast is not None]) > 10
        first = score.forecasts[0]
        assert first.error == pytest.approx(first.forecast - score.actual)
        assert score.mean_error == pytest.approx(np.mean([abs(f.error) for f in score.forecasts]))
        assert "forecasts of the final metric" in str(score)

    def test_without_a_metric_there_is_nothing_to_score(self):
        one = scheduler()
        assert np.isnan(one.score().actual)
        assert str(one.score()) == "no forecast to score yet"


class TestBadArguments:
    """Each mistake is a ValueError that names the thing, the rule, the value and the fix."""

    @pytest.mark.parametrize(
        ("options", "words"),
        [
            ({"preset": "fast"}, "preset must be one of 'default', 'paper', got 'fast'"),
            ({"sampels": 30}, "unknown option 'sampels' = 30. Fix: did you mean 'samples'"),
            ({"window": 1.5}, "window must be above 0 and at most 0.5, got 1.5"),
            ({"window": 0.0}, "window must be above 0"),
            ({"horizon": 0}, "horizon must be above 0 and at most 1, got 0"),
            ({"noise": -0.1}, "noise must not be negative, got -0.1"),
            ({"noise": float("nan")}, "noise must be a finite number, got nan"),
            ({"samples": 0}, "samples must be a whole number of at least 1, got 0"),
            ({"samples": 2}, "samples must be at least 1 for each of the 3 candidate sources, got 2"),
            ({"tolerance": 0}, "tolerance must be above 0, got 0"),
            ({"matching": "closest"}, "matching must be one of"),
            ({"candidates": ("lokal",)}, "did you mean 'local'"),
            ({"candidates": ()}, "candidates must name at least one source"),
            ({"score": "median"}, "score must be one of"),
            ({"average": 0}, "average must be a whole number of at least 1"),
            ({"hysteresis": -1.0}, "hysteresis must not be negative"),
            ({"cut": 0.0}, "cut must be above 0"),
            ({"mode": "watch"}, "mode must be one of 'steer', 'shadow', got 'watch'"),
            ({"mode": "shadow"}, "base must be given in shadow mode"),
            ({"base": 0.1}, "base must be a function of the step, got 0.1"),
            ({"base": lambda step: float("nan")}, "base(1) must be a learning rate >= 0, got nan"),
            ({"min_lr": -1.0}, "min_lr must be a finite number >= 0, got -1.0"),
            ({"min_lr": 1.0}, "min_lr must not be above the cap of 0.03"),
            ({"seed": -1}, "seed must be a whole number >= 0, got -1"),
            ({"direction": "min"}, "direction must be the forecaster's, 'max', got 'min'"),
            ({"direction": "up"}, "direction must be one of"),
            ({"settings": {"window": 0.1}}, "settings must be a Settings, got dict"),
            ({"settings": DEFAULT, "noise": 0.1}, "give settings or single options, not both"),
            ({"gate": 0.5}, "gate must be a Gate, got 0.5"),
        ],
    )
    def test_bad_options(self, options, words):
        with pytest.raises(ValueError, match="Fix: ") as caught:
            scheduler(**options)
        assert words in str(caught.value)

    @pytest.mark.parametrize("total", [0, -1, 19, 2.5, None, True, "100"])
    def test_bad_lengths(self, total):
        with pytest.raises(ValueError, match=r"total_steps must be .*Fix: "):
            Scheduler(FORECASTER, total)

    def test_a_run_of_one_step_a_window_is_steered(self):
        one = Scheduler(FORECASTER, 20)
        train(one, 1, 20)
        assert len(one.decisions) == 20

    def test_a_log_that_cannot_be_written(self, tmp_path):
        (tmp_path / "file").write_text("")
        with pytest.raises(ValueError, match="log must be a file that can be written"):
            scheduler(log=tmp_path / "file" / "log.jsonl")


def test_a_job_may_say_that_it_used_another_rate():
    told, other = scheduler(), scheduler()
    train(told, 1, 40)
    for step in range(1, 41):
        rate = other.lr_at(step)
        other.observe(step, loss=loss_at(step, TOTAL))
        other.applied(step, 10 * rate)
    assert other.lr_at(41) >= 0
    used = other.state_dict()["history"]["lr"]
    assert used[0] == pytest.approx(10 * other.lr_at(10))
    other.applied(50, -1.0)
    other.applied("soon", 1.0)  # pyright: ignore
    assert sum("said to be applied" in text for text in other.warnings) == 1
