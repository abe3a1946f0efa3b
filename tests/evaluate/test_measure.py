"""`evaluate` as a whole: plain data, strict JSON, arguments refused with a sentence, no JAX."""

import dataclasses
import json
import subprocess
import sys

import pytest
from tests.curves import toy_run, toy_runs

from lodestar._errors import StoreError
from lodestar.evaluate import OURS, evaluate
from lodestar.forecaster import Architecture
from lodestar.runs import Direction, Run, Series
from lodestar.testing import random_forecaster


@pytest.fixture(scope="module")
def found(fitted, runs):
    ticks = []
    made = evaluate(fitted, runs, against=runs, tolerances=(1e-4,), on_progress=lambda *at: ticks.append(at))
    return made, ticks


def test_everything_is_strict_versioned_json(found):
    made = json.loads(found[0].to_json())
    assert (made["format"], made["version"]) == ("lodestar-evaluation", 1)
    assert made["accuracy"][0]["error"]["loss"]["runs"] == 5
    assert {row["forecaster"] for row in made["accuracy"]} == {OURS, "last value", "nearest run", "power law"}
    assert made["past_runs"] == 14


def test_progress_ends_at_its_total(found):
    done, of = zip(*found[1], strict=True)
    assert set(of) == {done[-1]}
    assert list(done) == list(range(1, len(done) + 1))


def test_a_reader_is_told_what_the_figures_rest_on(found):
    text = " ".join(found[0].notes)
    assert "5 of 16 runs: 5 held out by the fit" in text
    assert "right by construction" in text
    assert "Only 5 runs" in text


def test_a_figure_over_few_runs_carries_a_caution_and_its_count(found):
    made = found[0]
    assert str(made.caution).startswith("the rank correlation rests on 5 runs: below 10 ")
    assert {row.runs for row in made.ranks(0.05)} == {5}
    assert made.differing is None


def test_counts_that_differ_are_explained_in_one_sentence(found):
    fewer = dataclasses.replace(found[0].accuracy[0].error.loss, runs=3)
    row = dataclasses.replace(found[0].accuracy[0], error=dataclasses.replace(found[0].accuracy[0].error, loss=fewer))
    made = dataclasses.replace(found[0], accuracy=(row, *found[0].accuracy[1:]))
    assert str(made.differing).startswith("n is how many of the 5 tested runs a figure rests on: ")


def test_without_past_runs_the_nearest_run_stays_out(new):
    made = evaluate(new, toy_runs(seeds=1), tolerances=())
    assert made.forecasters == (OURS, "last value", "power law")
    assert any("--against" in note for note in made.notes)


def test_it_is_saved_whole(found, tmp_path):
    found[0].save(tmp_path / "e.json")
    assert json.loads((tmp_path / "e.json").read_text()) == json.loads(found[0].to_json())
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match="Fix:"):
        found[0].save(tmp_path / "file" / "e.json")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"fractions": (0.05, 5)}, r"fractions\[1\] must be a fraction of the run in \(0, 1\], got 5"),
        ({"fractions": ()}, "at least one"),
        ({"first_epoch": 0.0}, "first_epoch must be a fraction"),
        ({"most": 0}, "most must be at least 1, got 0"),
    ],
)
def test_a_wrong_argument_is_refused(new, runs, options, words):
    with pytest.raises(ValueError, match=words):
        evaluate(new, runs, **options)


def late(run, points, channels=("loss", "metric", "lr")):
    """The run with nothing logged at its first points."""
    cut = {name: getattr(run, name) for name in channels}
    return run.replace(**{name: Series(one.steps[points:], one.values[points:]) for name, one in cut.items()})


@pytest.mark.parametrize(
    "odd",
    [
        [toy_run("only")],
        [late(toy_run("late"), 20), toy_run("early")],
        [late(toy_run("late"), 20)],
        [late(toy_run(str(seed), seed=seed), 40, ("metric",)) for seed in range(3)],
        [toy_run(str(seed), seed=seed, metric_every=600) for seed in range(3)],
        [toy_run(str(seed), seed=seed).replace(total_steps=1200) for seed in range(3)],
        [
            Run(
                "short",
                Series(range(1, 7), [3, 2.5, 2, 1.8, 1.7, 1.6]),
                Series([6], [0.4]),
                Series([1, 6], [0.1, 0.1]),
                Direction.MAX,
            )
        ],
    ],
    ids=["one run", "one starts late", "all start late", "metric late", "one metric", "cut short", "six points"],
)
def test_odd_runs_are_evaluated_without_a_warning(new, runs, odd):
    made = evaluate(new, odd, against=runs, tolerances=(1e-4,))
    json.loads(made.to_json())
    assert len(made.runs) == len(odd)


def test_an_adaptive_forecaster_has_no_fixed_count(runs):
    shape = Architecture(encoder="ode-rnn", solver="tsit5", tokens=8)
    made = evaluate(random_forecaster(seed=0, points=60, shape=shape), runs, tolerances=())
    assert made.stiffness.own_evaluations is None
    assert made.ablation[0].solver == "tsit5 at 1e-05"


def test_an_unknown_cell_is_an_error(found):
    with pytest.raises(KeyError, match="no accuracy of 'oracle'"):
        found[0].error("oracle", 0.05)


def test_it_needs_no_jax_and_draws_nothing():
    code = "import sys, lodestar.evaluate; print({'jax', 'matplotlib', 'pyarrow'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
