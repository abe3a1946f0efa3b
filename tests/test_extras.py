"""A missing package ends in a line that works, wherever this copy of Lodestar came from."""

import json
import shlex
import subprocess
import sys
from importlib import metadata

import pytest

from lodestar import _extras
from lodestar._errors import MissingExtra

ORIGINS = {
    "a clone": (
        {"url": "file:///home/me/my%20clone", "dir_info": {"editable": True}},
        ["pip", "install", "-e", "/home/me/my clone[fit]"],
    ),
    "a folder": ({"url": "file:///home/me/clone", "dir_info": {}}, ["pip", "install", "/home/me/clone[fit]"]),
    "a wheel": (
        {"url": "file:///home/me/lodestar_lr-0.2.0-py3-none-any.whl", "archive_info": {}},
        ["pip", "install", "lodestar-lr[fit] @ file:///home/me/lodestar_lr-0.2.0-py3-none-any.whl"],
    ),
    "a repository": (
        {"url": "https://host/lodestar.git", "vcs_info": {"vcs": "git", "commit_id": "1"}},
        ["pip", "install", "lodestar-lr[fit] @ git+https://host/lodestar.git"],
    ),
}


class Installed:
    """A distribution as pip left it."""

    def __init__(self, origin):
        self._text = None if origin is None else json.dumps(origin)

    def read_text(self, name):
        """The one file that is asked for."""
        assert name == "direct_url.json"
        return self._text


@pytest.mark.parametrize("origin", ORIGINS)
def test_the_line_names_where_it_was_installed_from(origin, monkeypatch):
    record, words = ORIGINS[origin]
    monkeypatch.setattr(metadata, "distribution", lambda name: Installed(record))
    assert shlex.split(_extras.install_line("fit")) == words


def test_without_a_record_it_is_the_clone(monkeypatch):
    monkeypatch.setattr(metadata, "distribution", lambda name: Installed(None))
    assert _extras.install_line("fit") == "in a clone of Lodestar, pip install -e '.[fit]'"
    assert "git pull" in _extras.update_line()


def test_a_clone_is_updated_in_its_place(monkeypatch):
    monkeypatch.setattr(metadata, "distribution", lambda name: Installed(ORIGINS["a clone"][0]))
    assert shlex.split(_extras.update_line()) == ["git", "-C", "/home/me/my clone", "pull"]


def test_the_error_ends_in_the_line():
    with pytest.raises(MissingExtra, match=r"'no_such_module' is not installed.*Fix: .*pip install .*\[fit\]'"):
        _extras.need("no_such_module", "fit")


def test_no_extra_is_named_that_does_not_exist():
    known = metadata.metadata("lodestar-lr").get_all("Provides-Extra") or []
    assert {"cli", "fit", "torch", "optax", "keras", "mlflow", "wandb", "optuna", "ray", "remote"} <= set(known)


BLOCKED = """
import sys

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {blocked!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Missing())
"""


def without(code: str, *blocked: str) -> subprocess.CompletedProcess[str]:
    """Run some code where these packages are not installed."""
    script = BLOCKED.format(blocked=blocked) + code
    return subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)


HEAVY = (
    "jax",
    "equinox",
    "diffrax",
    "optax",
    "jaxtyping",
    "pyarrow",
    "scipy",
    "matplotlib",
    "typer",
    "rich",
    "pydantic",
)


def test_help_of_the_package_works_with_numpy_alone():
    done = without("import lodestar; help(lodestar)", *HEAVY, "yaml", "torch")
    assert done.returncode == 0, done.stderr
    assert all(f" {name}" in done.stdout for name in ("Scheduler", "RunStore", "fit(", "run_sweep("))


def test_what_lacks_its_package_says_so_when_called():
    done = without("import lodestar; lodestar.fit([], seed=0)", "jax")
    assert done.returncode == 1
    assert "MissingExtra: 'jax' is not installed" in done.stderr and "[fit]" in done.stderr
