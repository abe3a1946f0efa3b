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
