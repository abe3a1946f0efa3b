"""A time limit in words is so many seconds, or refused with the way to write it."""

import pytest

from lodestar.sweep import LocalExecutor, run_sweep
from lodestar.sweep.time_limit import seconds_of


@pytest.mark.parametrize(
    ("limit", "seconds"),
    [("90s", 90), ("30m", 1800), ("2h", 7200), ("1h30m", 5400), ("1.5 H", 5400), ("1d", 86400), ("45", 45), (0.5, 0.5)],
)
def test_words_and_numbers_are_seconds(limit, seconds):
    assert seconds_of(limit) == seconds


@pytest.mark.parametrize("limit", ["", "soon", "30 min", "m", "1h30", "-5", "0s", "nan", "inf", "1..5s", 0, -1.0])
def test_what_is_no_time_is_refused(limit):
    with pytest.raises(ValueError, match=r"time limit .*Fix: 90s, 30m"):
        LocalExecutor(1, timeout=limit)


def test_a_limit_beside_an_executor_is_refused(tmp_path):
    with pytest.raises(ValueError, match="timeout="):
        run_sweep("a:b", out=tmp_path / "r", seed=0, total_steps=5, executor=LocalExecutor(1), trial_timeout="1h")
