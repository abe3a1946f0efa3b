"""`RunSet`: unique names, whole groups in a split, one direction, the best run."""

import math

import pytest

from lodestar._errors import RunError
from lodestar.runs import Direction, Facts, RunSet, Series, Status


def seeded(make_run, count=10):
    return RunSet(make_run(f"r{i}", facts=Facts(seed=i % 5, schedule="cosine")) for i in range(count))


def test_two_runs_cannot_share_a_name(make_run):
    with pytest.raises(RunError, match="two runs are called 'a'"):
        RunSet([make_run("a"), make_run("a")])


def test_a_split_by_seed_keeps_seeds_whole(make_run):
    kept, held_out = seeded(make_run).split(0.2, by="seed", seed=0)
    assert len(held_out) == 2
    assert not {r.facts.seed for r in kept} & {r.facts.seed for r in held_out}


def test_a_split_is_the_same_for_the_same_seed(make_run):
    assert seeded(make_run).split(0.3, seed=3) == seeded(make_run).split(0.3, seed=3)


def test_one_group_cannot_be_split(make_run):
    kept, held_out = RunSet([make_run("only")]).split(0.5, seed=0)
    assert (len(kept), len(held_out)) == (1, 0)


def test_best_respects_the_direction(make_run):
    runs = [make_run(f"r{v}", direction=Direction.MIN, metric=Series([1], [v])) for v in (0.3, 0.1, 0.2)]
    assert RunSet(runs).best().name == "r0.1"


def test_best_ignores_diverged_and_nan(make_run):
    runs = [
        make_run("diverged", metric=Series([1], [9.0]), status=Status.DIVERGED),
        make_run("nan", metric=Series([1], [math.nan])),
        make_run("fine", metric=Series([1], [0.5])),
    ]
    assert RunSet(runs).best().name == "fine"


def test_an_empty_set_has_no_best_and_says_so():
    with pytest.raises(RunError, match="none of these 0 runs"):
        RunSet().best()


def test_mixed_directions_are_an_error_with_a_cure(make_run):
    with pytest.raises(RunError, match="Fix"):
        _ = RunSet([make_run("a"), make_run("b", direction=Direction.MIN)]).direction


def test_describe_is_plain_data(make_run):
    told = seeded(make_run).describe()
    assert told["runs"] == 10
    assert told["status"] == {"finished": 10}
    assert told["seeds"] == [0, 1, 2, 3, 4]
