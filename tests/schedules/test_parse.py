"""Words for schedules: what they draw, that they come back, and what is said of wrong ones."""

import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from lodestar.schedules import FAMILIES, Schedule, cosine, linear, parse
from lodestar.schedules.family import PARAMETERS


@st.composite
def drawn(draw) -> Schedule:
    family = draw(st.sampled_from(list(FAMILIES.values())))
    keys = draw(st.lists(st.sampled_from(list(family.defaults)), unique=True))
    parameters = {key: draw(st.floats(PARAMETERS[key][0], min(PARAMETERS[key][1], 100))) for key in keys}
    peak = draw(st.floats(1e-9, 10, exclude_min=True))
    try:
        return family(peak, draw(st.integers(1, 200)), **parameters)
    except ValueError:
        assume(False)
        raise


@settings(deadline=None)
@given(drawn())
def test_a_drawn_schedules_words_draw_it_again(schedule):
    again = parse(str(schedule), len(schedule))
    assert again == schedule and str(again) == str(schedule)


def test_words_draw_what_the_family_draws():
    assert parse("linear:3e-3:warmup=0.05", 100) == linear(3e-3, 100, warmup=0.05)
    assert parse("cosine:1e-2", 50) == cosine(1e-2, 50)
    assert str(parse("CosineAnnealingLR : 1e-2 : floor = 0.1 : warmup=0", 50)) == "cosine:0.01:floor=0.1"


def test_a_schedule_of_no_family_is_told_by_its_name():
    assert str(Schedule("mine", [1, 2])) == "mine"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (
            "cosin:1e-3",
            "no schedule family .cosin. .*Fix: one of constant, cosine, onecycle, step, linear, wsd",
        ),
        ("cosine", "'cosine' states no peak learning rate. Fix: family:peak"),
        ("cosine:warmup=0.1", "states no peak"),
        ("cosine:fast", "the peak must be a number, got 'fast'. Fix:"),
        ("cosine:0", "the peak must be a finite number above 0, got 0.0. Fix:"),
        ("cosine:-1e-3", "above 0, got -0.001"),
        ("cosine:nan", "above 0, got nan"),
        ("cosine:inf", "above 0, got inf"),
        ("cosine:1e-3:plateau=0.1", "cosine: there is no parameter 'plateau'. Fix: it has warmup, floor"),
        ("linear:1e-3:warmup", "has 'warmup' where a parameter=value should be. Fix:"),
        ("linear:1e-3:warmup=long", "warmup must be a number, got 'long'. Fix:"),
        ("linear:1e-3:warmup=1.5", "warmup must be at least 0 and at most 1, got 1.5. Fix: 0.1, say"),
        ("linear:1e-3:warmup=0.1:warmup=0.2", "states warmup twice"),
        ("step:1e-3:stages=inf", "stages must be at least 1, got inf"),
        ("inverse-sqrt:1e-3:warmup=0", "warmup must be above 0 and at most 1, got 0.0"),
        (
            "wsd:1e-3:warmup=0.5:decay=0.6",
            "must be at most 1, the whole run, got warmup 0.5 . decay 0.6",
        ),
        ("cosine_with_warmup:1e-3", "speaks of a warm-up and states none. Fix: cosine_with_warmup:1e-3:warmup=0.05"),
    ],
)
def test_wrong_words_say_the_rule_the_value_and_the_fix(words, told):
    with pytest.raises(ValueError, match=told) as caught:
        parse(words, 100)
    assert repr(words) in str(caught.value)


def test_a_run_has_steps():
    with pytest.raises(ValueError, match="total_steps must be at least 1, got 0"):
        parse("cosine:1e-3", 0)


@pytest.mark.parametrize("name", FAMILIES)
def test_every_family_is_told_in_the_docs_with_its_defaults(name):
    text = (Path(__file__).parents[2] / "docs" / "how-to" / "sweep.md").read_text()
    line = next(line for line in text.splitlines() if line.startswith(f"| `{name}` |"))
    assert {key: float(value) for key, value in re.findall(r"`(\w+)=([\d.e]+)`", line)} == FAMILIES[name].defaults
    assert np.isfinite(FAMILIES[name](1.0, 10).rates).all()
