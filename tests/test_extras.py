"""A missing package ends in a line that works, wherever this copy of Lodestar came from."""

import json
import shlex
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
