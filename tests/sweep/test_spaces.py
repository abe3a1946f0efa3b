"""Spaces: the paper's grid, the quasi-random one, lists; the first n are a good choice for any n."""

import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lodestar._errors import MissingExtra, SweepError
from lodestar.sweep import Grid, QuasiRandom, Range, Schedule, Trial, TrialList, paper_grid
from lodestar.sweep.call import make_space


def digests(trials):
    return [trial.digest for trial in trials]


def rates(trial: Trial) -> Schedule:
    assert trial.schedule is not None
    return trial.schedule


def test_the_papers_grid_is_four_shapes_five_rates_five_seeds():
    trials = paper_grid((1e-4, 1e-2)).trials(None, 50, seed=0)
    assert len(trials) == 100
    assert {rates(t).name for t in trials} == {"constant", "cosine", "onecycle", "step"}
    assert {t.seed for t in trials} == {0, 1, 2, 3, 4}
    assert sorted({rates(t).peak for t in trials if rates(t).name == "constant"}) == pytest.approx(
        [1e-4, 10**-3.5, 1e-3, 10**-2.5, 1e-2], rel=1e-3
    )


def test_the_grids_first_runs_try_every_schedule_once_and_more_seeds_follow():
    grid = paper_grid()
    assert {t.seed for t in grid.trials(20, 10, seed=7)} == {7}
    assert len({t.name for t in grid.trials(130, 10, seed=0)}) == 130
    assert digests(grid.trials(33, 10, seed=0)) == digests(grid.trials(130, 10, seed=0)[:33])


@settings(max_examples=20, deadline=None)
@given(few=st.integers(1, 60), more=st.integers(0, 100), seed=st.integers(0, 5))
def test_the_first_quasi_random_trials_are_the_same_for_any_number(few, more, seed):
    space = QuasiRandom()
    assert digests(space.trials(few, 30, seed=seed)) == digests(space.trials(few + more, 30, seed=seed)[:few])


def test_with_averaged_weights_a_rate_need_not_fall():
    plain, averaged = (make_space(name, 100, seed=0, peak=(1e-3, 1e-1)) for name in ("sobol", "averaged"))
    floors = [[float(trial.settings["floor"]) for trial in one.trials(64, 100, seed=0)] for one in (plain, averaged)]
    assert max(floors[0]) == 0.1 and max(floors[1]) > 0.95 and min(floors[1]) < 0.05
    assert averaged.identity() != plain.identity()
    assert max(rates(trial).rates[-1] / rates(trial).peak for trial in averaged.trials(64, 100, seed=0)) > 0.9


def test_quasi_random_trials_cover_each_range_evenly():
    trials = QuasiRandom(peak=Range(1e-4, 1e-1, log=True)).trials(64, 1000, seed=3)
    assert len({t.name for t in trials}) == len({t.seed for t in trials}) == 64
    logs = np.log10([rates(t).peak for t in trials])
    counts, _ = np.histogram(logs, bins=8, range=(-4, -1))
    assert counts.min() >= 7 and counts.max() <= 9
    for name, low, high in (("warmup", 0, 0.3), ("power", 0.5, 3)):
        values = np.array([t.settings[name] for t in trials])
        assert low <= values.min() < low + 0.1 * (high - low)
        assert high - 0.1 * (high - low) < values.max() <= high
    assert {t.settings["floor"] for t in trials} == {0.0, 0.01, 0.1}
    assert all(float(t.settings["warmup"]) + float(t.settings["plateau"]) < 1 for t in trials)


def test_another_seed_gives_other_trials_with_other_names():
    first, second = (QuasiRandom().trials(10, 30, seed=seed) for seed in (0, 1))
    assert not {t.name for t in first} & {t.name for t in second}
    assert not set(digests(first)) & set(digests(second))


def test_listed_trials_may_be_repeated_with_further_seeds():
    trial = Trial("mine", 4, 3, Schedule("mine", [1, 2, 3]))
    again = TrialList([trial], seeds=3).trials(None, 0, seed=0)
    assert [t.seed for t in again] == [4, 5, 6]
    assert len({t.name for t in again}) == 3
    assert TrialList([trial]).trials(None, 0, seed=0) == [trial]


@pytest.mark.parametrize(
    "make",
    [
        lambda: Range(2, 1),
        lambda: Range(0, 1, log=True),
        lambda: Grid(("cosin",), (1e-3,)),
        lambda: Grid(rates=()),
        lambda: Grid(rates=(-1.0,)),
        lambda: QuasiRandom(warmup=Range(0, 2)),
        lambda: paper_grid((1e-2, 1e-3)),
    ],
)
def test_impossible_spaces_are_refused(make):
    with pytest.raises(ValueError):
        make()


def test_a_digest_tells_trials_apart_but_not_by_the_last_digit():
    trial = Trial("a", 1, 3, Schedule("s", [0.5, 0.2, 0.1]))
    same = Trial("a", 1, 3, Schedule("s", np.nextafter([0.5, 0.2, 0.1], 0)))
    others = [
        Trial("b", 1, 3, trial.schedule),
        Trial("a", 2, 3, trial.schedule),
        Trial("a", 1, 4, trial.schedule),
        Trial("a", 1, 3, Schedule("s", [0.5, 0.2, 0.11])),
        Trial("a", 1, 3, trial.schedule, {"width": 3}),
        Trial("a", 1, 3),
    ]
    assert same.digest == trial.digest
    assert trial.digest not in {other.digest for other in others}


def test_a_space_in_words():
    trials = make_space("cosine:1e-3, linear:3e-3:warmup=0.05", 50, seed=2, seeds=2).trials(None, 0, seed=2)
    assert [str(rates(t)) for t in trials] == ["cosine:0.001", "linear:0.003:warmup=0.05"] * 2
    assert [t.seed for t in trials] == [2, 2, 3, 3] and len({t.name for t in trials}) == 4
    with pytest.raises(SweepError, match="how many updates"):
        make_space("cosine:1e-3", None, seed=0)
    with pytest.raises(ValueError, match="no schedule family 'cosin'"):
        make_space("cosin:1e-3", 10, seed=0)


def test_without_scipy_a_quasi_random_space_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "scipy.stats", None)
    with pytest.raises(MissingExtra, match=r"'scipy' is not installed.*\[cli\]"):
        QuasiRandom().trials(3, 10, seed=0)
