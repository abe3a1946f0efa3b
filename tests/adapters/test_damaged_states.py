"""A state that lacks a part is refused whole by every adapter: nothing of it is applied."""

import json

import pytest
import torch
from tests.hostile import deep

from lodestar.adapters._state_file import read_state
from lodestar.adapters.loop import SteeredLoop
from lodestar.adapters.torch import LodestarLR
from lodestar.testing import random_forecaster

FORECASTER = random_forecaster(seed=5, points=40)


def a_torch_scheduler() -> LodestarLR:
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(2))], lr=0.1)
    return LodestarLR(optimizer, FORECASTER, 400)


@pytest.mark.parametrize("make", [lambda: SteeredLoop(FORECASTER, 400), a_torch_scheduler], ids=["loop", "torch"])
def test_a_state_that_lacks_a_part_changes_nothing(make):
    source = make()
    next(iter(source)) if isinstance(source, SteeredLoop) else source.step(30)
    saved, fresh = source.state_dict(), make()
    before = fresh.state_dict()
    for key in saved.keys() - {"lodestar"}:
        lacking = {name: value for name, value in saved.items() if name != key}
        for state in (lacking, saved | {key: deep()}):
            with pytest.raises(ValueError, match=r"damaged|not a scheduler's state"):
                fresh.load_state_dict(state)
            assert fresh.state_dict() == before
    fresh.load_state_dict(saved)
    assert fresh.state_dict() == saved


@pytest.mark.parametrize("text", ["[" * 100_000, "\udc00", '{"format": "lodestar-state", "version": 1}', "[]", ""])
def test_a_damaged_state_file_is_an_error_with_a_cure(tmp_path, text):
    (tmp_path / "run.json").write_bytes(text.encode(errors="surrogatepass"))
    with pytest.raises(ValueError, match=r"run\.json is .*Fix: "):
        read_state(tmp_path / "run.json")


def test_a_state_file_of_ours_is_read(tmp_path):
    loop = SteeredLoop(FORECASTER, 400, state=tmp_path / "run.json")
    loop.save()
    assert read_state(tmp_path / "run.json") == json.loads(json.dumps(loop.state_dict()))
