"""What a trial does to its process does not reach the next one in the same worker."""

import pytest
from tests.sweep.jobs import named

from lodestar.schedules import cosine
from lodestar.sweep import Done, Failed, Job, LocalExecutor, Trial

TRIALS = ("look", "alarm", "look", "handler", "look", "rest", "look", "streams", "look")


@pytest.fixture(scope="module")
def facts(tmp_path_factory):
    """What each of the trials saw, made by one worker."""
    trials = [Trial(f"{n} {what}", 0, 5, cosine(0.1, 5), {"what": what}) for n, what in enumerate(TRIALS)]
    events = LocalExecutor(1, logs=tmp_path_factory.mktemp("logs")).run(Job(named("disturbs")), trials)
    return [dict(event.run.facts.extra) for event in events if isinstance(event, Done)]


def test_every_trial_is_made_by_the_same_process(facts):
    assert len(facts) == len(TRIALS)
    assert len({seen["pid"] for seen in facts}) == 1


@pytest.mark.parametrize(
    "what",
    ["alarm", "virtual", "handlers", "mask", "wakeup", "umask", "folder", "environment", "cores", "ignores a fault"],
)
def test_nothing_is_left_for_the_next(facts, what):
    assert len({seen[what] for seen in facts}) == 1


def test_a_timer_that_fires_as_its_trial_ends_costs_no_other(tmp_path):
    """Its handler raises; where it strikes cannot be told, but the trial after it is whole every time."""
    trials = [Trial(f"{n} {w}", n, 5, cosine(0.1, 5), {"what": w}) for n in range(8) for w in ("late alarm", "look")]
    ends = {e.trial.name: e for e in LocalExecutor(1, logs=tmp_path).run(Job(named("disturbs")), trials)}
    assert {type(end) for name, end in ends.items() if name.endswith("look")} == {Done}
    reasons = [end.reason for end in ends.values() if isinstance(end, Failed)]
    assert all("it raised TimeoutError: too late" in reason for reason in reasons)
