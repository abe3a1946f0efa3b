"""Pruning in a sweep: a trial is stopped in its worker, kept as cut short, and learned from after a resume."""

from tests.pruned import learned_pruner
from tests.responding import TOTAL, run_of
from tests.sweep.here import HereExecutor
from tests.sweep.jobs import named

from lodestar.pruning import Pruner, Verdict, VerdictKind
from lodestar.runs import Direction, NoteKind, RunStore, Series, Status
from lodestar.schedules import parse
from lodestar.sweep import Done, Job, LocalExecutor, Reported, Started, Trial, run_trials
from lodestar.sweep.prune import SweepPruner
from lodestar.sweep.sweep import _pruner


class Asked(HereExecutor):
    """An executor that remembers which trials it was asked to stop."""

    def __init__(self):
        super().__init__()
        self.stopped: list[tuple[str, str]] = []

    def stop(self, trial, reason):
        self.stopped.append((trial.name, reason))
        return True


class Impatient(Pruner):
    """Stops the trial called `bad` at the first look, learned or not."""

    def judge(self, run, schedule=None):
        kind = VerdictKind.HOPELESS if run.name == "bad" else VerdictKind.LEARNING
        return Verdict(kind, "it is called bad")


def trial_of(name: str, words: str) -> Trial:
    return Trial(name, 0, TOTAL, parse(words, TOTAL))


def test_a_trial_without_a_chance_is_stopped_by_its_reports_and_another_is_not():
    executor = Asked()
    follower = SweepPruner(learned_pruner(), executor, Job("m:f"))
    follower._background._next = float("inf")
    for name, words in (("bad", "constant:3e-4"), ("good", "wsd:1e-2")):
        trial = trial_of(name, words)
        run = run_of(parse(words, TOTAL), 5)
        follower.take(Started(trial, "here"))
        for step, value in zip(run.metric.steps, run.metric.values, strict=True):
            follower.take(Reported(trial, int(step), float(run.loss.until(step).values[-1]), float(value)))
    assert {name for name, _ in executor.stopped} == {"bad"}
    assert "its chance to end better than the best so far" in executor.stopped[0][1]


def test_a_stopped_trial_ends_at_its_next_report_and_is_kept_as_cut_short(tmp_path):
    settings = {"seconds": 20.0}
    trials = [Trial(name, seed, 200, parse("constant:0.1", 200), settings) for seed, name in enumerate(["bad", "ok"])]
    trials[1] = Trial("ok", 1, 200, parse("constant:0.1", 200), {"seconds": 0.1})
    with LocalExecutor(2, pin=False) as executor:
        result = run_trials(Job(named("slow")), trials, tmp_path / "runs", executor, prune=Impatient())
    assert (result.finished, result.pruned, result.cut_short, result.failed) == (1, 1, 0, ())
    run = RunStore.open(tmp_path / "runs").read(["bad"])[0]
    assert run.status is Status.CUT_SHORT and run.last_step < 200
    assert [str(note) for note in run.notes if note.kind is NoteKind.PRUNED] == [
        f"stopped at step {run.last_step} of 200: it is called bad"
    ]


class Attentive(Pruner):
    """Tells of what it learned, without a fit."""

    def __init__(self):
        super().__init__()
        self.heard: list[str] = []

    def learn(self, runs):
        self.heard = sorted(run.name for run in runs)
        return self.learned


def test_a_resumed_sweep_learns_from_what_is_in_the_store(tmp_path):
    trials = [trial_of(f"t{number}", "constant:0.1") for number in range(4)]
    run_trials(Job(named("good")), trials[:3], tmp_path / "runs", HereExecutor())
    other = Job(named("good"), metric_name="another")
    run_trials(other, [trial_of("other", "constant:0.1")], tmp_path / "runs", HereExecutor())
    pruner = Attentive()
    follower = _pruner(pruner, HereExecutor(), Job(named("good")), RunStore.open(tmp_path / "runs"))
    follower._background.wait()
    assert pruner.heard == ["t0", "t1", "t2"]


def test_runs_without_a_metric_teach_nothing_and_do_no_harm():
    follower = SweepPruner(Pruner(), Asked(), Job("m:f", direction="min"))
    run = run_of(parse("constant:1e-3", TOTAL), 1, direction=Direction.MIN).replace(metric=Series.empty())
    trial = trial_of("bare", "constant:1e-3")
    follower.take(Started(trial, "here"))
    follower.take(Reported(trial, 40, 1.0, None))
    follower.take(Done(trial, run, 1.0))
    assert follower._ended == []


def test_what_goes_wrong_in_judging_is_a_warning_and_the_sweep_goes_on(caplog):
    class Broken(Pruner):
        def judge(self, run, schedule=None):
            raise ZeroDivisionError("of no use")

    follower = SweepPruner(Broken(), Asked(), Job("m:f"))
    trial = trial_of("t", "constant:1e-3")
    follower.take(Started(trial, "here"))
    follower.take(Reported(trial, 40, 1.0, 0.5))
    assert "t could not be judged and goes on: ZeroDivisionError('of no use')" in caplog.text


def follow(follower: SweepPruner, trial: Trial, words: str, *, times: int = 1, spoilt: float | None = None) -> None:
    """Report what a run of the words does, at `times` its steps."""
    run = run_of(parse(words, TOTAL), 5)
    follower.take(Started(trial, "here"))
    for step, value in zip(run.metric.steps, run.metric.values, strict=True):
        loss, metric = float(run.loss.until(step).values[-1]), float(value)
        follower.take(Reported(trial, times * int(step), *(2 * [spoilt] if spoilt is not None else [loss, metric])))


def patient(executor: Asked) -> SweepPruner:
    follower = SweepPruner(learned_pruner(), executor, Job("m:f"))
    follower._background._next = float("inf")
    return follower


def test_a_trial_that_sets_its_own_rate_and_never_says_it_is_judged_by_its_curve():
    executor = Asked()
    follow(patient(executor), Trial("bare", 0, TOTAL, None), "constant:3e-4")
    assert ", its curve forecast a final" in executor.stopped[0][1]


def test_a_trial_of_another_length_is_seen_as_shares_of_its_own():
    executor = Asked()
    follow(patient(executor), Trial("long", 0, 2 * TOTAL, parse("constant:3e-4", 2 * TOTAL)), "constant:3e-4", times=2)
    assert executor.stopped[0][1].startswith("at 10% of the run")


def test_values_that_are_not_finite_are_the_recorders_to_judge():
    executor = Asked()
    follow(patient(executor), trial_of("lost", "wsd:1e-2"), "wsd:1e-2", spoilt=float("nan"))
    assert executor.stopped == []


def test_runs_of_the_other_direction_in_the_store_are_a_sentence_and_left_out(tmp_path, caplog):
    run_trials(Job(named("good")), [trial_of("t0", "constant:0.1")], tmp_path / "runs", HereExecutor())
    pruner = Attentive()
    other = Job(named("good"), direction="min")
    result = run_trials(other, [trial_of("t1", "constant:0.1")], tmp_path / "runs", HereExecutor(), prune=pruner)
    assert "1 of 1 runs in the store have the same metric 'metric' in the other direction" in caplog.text
    assert result.finished == 1 and "t0" not in pruner.heard


def test_all_trials_failing_end_a_sweep_as_they_do_without_pruning(tmp_path):
    trials = [Trial(f"t{n}", n, 20, parse("constant:0.1", 20), {"what": "raise"}) for n in range(4)]
    result = run_trials(Job(named("odd")), trials, tmp_path / "runs", HereExecutor(), prune=Pruner())
    assert len(result.failed) == 4 and result.best is None
    assert "the data are gone" in result.failed[0].reason
