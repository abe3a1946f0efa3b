"""Finding a training function, and refusing what cannot be called, before any trial starts."""

import pytest
from tests.sweep import jobs
from tests.sweep.jobs import named

from lodestar._errors import SweepError
from lodestar.sweep.function import check, find, name_of, planned_steps, taken


def test_by_module_by_file_and_by_dotted_name(tmp_path, monkeypatch):
    (tmp_path / "sweep_here.py").write_text("class Jobs:\n    @staticmethod\n    def train(*, report, schedule): ...\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert find("sweep_here:Jobs.train").__name__ == "train"
    assert find(f"{tmp_path}/sweep_here.py:Jobs.train").__name__ == "train"


def test_a_file_finds_its_neighbours(tmp_path):
    (tmp_path / "sweep_neighbour.py").write_text("HELLO = 1\n")
    (tmp_path / "sweep_main.py").write_text("import sweep_neighbour\ndef train(*, report): ...\n")
    assert find(f"{tmp_path}/sweep_main.py:train")


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("train", "", "names no function"),
        ("sweep_absent:train", "", "no module 'sweep_absent'"),
        ("absent.py:train", "", "there is no file"),
        ("{}:tarin", "def train(): ...", r"perhaps train"),
        ("{}:train", "import sweep_not_installed", "No module named"),
        ("{}:train", "1 / 0", "ZeroDivisionError"),
        ("{}:train", "def train(:", "SyntaxError"),
    ],
)
def test_what_cannot_be_found_says_why(tmp_path, name, text, told):
    path = tmp_path / "sweep_job.py"
    path.write_text(text)
    with pytest.raises(SweepError, match=told) as caught:
        find(name.format(path))
    assert "Fix:" in str(caught.value)


def test_a_module_whose_own_import_is_missing_is_told_from_a_missing_module(tmp_path, monkeypatch):
    (tmp_path / "sweep_needs.py").write_text("import sweep_not_installed")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(SweepError, match="it needs 'sweep_not_installed'"):
        find("sweep_needs:train")


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("wants_more", "wants 'model'"),
        ("deaf", "no parameter 'report'"),
        ("no_rate", "no parameter 'schedule'"),
        ("later", "async or a generator"),
        ("NOT_A_FUNCTION", "is a int, not a function"),
    ],
)
def test_what_cannot_be_called_is_refused(name, told):
    with pytest.raises(SweepError, match=told):
        check(name, getattr(jobs, name), sets_rate=True)


def test_a_function_may_take_less_or_everything():
    check("own_rate", jobs.own_rate, sets_rate=False)
    assert taken(jobs.own_rate) == ("seed", "total_steps", "report")
    assert taken(lambda **given: None) == ("schedule", "seed", "total_steps", "report", "settings")


def test_the_name_by_which_another_process_finds_a_function():
    assert name_of(jobs.good) == "tests.sweep.jobs:good"
    with pytest.raises(SweepError, match="at the top of a module"):
        name_of(lambda report: None)


def test_a_function_may_know_its_own_length():
    assert planned_steps(named("with_length")) == 37
    with pytest.raises(SweepError, match="--steps"):
        planned_steps(named("good"))
