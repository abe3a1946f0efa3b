"""Finding methods: by name, from a file of the user's own, and what is said when there is none."""

import pytest

from lodestar_bench._errors import BenchError
from lodestar_bench.methods import method, names

OWN = """
from lodestar_bench.method import AbstractMethod
from lodestar_bench.methods.schedule import ScheduleMethod
from lodestar.schedules import cosine

mine = ScheduleMethod("mine", "my own", "modern", cosine, values=(1.0, 2.0))
number = 3

class Unfinished(AbstractMethod):
    name = "unfinished"
"""


def test_the_list_holds_the_issue_s_methods_in_its_order():
    assert names()[:8] == (
        "constant",
        "cosine",
        "onecycle",
        "step",
        "hypergradient",
        "schedule-free",
        "rl-xu",
        "rl-graph",
    )
    assert names()[8:14] == ("linear", "wsd", "plateau", "greedy", "prodigy", "mechanic")
    assert names()[14:] == (
        "averaged",
        "lodestar-paper",
        "lodestar-plain",
        "lodestar-open",
        "lodestar-tune",
        "lodestar-tune-steered",
        "lodestar",
    )


@pytest.mark.parametrize("name", names())
def test_a_name_fetches_its_method_always_the_same(name):
    assert method(name).name == name
    assert method(name) is method(name)


def test_an_unknown_name_is_told_the_list_and_the_nearest():
    with pytest.raises(BenchError, match=r"no method 'cosin'.*constant, cosine, .*did you mean 'cosine'"):
        method("cosin")


def test_a_method_from_a_file(tmp_path):
    (tmp_path / "own.py").write_text(OWN)
    assert method(f"{tmp_path / 'own.py'}:mine").title == "my own"


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("own.py:nothing", "no such name in that file"),
        ("own.py:number", "it is a int"),
        ("own.py:Unfinished", "cannot be made without arguments"),
        ("absent.py:mine", "there is no file"),
        ("broken.py:mine", "cannot be imported: ZeroDivisionError"),
    ],
)
def test_what_is_wrong_with_a_file_is_said(tmp_path, name, told):
    (tmp_path / "own.py").write_text(OWN)
    (tmp_path / "broken.py").write_text("1 / 0")
    with pytest.raises(BenchError, match=f"{told}.*Fix: "):
        method(f"{tmp_path}/{name}")
