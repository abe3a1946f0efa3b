"""Regret, its intervals and its tests, by hand and by simulation."""

import json

import numpy as np
import pytest

from lodestar.runs import Direction
from lodestar_bench.merit import Contest, common_methods, merit
from lodestar_bench.report.merit import markdown, write_merit


def contest(name, tests, direction=Direction.MAX):
    return Contest(name, direction, {method: dict(enumerate(values)) for method, values in tests.items()})


# Standard deviations 1, 1 and 3: the unit is their median, 1.
FIRST = {"ours": [9.0, 10.0, 11.0], "steady": [10.0, 11.0, 12.0], "wild": [5.0, 8.0, 11.0]}
# The smaller the better, in units of 2.
SECOND = {"ours": [2.0, 4.0, 6.0], "steady": [8.0, 10.0, 12.0], "wild": [3.0, 5.0, 7.0]}


def test_regret_by_hand():
    found = merit([contest("a", FIRST), contest("b", SECOND, Direction.MIN)], "ours")
    regrets = {row.method: row.regrets for row in found.rows}
    assert regrets["ours"] == pytest.approx({"a": 1.0, "b": 0.0})
    assert regrets["steady"] == pytest.approx({"a": 0.0, "b": 3.0})
    assert regrets["wild"] == pytest.approx({"a": 3.0, "b": 0.5})
    assert [row.method for row in found.rows] == ["ours", "steady", "wild"]  # means 0.5, 1.5, 1.75
    means = {row.method: (row.mean.value, row.worst.value) for row in found.rows}
    assert means["steady"] == pytest.approx((1.5, 3.0))


def test_ours_is_held_against_each_by_seed_over_all_contests():
    found = merit([contest("a", FIRST), contest("b", SECOND, Direction.MIN)], "ours")
    rows = {row.method: row for row in found.rows}
    assert rows["ours"].against is None
    steady = rows["steady"].against
    assert steady is not None and steady.count == 6 and steady.mean == pytest.approx((-1.0 + 3.0) / 2)
    assert rows["steady"].not_worst == 1 and rows["wild"].not_worst == 2


def test_profiles_count_the_contests_within_reach():
    found = merit([contest("a", FIRST), contest("b", SECOND, Direction.MIN)], "ours")
    profile = found.profile(np.array([0.0, 0.5, 1.0, 3.0]))
    assert profile["ours"].tolist() == [0.5, 0.5, 1.0, 1.0]
    assert profile["wild"].tolist() == [0.0, 0.5, 0.5, 1.0]


def test_intervals_hold_the_true_regret_about_as_often_as_they_say():
    truth, held = {"a": 1.0, "b": 0.0, "c": 2.0}, 0
    for seed in range(60):
        drawn = np.random.default_rng(seed).normal(size=(3, 20))
        tests = {name: (-truth[name] + drawn[place]).tolist() for place, name in enumerate(truth)}
        row = next(row for row in merit([contest("x", tests)], "b", seed=seed).rows if row.method == "c")
        held += row.mean.lower <= 2.0 <= row.mean.upper
    assert 50 <= held <= 60


def test_only_methods_that_took_part_everywhere_count():
    other = {"ours": [1.0, 2.0], "else": [2.0, 3.0]}
    assert common_methods([contest("a", FIRST), contest("b", other)]) == ["ours"]
    with pytest.raises(ValueError, match="'steady' has no results in every comparison; ours has"):
        merit([contest("a", FIRST), contest("b", other)], "steady")
    with pytest.raises(ValueError, match="no comparison to measure"):
        common_methods([])


def test_what_cannot_be_measured_is_said():
    with pytest.raises(ValueError, match="a: seeds do not differ"):
        merit([contest("a", {"ours": [1.0, 1.0], "b": [2.0, 2.0]})], "ours")
    lone = Contest("a", Direction.MAX, {"ours": {0: 1.0}, "b": {1: 2.0}})
    with pytest.raises(ValueError, match="share at least 2 seeds, got 0"):
        merit([lone], "ours")


def test_a_page_with_its_data_and_picture(tmp_path):
    found = merit([contest("a", FIRST), contest("b", SECOND, Direction.MIN)], "ours")
    files = write_merit(found, "2 tasks.", tmp_path / "page")
    assert [path.name for path in files] == ["merit.md", "merit.json", "profiles.png"]
    assert "| steady | 1.50 |" in markdown(found, "2 tasks.")
    data = json.loads(files[1].read_text())
    assert data["rows"][0]["method"] == "ours" and data["contests"] == ["a", "b"]
    assert files[2].read_bytes().startswith(b"\x89PNG")
