"""The doctor finds what is wrong, names the run and the cure, keeps quiet about healthy runs, and suggests runs."""

import math

import numpy as np
import pytest
from tests.curves import diverged_run, toy_run, toy_runs

from lodestar.doctor import Severity, diagnose
from lodestar.doctor.diverged import why_unusable
from lodestar.fitting.dataset import prepare
from lodestar.runs import Direction, Facts, Note, NoteKind, RunSet, RunStore, Series, Status

SHAPES = ("constant", "cosine", "onecycle", "step", "linear with warm-up")


@pytest.fixture
def sweep(make_run):
    """Thirty healthy runs: five shapes, three rates, two seeds; 0.01 is the best rate."""

    def make():
        random = np.random.default_rng(0)
        for number in range(30):
            peak = (0.002, 0.01, 0.05)[number // 5 % 3]
            final = 0.9 - abs(math.log10(peak / 0.01)) / 10 + random.normal(0, 0.001)
            metric = Series([100, 200, 300, 400, 500], [0.1, 0.3, 0.5, 0.6, final])
            facts = Facts(seed=number // 15)
            yield make_run(f"r{number:02d}", shape=SHAPES[number % 5], peak=peak, metric=metric, facts=facts)

    return lambda: list(make())


def checks(runs):
    return {str(finding.check): finding for finding in diagnose(runs).findings}


def test_a_good_sweep_is_healthy(sweep):
    told = diagnose(sweep())
    assert told.findings == ()
    assert told.healthy
    assert (told.runs, told.usable) == (30, 30)
    assert told.shapes == dict.fromkeys(SHAPES, 6)
    assert told.suggestions == ()


def test_a_diverged_run_without_a_metric_is_a_finding_and_no_error(sweep, make_run):
    loss = Series([1, 2, 3], [2.0, math.nan, math.nan])
    lost = make_run("lost", loss=loss, metric=Series.empty(), total_steps=500, status=Status.DIVERGED)
    told = diagnose([*sweep(), lost])
    assert [(str(f.severity), str(f.check), f.run) for f in told.findings] == [("advice", "diverged", "lost")]
    assert "excluded" in told.findings[0].cure
    assert told.healthy and told.usable == 30
    assert "diverged" in str(why_unusable(lost))


def steps(*counts):
    return Series(np.cumsum(counts), 1 / np.sqrt(np.cumsum(counts)))


BROKEN = {
    "missing lr": {"lr": Series.empty()},
    "missing metric": {"metric": Series.empty()},
    "constant metric": {"metric": Series(range(10), [0.1] * 10)},
    "few metrics": {"metric": Series([10, 500], [0.1, 0.5])},
    "not finite": {"loss": Series(range(1, 51), [math.nan, *[1.0] * 49])},
    "diverged": {"loss": Series(range(1, 51), [*[1.0] * 49, math.inf]), "status": Status.DIVERGED},
    "cut short": {"total_steps": 1000, "status": Status.CUT_SHORT},
    "too short": {"points": 3},
    "repeated steps": {"notes": (Note("loss: steps 2-3 logged more than once", NoteKind.REPEATED_STEPS),)},
    "import note": {"notes": (Note("metric: 7 NaN were taken as 'not logged there'", NoteKind.FILLER),)},
    "sampled": {"loss": steps(*np.random.default_rng(0).integers(1, 30, 100))},
    "hole": {"loss": steps(*[1] * 50, 100, *[1] * 50)},
}


@pytest.mark.parametrize("check", BROKEN)
def test_each_fault_is_found_with_the_runs_name_and_a_cure(sweep, make_run, check):
    found = diagnose([*sweep(), make_run("odd one", **BROKEN[check])])
    [finding] = [finding for finding in found.findings if finding.check == check]
    assert finding.run == "odd one"
    assert finding.sentence and finding.cure


def test_a_history_of_exactly_500_points_looks_sampled(sweep, make_run):
    loss = Series(np.unique(np.linspace(1, 40_003, 500).astype(int)), np.ones(500))
    finding = checks([*sweep(), make_run("w", loss=loss)])["sampled"]
    assert "exactly 500 points for 40003 steps" in finding.sentence
    assert "scan_history" in finding.cure


def test_500_points_logged_evenly_are_not_suspicious(sweep, make_run):
    assert "sampled" not in checks([*sweep(), make_run("w", points=500)])


def test_an_lr_of_zero_throughout_is_an_error(sweep, make_run):
    finding = checks([*sweep(), make_run("z", peak=0.0)])["missing lr"]
    assert finding.severity is Severity.ERROR
    assert "0 throughout" in finding.sentence


def test_a_loss_that_ends_above_its_start_is_pointed_out(sweep, make_run):
    finding = checks([*sweep(), make_run("up", loss=Series(range(1, 51), np.linspace(1, 5, 50)))])["diverged"]
    assert finding.run == "up" and "never learned" in finding.sentence


def test_an_empty_store_is_an_error_with_the_command_to_type(tmp_path):
    [finding] = diagnose(RunStore.create(tmp_path / "s").iter()).findings
    assert finding.severity is Severity.ERROR
    assert "lodestar import" in finding.cure


def test_one_run_is_too_few_and_is_told_what_to_add(make_run):
    told = diagnose([make_run("only")])
    assert not told.healthy
    assert "a fit needs 4" in told.findings[0].sentence
    assert told.suggestions


def test_all_diverged(make_run):
    told = diagnose([make_run(f"r{i}", status=Status.DIVERGED, peak=1.0) for i in range(5)])
    assert "All 5 runs diverged" in told.findings[0].sentence
    assert all(idea.peak_lr < 1.0 for idea in told.suggestions)


def test_fewer_than_twenty_usable_runs_is_a_warning(sweep):
    finding = checks(sweep()[:12])["too few"]
    assert finding.severity is Severity.WARNING
    assert finding.sentence.startswith("12 of 12 runs")


def test_different_lengths_name_the_extremes(sweep, make_run):
    finding = checks([*sweep(), make_run("long one", points=200)])["different lengths"]
    assert "2000 (long one)" in finding.sentence
    assert finding.severity is Severity.WARNING


def test_one_shape_only(make_run):
    runs = [make_run(f"r{i}", shape="cosine", peak=10 ** (-3 + i / 12)) for i in range(25)]
    told = diagnose(runs)
    assert "one shape of schedule (cosine)" in checks(runs)["one shape"].sentence
    assert {"onecycle", "constant"} <= {idea.schedule for idea in told.suggestions}


def test_less_than_a_decade_of_rates(make_run):
    runs = [make_run(f"r{i}", shape=SHAPES[i % 5], peak=0.01 * (1 + i / 100)) for i in range(25)]
    assert "0.1 decades" in checks(runs)["lr range"].sentence


def test_an_uncovered_decade_is_named(sweep, make_run):
    finding = checks([*sweep(), make_run("far", peak=1e-5)])["lr range"]
    assert "between 1e-05 and 0.002" in finding.sentence


def test_one_seed_only(make_run):
    runs = [make_run(f"r{i}", facts=Facts(seed=3)) for i in range(3)]
    assert "one seed (3)" in checks(runs)["one seed"].sentence


def test_mixed_directions_are_an_error_and_mixed_metrics_a_warning(sweep, make_run):
    told = diagnose([*sweep(), make_run("m", direction=Direction.MIN, metric_name="val_loss")])
    mixed = [finding for finding in told.findings if finding.check == "mixed"]
    assert [finding.severity for finding in mixed] == [Severity.ERROR, Severity.WARNING]
    assert not told.healthy


def test_copies_are_found(sweep):
    runs = sweep()
    finding = checks([*runs, runs[0].replace(name="copy")])["copies"]
    assert (finding.run, "r00" in finding.sentence) == ("copy", True)


def test_the_best_run_at_the_edge_asks_for_a_look_beyond(make_run):
    runs = [
        make_run(
            f"r{i}", shape=SHAPES[i % 5], peak=10 ** (-3 + i / 12), metric=Series([1, 2, 3, 4, 500], [0, 0, 0, 0, i])
        )
        for i in range(25)
    ]
    assert diagnose(runs).suggestions[0].peak_lr == pytest.approx(0.3)


def test_no_suggestion_goes_where_runs_diverged(make_run):
    runs = [
        make_run(
            f"r{i}", shape=SHAPES[i % 5], peak=10 ** (-3 + i / 12), metric=Series([1, 2, 3, 4, 500], [0, 0, 0, 0, i])
        )
        for i in range(25)
    ]
    runs.append(make_run("lost", peak=0.2, status=Status.DIVERGED))
    assert all(idea.peak_lr <= 0.1 for idea in diagnose(runs).suggestions)


def test_suggestions_are_few_and_never_twice_the_same(make_run):
    ideas = diagnose([make_run("a"), make_run("b", points=60)]).suggestions
    assert 1 <= len(ideas) <= 6
    assert len({(idea.schedule, idea.peak_lr) for idea in ideas}) == len(ideas)


def test_errors_come_first_and_what_concerns_all_before_single_runs(make_run):
    told = diagnose([make_run("a", lr=Series.empty()), make_run("b", metric=Series.empty())])
    order = [(finding.severity, finding.run is not None) for finding in told.findings]
    ranks = [(list(Severity).index(severity), single) for severity, single in order]
    assert ranks == sorted(ranks)


def test_a_store_is_looked_through_one_run_at_a_time(sweep):
    alive = 0

    def one_by_one():
        nonlocal alive
        for run in sweep():
            alive += 1
            yield run

    seen = []
    diagnose(one_by_one(), progress=lambda done: seen.append((done, alive)))
    assert seen == [(i, i) for i in range(1, 31)]


def test_the_doctor_and_a_fit_agree_on_what_is_usable():
    """A stuck run, a diverged one and a stray NaN: counted the same by both."""
    stuck = toy_run("stuck", "constant", 0.5)
    stuck = stuck.replace(metric=Series(stuck.metric.steps, np.full(len(stuck.metric), 0.1)))
    stray = toy_run("stray", seed=7)
    values = stray.loss.values.copy()
    values[9] = np.nan
    stray = stray.replace(loss=Series(stray.loss.steps, values))
    runs = RunSet([*toy_runs(), stuck, stray, diverged_run()])
    told, made = diagnose(runs), prepare(runs)
    assert told.usable == len(made) == 17
    named = {f.run for f in told.findings if f.check in ("stuck", "diverged")}
    assert named == {name for name, _ in made.excluded} == {"stuck", "boom"}
