"""Names of release one still import, and say what they are called now."""

import importlib
import subprocess
import sys

import pytest

from lodestar import _moved
from lodestar._moved import MOVED, new_name


@pytest.mark.parametrize("old", sorted(MOVED))
def test_an_old_module_is_found_under_its_old_name(old):
    sys.modules.pop(old, None)
    with pytest.warns(DeprecationWarning, match=f"{old} is now {MOVED[old]}"):
        importlib.import_module(old)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_the_old_name_gives_the_very_same_things():
    from lodestar.trackers import import_runs as old_import_runs  # pyright: ignore
    from lodestar.writers import open_writer as old_open_writer  # pyright: ignore

    from lodestar.exporters import open_writer
    from lodestar.importers import import_runs

    assert old_import_runs is import_runs
    assert old_open_writer is open_writer


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_module_below_an_old_package_is_the_one_below_the_new():
    old = importlib.import_module("lodestar.writers.writer")
    new = importlib.import_module("lodestar.exporters.writer")
    assert old.AbstractWriter is new.AbstractWriter


def test_a_name_that_never_was_is_not_found():
    assert new_name("lodestar.nonsense") is None
    assert new_name("numpy.linalg") is None
    with pytest.raises(ModuleNotFoundError, match=r"lodestar\.nonsense"):
        importlib.import_module("lodestar.nonsense")


def test_a_package_that_is_not_installed_is_named_with_the_cure(monkeypatch):
    monkeypatch.setitem(MOVED, "lodestar.bench", "lodestar_bench_gone")
    sys.modules.pop("lodestar.bench", None)
    with pytest.raises(ModuleNotFoundError, match=r"lodestar_bench_gone, which is not installed. Fix: pip install"):
        importlib.import_module("lodestar.bench")


def test_asked_for_twice_it_is_there_once():
    _moved.install()
    assert sum(isinstance(finder, _moved.Finder) for finder in sys.meta_path) == 1


def test_an_import_of_release_one_works_in_a_fresh_process():
    code = "from lodestar.writers import open_writer; from lodestar.trackers.mapping import Choices"
    subprocess.run([sys.executable, "-W", "ignore", "-c", code], check=True)
