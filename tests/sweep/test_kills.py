"""kill -9 at random moments: the store opens every time, no trial is lost, none is stored twice."""

from benchmarks import kills


def test_three_kills_lose_nothing():
    found = kills.run(kills=3, trials_a_kill=6, seed=1)
    assert found["kills"] == 3
    assert found["in_the_store"] == 18
