import dataclasses
import threading

import numpy as np
import pytest
from tests.responding import TOTAL, run_of

from lodestar.pruning import Background, Pruner, VerdictKind, fit_finals
from lodestar.pruning.pruner import due
from lodestar.pruning.regression import fit_regression
from lodestar.pruning.trials import has_loss, without_loss
from lodestar.runs import Direction, Run, Series, Status
from lodestar.schedules import parse

GOOD, BAD = "wsd:1e-2", "constant:3e-4"


def part(words: str, share: float, seed: int = 77, **changes) -> Run:
    run = run_of(parse(words, TOTAL), seed)
    cut = {name: getattr(run, name).until(share * TOTAL) for name in ("loss", "metric", "lr")}
    return run.replace(**cut, **changes)


def test_a_hopeless_schedule_is_stopped_and_the_sentence_names_forecast_and_best(learned):
    verdict = learned.judge(part(BAD, 0.1), parse(BAD, TOTAL))
    name, best = learned.learned.best
    assert verdict.kind is VerdictKind.HOPELESS and verdict.stop
    assert f"{best:.4g} ({name})" in verdict.reason and "at 10% of the run" in verdict.reason
    assert verdict.forecast.lower < verdict.forecast.centre < verdict.forecast.upper < best


def test_of_two_trials_that_look_alike_the_one_whose_rate_will_fall_goes_on(past):
    """Until the rate of one falls, near its end, a constant rate and one that falls late are the same run."""
    words = ("constant:3e-3", "constant:1e-3", "constant:6e-3", "linear:5e-3", "wsd:5e-3", "wsd:2e-3")
    others = [run_of(parse(each, TOTAL), 200 + number, name=each) for number, each in enumerate(words)]
    pruner = Pruner()
    pruner.learn([*past, *others])
    falls, stays, run = parse("wsd:1e-2", TOTAL), parse("constant:1e-2", TOTAL), part("wsd:1e-2", 0.75)
    assert pruner.judge(run, falls).kind is VerdictKind.PROMISING
    assert pruner.judge(run, stays).kind is VerdictKind.HOPELESS


def test_a_trial_goes_on_if_one_of_the_models_speaks_for_it(learned):
    """By its curve alone a rate that has not fallen yet looks bad; its schedule says what is still to come."""
    run = part(GOOD, 0.75, seed=5)
    known = {model.knows_schedule: model.forecast(run, parse(GOOD, TOTAL), 0.6) for model in learned.learned.models}
    assert known[False].chance < 0.25 and known[False].centre < known[True].centre
    assert learned.judge(run, parse(GOOD, TOTAL)).kind is VerdictKind.PROMISING


def test_without_a_schedule_the_curve_alone_is_judged(learned):
    verdict = learned.judge(part(BAD, 0.75))
    assert verdict.stop and not verdict.forecast.knows_schedule


def test_a_trial_that_reports_no_loss_is_judged_by_models_of_trials_that_do(learned):
    run = without_loss(part(BAD, 0.5))
    assert not has_loss(run) and learned.judge(run, parse(BAD, TOTAL)).stop


def test_one_trial_without_a_loss_makes_all_go_by_their_metric(past):
    models = fit_finals([without_loss(past[0]), *past[1:4]])
    assert models and not any(model.units.knows_loss for model in models)


def test_before_enough_trials_have_finished_nothing_is_stopped(past):
    pruner = Pruner(startup=5)
    pruner.learn(past[:4])
    assert pruner.judge(part(BAD, 0.9)).kind is VerdictKind.LEARNING


def test_trials_that_end_by_luck_alone_are_never_stopped():
    rng = np.random.default_rng(0)
    steps = np.arange(1, 21)

    def by_luck(number: int) -> Run:
        values = Series(steps, rng.uniform(0.2, 0.8, 20))
        return Run(f"r{number}", values, values, Series.empty(), Direction.MIN, total_steps=20)

    pruner = Pruner()
    pruner.learn([by_luck(number) for number in range(10)])
    under_way = [by_luck(100 + number) for number in range(10)]
    stopped = [pruner.judge(r.replace(loss=r.loss.until(8), metric=r.metric.until(8))).stop for r in under_way]
    assert not any(stopped)


def test_values_that_stay_not_finite_stop_a_trial_without_any_learning():
    run = part(GOOD, 0.5)
    bad = Series([1, 2, 3, 4], [0.1, np.nan, np.inf, np.nan])
    assert Pruner().judge(run.replace(metric=bad)).kind is VerdictKind.NOT_FINITE
    assert Pruner().judge(run.replace(metric=bad.until(3))).kind is VerdictKind.LEARNING  # two only


def against(pruner: Pruner, learned: Pruner, **changes) -> VerdictKind:
    """The verdict on a trial whose forecast interval, 90 %, ends just at the best so far: a chance of 5 %."""
    run, schedule = part("linear:2e-3", 0.1), parse("linear:2e-3", TOTAL)
    forecast = learned.judge(run, schedule).forecast
    assert forecast is not None
    pruner.learned = dataclasses.replace(learned.learned, best=("best", forecast.upper), **changes)
    verdict = pruner.judge(run, schedule)
    assert verdict.forecast is not None and verdict.forecast.chance == pytest.approx(0.05, rel=1e-6)
    return verdict.kind


def test_a_trial_is_stopped_below_the_least_chance_and_not_above(learned):
    assert against(Pruner(least_chance=0.06), learned) is VerdictKind.HOPELESS
    assert against(Pruner(least_chance=0.04), learned) is VerdictKind.PROMISING


def placed(learned: Pruner, words: str, better: int, asked: int) -> VerdictKind:
    """The verdict where so many past trials looked better, and so many may."""
    pruner = Pruner()
    model = max(learned.learned.models, key=lambda model: model.knows_schedule)

    class Placed(type(model)):
        def forecast(self, run, schedule, than):
            final = super().forecast(run, schedule, than)
            assert final is not None
            return dataclasses.replace(final, better=better, asked=asked)

    fixed = Placed(**vars(model))
    pruner.learned = dataclasses.replace(learned.learned, models=(fixed,))
    return pruner.judge(part(words, 0.1), parse(words, TOTAL)).kind


def test_a_trial_goes_on_where_the_best_of_a_sweep_may_stand(learned):
    assert placed(learned, BAD, better=8, asked=7) is VerdictKind.HOPELESS
    assert placed(learned, BAD, better=7, asked=7) is VerdictKind.PROMISING


def test_a_trial_that_is_likely_to_become_the_best_goes_on_whatever_its_place(learned):
    pruner = Pruner()
    pruner.learned = dataclasses.replace(learned.learned, best=("poor", 0.2))
    verdict = pruner.judge(part(BAD, 0.1), parse(BAD, TOTAL))
    assert verdict.forecast is not None and verdict.forecast.chance > 0.25
    assert verdict.kind is VerdictKind.PROMISING


def test_a_single_look_stops_no_trial(learned):
    """At the first moment all may look better; later, a trial that looked as bad at two is stopped."""
    first, second = (learned.judge(part(BAD, share), parse(BAD, TOTAL)) for share in (0.05, 0.1))
    assert first.forecast is None or first.forecast.asked == first.forecast.among
    assert first.kind is not VerdictKind.HOPELESS and second.kind is VerdictKind.HOPELESS


def test_a_trial_that_was_stopped_is_learned_from_with_the_schedule_it_was_judged_by(past):
    pruner = Pruner()
    pruner.learn(past[:6])
    stopped = part("linear:2e-3", 0.25).replace(name="stopped", status=Status.CUT_SHORT)
    pruner.judge(stopped, parse("linear:2e-3", TOTAL))
    known = {model.knows_schedule: model for model in pruner.learn([*past[:6], stopped]).models}
    early, late = known[True].moments[0], known[True].moments[-1]
    assert len(early.regression.points) == 7 and len(late.regression.points) == 6


def test_the_same_runs_teach_the_same(past):
    one, other = (Pruner().learn(past).models[0].moments[3].shown for _ in range(2))
    np.testing.assert_array_equal(one, other)


def test_a_regression_finds_a_change_that_goes_with_a_feature():
    rng = np.random.default_rng(1)
    features = rng.normal(size=(30, 3))
    finals = features[:, 0] + 2.0 * features[:, 1] + 0.05 * rng.normal(size=30)
    made = fit_regression(features, finals, np.zeros(30), 0.01)
    other = rng.normal(size=(200, 3))
    centres, deviations = made(other)
    off = np.abs(centres - other[:, 0] - 2.0 * other[:, 1])
    assert np.sqrt(np.mean((made.left_out - finals) ** 2)) < 0.5
    assert np.mean(off < 2.0 * deviations) > 0.9


def test_none_is_stopped_before_the_share_that_must_be_seen(learned):
    assert against(Pruner(least_chance=0.06, least_seen=0.2), learned) is VerdictKind.PROMISING


def test_stopped_trials_are_no_best(past):
    pruner = Pruner()
    stopped = run_of(parse(GOOD, TOTAL), 5, name="stopped").replace(status=Status.CUT_SHORT)
    pruner.learn([*past[:3], stopped])
    assert pruner.learned.finished == 3 and pruner.learned.best != ("stopped", stopped.final_metric)


def test_a_trial_is_judged_once_after_each_moment():
    assert due(0.0, 0.05) and not due(0.05, 0.06) and due(0.06, 0.08) and not due(0.9, 1.0)


@pytest.mark.parametrize(("name", "value"), [("least_chance", 0.7), ("startup", 1), ("least_seen", 1.0)])
def test_bad_settings_name_the_rule_and_the_fix(name, value):
    with pytest.raises(ValueError, match=rf"{name}.*got {value}.*"):
        Pruner(**{name: value})


def test_runs_that_teach_nothing_make_no_model():
    flat = Series(np.arange(1, 21), np.ones(20))
    same = [Run(f"r{n}", flat, flat, Series.empty(), Direction.MIN) for n in range(6)]
    assert fit_finals(same) == ()


def test_learning_happens_in_a_thread_and_holds_nobody_up(past):
    background, began, go_on = Background(Pruner(), every=0.0, share=1e9), threading.Event(), threading.Event()

    def runs():
        began.set()
        go_on.wait(60)
        return past[:5]

    background.look(runs)
    assert began.wait(60)
    background.look(lambda: pytest.fail("a second thread began beside the first"))
    assert background.pruner.judge(part(BAD, 0.5)).kind is VerdictKind.LEARNING  # answers while the thread works
    go_on.set()
    background.wait()
    assert background.pruner.learned.finished == 5
    learned = background.pruner.learned
    background.look(lambda: past[:5])
    background.wait()
    assert background.pruner.learned is learned  # nothing was new


def test_a_history_is_a_head_start_but_holds_no_record(past):
    pruner = Pruner(history=past[:4], startup=5)
    best = max(past[:4], key=lambda run: run.final_metric)
    pruner.learn([past[5]])
    assert pruner.learned.finished == 5 and pruner.learned.models
    assert pruner.learned.best == (past[5].name, past[5].final_metric) and best.final_metric > past[5].final_metric


def test_a_failure_to_learn_is_a_warning(caplog):
    background = Background(Pruner())
    background.look(lambda: (_ for _ in ()).throw(OSError("the storage is gone")))
    background.wait()
    assert "the storage is gone" in caplog.text
