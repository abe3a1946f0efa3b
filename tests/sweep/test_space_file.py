"""Spaces from files: what each kind means, and errors that name the file and the key."""

import numpy as np
import pytest

from lodestar import _errors
from lodestar.sweep import Grid, QuasiRandom, Schedule, Trial
from lodestar.sweep.space_file import read_space


def rates(trial: Trial) -> Schedule:
    assert trial.schedule is not None
    return trial.schedule


@pytest.fixture
def space(tmp_path):
    def read(text, name="space.toml", steps=100, **named):
        path = tmp_path / name
        path.write_text(text)
        return read_space(path, steps, seed=0, **named)

    return read


def test_ranges_numbers_and_choices(space):
    found = space('kind = "sobol"\npeak = [1e-3, 1e-1]\nwarmup = 0.1\nfloor = {choices = [0.0, 0.5]}')
    assert isinstance(found, QuasiRandom)
    trials = found.trials(16, 100, seed=0)
    assert {t.settings["warmup"] for t in trials} == {0.1}
    assert {t.settings["floor"] for t in trials} == {0.0, 0.5}
    assert all(9e-4 < rates(t).peak < 0.101 for t in trials)


def test_a_grid(space):
    found = space('kind = "grid"\nshapes = ["wsd", "linear"]\nrates = [1e-3, 3e-3, 1e-2]\nseeds = 2')
    assert isinstance(found, Grid)
    assert len(found.trials(None, 100, seed=0)) == 12
    assert len(space('kind = "grid"\npeak = [1e-3, 1e-2]', seeds=1).trials(None, 10, seed=0)) == 20


def test_a_list_of_trials(space):
    found = space(
        '[[trial]]\nshape = "cosine"\npeak = 3e-3\nseed = 7\nsettings = {width = 64}\n'
        '[[trial]]\nname = "mine"\nrates = [0.1, 0.2]\n'
        "[[trial]]\npeak = 1e-2\nwarmup = 0.2\n"
    ).trials(None, 100, seed=0)
    assert [t.total_steps for t in found] == [100, 2, 100]
    assert found[0].seed == 7 and found[0].settings == {"width": 64}
    assert found[1].name == "mine"
    assert rates(found[2])(1) == pytest.approx(1e-2 / 20)


def test_a_trials_schedule_in_words(space):
    found = space('[[trial]]\nschedule = "linear:1e-2:warmup=0.2"\n').trials(None, 100, seed=0)
    same = space('[[trial]]\nshape = "linear"\npeak = 1e-2\nwarmup = 0.2\n').trials(None, 100, seed=0)
    assert found == same and rates(found[0])(10) == pytest.approx(5e-3)


def test_csv_with_a_column_for_each_schedule(space):
    found = space("step,up,down\n1,0,0.2\n11,0.1,\n21,,0.0\n", "s.csv", steps=None).trials(None, 0, seed=0)
    assert [t.name for t in found] == ["up", "down"]
    assert [t.total_steps for t in found] == [11, 21]
    assert rates(found[0])(6) == pytest.approx(0.05)
    assert rates(found[1])(11) == pytest.approx(0.1)


def test_csv_with_a_row_for_each_step_of_each_schedule(space):
    found = space("name,step,lr\na,1,0.1\na,3,0.3\nb,1,0.5\n", "s.csv", steps=5, seeds=2).trials(None, 0, seed=0)
    assert len(found) == 4
    assert np.allclose(rates(found[0]).rates, [0.1, 0.2, 0.3, 0.3, 0.3])


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "kind must be one of"),
        ('kind = "random"', "kind must be one of"),
        ('kind = "sobol"\npaek = 1', "paek is not known"),
        ('kind = "sobol"\npeak = "high"', "peak must be a number"),
        ('kind = "sobol"\npeak = [0.0, 1.0]', "peak this range is logarithmic"),
        ('kind = "sobol"\nwarmup = [0.0, 2.0]', "warmup is a share"),
        ('kind = "grid"\nshapes = ["cosin"]\nrates = [1e-3]', "no shape 'cosin'"),
        ('kind = "grid"\nrates = [1e-3]\nseeds = 0', "seeds must be a whole number"),
        ('[[trial]]\nshape = "cosine"', "trial 1: peak must be"),
        ('[[trial]]\npeak = 1\nshape = "cosin"', "trial 1: shape must be"),
        ("[[trial]]\npeak = 1\nspeed = 2", "speed is not known in trial 1"),
        ("[[trial]]\nrates = [1.0, -1.0]", "trial 1: rates"),
        ('[[trial]]\nschedule = "cosin:1e-3"', "trial 1 there is no schedule family 'cosin'"),
        ('[[trial]]\nschedule = "cosine:1e-3"\npeak = 1', "says it all, and peak stands beside it"),
        ('[[trial]]\npeak = 1\nshape = "cosine"\npower = 2', "trial 1 cosine: there is no parameter 'power'"),
        ('[[trial]]\nname="a"\npeak=1\n[[trial]]\nname="a"\npeak=2', "as is trial 1"),
        ("kind = ", "is no TOML"),
    ],
)
def test_errors_name_the_key(space, text, told):
    with pytest.raises(_errors.SweepError, match=told) as caught:
        space(text)
    assert "space.toml" in str(caught.value)


def test_other_files_and_missing_ones(space, tmp_path):
    with pytest.raises(_errors.SweepError, match="there is no file"):
        read_space(tmp_path / "none.toml", 10, seed=0)
    with pytest.raises(_errors.SweepError, match=r"neither \.toml nor \.csv"):
        space("x", "s.yaml")
    with pytest.raises(_errors.SweepError, match="line 3: lr must be a number"):
        space("step,lr\n1,0.1\n2,high\n", "s.csv")
    with pytest.raises(_errors.SweepError, match="how many updates"):
        space("[[trial]]\npeak = 1", steps=None)
