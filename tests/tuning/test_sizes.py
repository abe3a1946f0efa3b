"""What runs of several sizes cost, and which is tried next."""

import pytest
from tests.responding import TOTAL, run_of

from lodestar.runs import Facts
from lodestar.schedules import parse
from lodestar.tuning.sizes import Sizes


def run_at(size: float, number: int, **facts):
    run = run_of(parse("constant:1e-3", TOTAL), number)
    return run.replace(facts=Facts(extra={"size": size, **facts}))


def test_without_sizes_every_run_is_a_full_one():
    sizes = Sizes()
    assert sizes.next([], 4, 2.6) == [None] * 3 and sizes.next([], 1, 0.5) == [None]
    assert sizes.spent([run_at(8, 0)]) == 1 and sizes.job([run_at(8, 0)]) == {} and sizes.full is None


def test_the_next_size_is_the_one_with_the_least_work_so_far():
    sizes = Sizes((8, 16, 32))
    assert sizes.next([], 6, 9.0) == [8, 16, 32, 8, 8, 16]
    assert sizes.next([run_at(8, 0), run_at(16, 1)], 1, 9.0) == [32]


def test_a_trial_that_was_stopped_counts_for_its_part_and_its_size():
    stopped = run_at(8, 0)
    stopped = stopped.replace(
        loss=stopped.loss.until(TOTAL // 2), metric=stopped.metric.until(TOTAL // 2), lr=stopped.lr.until(TOTAL // 2)
    )
    assert Sizes((8, 32)).spent([stopped, run_at(32, 1)]) == pytest.approx(1 + 0.5 / 4)


def test_parameters_say_more_of_the_work_than_the_size():
    runs = [run_at(8, 0, parameters=100), run_at(32, 1, parameters=1600)]
    assert Sizes((8, 32)).share(8, runs) == 1 / 16 and Sizes((8, 32)).share(8) == 1 / 4
    assert Sizes((8, 32)).job(runs)["parameters"] == 1600


def test_what_is_left_of_the_budget_limits_the_sizes():
    sizes = Sizes((8, 32))
    assert sizes.next([run_at(8, n) for n in range(8)], 4, 0.3) == [8]  # a full run would take more than is left
    assert sizes.least([]) == 1 / 4


def test_of_a_job_that_is_never_run_the_size_is_stated_and_the_parameters_are_drawn_on():
    runs = [run_at(8, 0, parameters=100, batch_size=4), run_at(16, 1, parameters=400, batch_size=4)]
    sizes = Sizes((8, 16), 64)
    assert sizes.full == 64 and sizes.of_full(runs) == []
    assert sizes.share(16, runs) == pytest.approx(1 / 16) and sizes.share(16) == 1 / 4
    job = sizes.job(runs)
    assert job["parameters"] == pytest.approx(6400) and job["batch_size"] == 4
    assert Sizes((8, 16), 64).job([run_at(8, 0)])["width"] == 64


def test_for_a_job_that_is_never_run_sizes_take_turns_at_first():
    assert Sizes((8, 16), 64).next([], 4, 9.0) == [8, 16, 8, 16]


@pytest.mark.parametrize(
    ("values", "job", "said"),
    [
        ((8, 16), 0, "size must be a number above 0, got 0"),
        ((8, 16), float("nan"), "size must be a number above 0, got nan"),
        ((), 64, "at least two, got none"),
        ((8,), 64, "at least two, got 8"),
        ((8, 16), 16, "size=16 is one of the sizes that are run"),
        ((8, 16), 3200, "lies 200 times beyond the sizes that are run"),
    ],
)
def test_a_job_that_cannot_be_is_a_sentence(values, job, said):
    with pytest.raises(ValueError, match=said):
        Sizes(values, job)
