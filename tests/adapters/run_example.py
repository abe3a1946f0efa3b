"""Runs a file of examples/ as a user would, in this process, with a forecaster made on the spot."""

import runpy
import sys
from pathlib import Path

import pytest

from lodestar.testing import random_forecaster

EXAMPLES = Path(__file__).parents[2] / "examples"


def run_example(name: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> str:
    """What the example printed."""
    path = folder / "forecaster.lodestar"
    random_forecaster(seed=2).save(path)
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "argv", [name, str(path)])
    source = EXAMPLES / name
    assert len(source.read_text().splitlines()) <= 40
    runpy.run_path(str(source), run_name="__main__")
    return capsys.readouterr().out
