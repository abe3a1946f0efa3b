"""The sharpness item: runs made again give the bench's own results, figures are those of the dense Hessian."""

import dataclasses
import math
from collections.abc import Iterator
from contextlib import contextmanager

import jax
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree
from matplotlib.text import Text

from bench_testing.here import Here
from lodestar.runs import Direction
from lodestar_bench import tasks
from lodestar_bench.entry import open_bench
from lodestar_bench.home import Home
from lodestar_bench.paper import probe_sharpness as probe
from lodestar_bench.paper.canvas import drawn, picture_bytes
from lodestar_bench.paper.context import ItemContext
from lodestar_bench.paper.item import Made
from lodestar_bench.paper.sharpness import EXAMPLES, ITEM, PLACES, copy_learned
from lodestar_bench.paper.sheet import Sheet
from lodestar_bench.protocol import carry_out


class HereContext(ItemContext):
    """Runs are made in this process."""

    @contextmanager
    def place(self) -> Iterator[Here]:  # pyright: ignore[reportIncompatibleMethodOverride]
        yield Here()


@pytest.fixture(scope="module")
def home(tmp_path_factory) -> Home:
    out = tmp_path_factory.mktemp("bench")
    bench = open_bench("digits-mlp", "smoke", out, wanted=["constant", "onecycle"], tune=(1, 1), seeds=2)
    carry_out(bench, Here())
    return bench.home


@pytest.fixture
def context(home, tmp_path) -> ItemContext:
    return HereContext(home, "digits-mlp", tmp_path / "scratch", seeds=2)


@pytest.fixture(scope="module")
def found(home, tmp_path_factory):
    return ITEM.make(HereContext(home, "digits-mlp", tmp_path_factory.mktemp("scratch"), seeds=2))


def test_runs_made_again_are_those_of_the_bench(found):
    assert found.notes == ("4 of 4 runs made again ended with the very test metric that the bench had kept",)
    assert found.seeds == (1000, 1001)


def test_both_opinions_agree_at_the_end_of_every_run(found):
    end = found.sheets[0]
    assert end["method"].tolist().count("constant") == end["method"].tolist().count("onecycle") == 2
    assert end["converged"].all() and end["lanczos_converged"].all()
    np.testing.assert_allclose(end["sharpness"], end["lanczos_sharpness"], rtol=0.01)
    assert (end["preconditioned_sharpness"] > 0).all()
    assert (end["parameters"] == 64 * 16 + 16 + 16 * 16 + 16 + 16 * 10 + 10).all()


def test_the_best_plain_run_is_followed(found):
    along = found.sheets[1]
    assert len(set(along["method"].tolist())) == 1 and set(along["seed"].tolist()) == {1000}
    assert along["part"][-1] == 1.0 and 10 < len(along) <= PLACES
    np.testing.assert_allclose(along["stability"], along["lr"] * along["sharpness"] / 2)
    assert np.isfinite(along["test"]).all()


def test_adamw_has_a_line_of_its_own(found):
    assert [row["line"] for row in found.sheets[2].rows()] == [1.0, pytest.approx(19.0)]


def test_a_run_that_was_measured_is_not_made_again(home, context, monkeypatch):
    places = [Here(until=3), Here()]

    @contextmanager
    def place():
        yield places[0]

    monkeypatch.setattr(HereContext, "place", lambda self: place())
    with pytest.raises(KeyboardInterrupt):
        ITEM.make(context)
    places.pop(0)
    ITEM.make(context)
    assert len(places[0].names) == 1


def test_the_home_is_left_alone(home, found):
    del found
    assert not (home.path / "measured").exists()
    assert sorted(path.name for path in home.path.iterdir()) == ["bench.json", "runs"]


def test_what_a_method_left_beside_its_file_goes_with_it(tmp_path):
    kept = tmp_path / "learned" / "knowledge"
    (kept.parent / "knowledge.search").mkdir(parents=True)  # a folder is no part of it
    kept.write_text("weights")
    kept.with_name("knowledge.plan").write_text("linear:1e-3")
    copy_learned(kept, tmp_path / "measured" / "knowledge")
    copied = {path.name: path.read_text() for path in (tmp_path / "measured").iterdir()}
    assert copied == {"knowledge": "weights", "knowledge.plan": "linear:1e-3"}


def test_the_measure_is_that_of_the_dense_hessian():
    problem = tasks.problem("digits-mlp", "smoke")
    params, state = problem.begin(3)
    batch, key = probe.examples_of(problem, EXAMPLES, 0), jax.random.key(0)
    assert len(batch[1]) == EXAMPLES
    few = {name: layer for name, layer in params.items() if name == "dense3"}
    found = probe.gauge_of(problem, EXAMPLES, 0).measure(params, state, None, twice=True)
    flat, tree = ravel_pytree(few)
    dense = jax.jit(jax.hessian(lambda v: problem.loss({**params, **tree(v)}, state, batch, key)[0]))(flat)
    part = float(np.linalg.eigvalsh(np.asarray(dense, np.float64))[-1])
    assert found["sharpness"] >= 0.999 * part  # a part of the weights curves no more than all of them
    assert found["sharpness"] == pytest.approx(found["lanczos_sharpness"], rel=0.01)
    assert "preconditioned_sharpness" not in found


def test_places_are_evaluations_and_the_last_is_always_there():
    problem = tasks.problem("digits-mlp", "smoke")
    assert probe.steps(problem, 1) == [problem.total_steps]
    chosen = probe.steps(problem, 5)
    assert len(chosen) == 5 and chosen[-1] == problem.total_steps
    assert all(step % problem.evaluate_every == 0 for step in chosen[:-1])


def made(sharp, *, task="toy") -> Made:
    """Made-up figures: method -> sharpness of two seeds."""
    groups = {name: "ours" if name.startswith("lodestar") else "paper" for name in sharp}
    heads = ("method", "title", "group", "seed", "status", "test", "sharpness", "residual", "converged", "products",
             "lanczos_sharpness", "lanczos_converged", "lowest", "preconditioned_sharpness", "loss")  # fmt: skip
    end = [
        (name, f"the {name}", groups[name], seed, "finished" if math.isfinite(x) else "diverged", 0.9 - 0.01 * i, x,
         0.0, 1.0, 9, x, 1.0, -0.1, 9 * x, 0.1)
        for i, (name, values) in enumerate(sharp.items())
        for seed, x in enumerate(values)
    ]  # fmt: skip
    columns = ("method", "group", "seed", "part", "stability", "preconditioned_stability", "step", "loss", "lr",
               "sharpness", "converged", "preconditioned_sharpness", "preconditioned_converged", "test")  # fmt: skip
    along = [
        (name, groups[name], 0, part, 4 * part, 38 * part, 10, 0.1, 0.01, 5.0, 1.0, 9.0, 1.0, 0.9)
        for name in list(sharp)[:2]
        for part in (0.1, 0.3, 0.6, 1.0)
    ]
    lines = [("plain", "gradient descent", 1.0), ("preconditioned", "adamw, b1 0.9", 19.0)]
    sheets = (
        Sheet.of("end", heads, end),
        Sheet.of("along", columns, along),
        Sheet.of("lines", ("quantity", "optimiser", "line"), lines),
    )
    named = {sheet.name: sheet for sheet in sheets}
    return Made(task, "a made-up task", "smoke", "accuracy", Direction.MAX, named, {})


def test_the_words_say_whether_the_claim_holds():
    holds = ITEM.words([made({"lodestar": [1.0, 1.2], "onecycle": [3.0, 3.0]})])
    assert "on toy the claim holds: of 2 methods, the flattest first, lodestar 1st (1.10)" in holds
    fails = ITEM.words([made({"lodestar": [5.0, 5.0], "onecycle": [3.0, 3.0]})])
    assert "on toy it is not so" in fails and "the flattest other is onecycle (3.00, 0.6 times ours)" in fails


def test_the_words_tell_of_the_edges():
    text = ITEM.words([made({"lodestar": [1.0, 1.2], "onecycle": [3.0, 3.0]})])
    assert "lodestar lies beyond the edge of gradient descent at 75 % of 4 places (at most 4 times of it)" in text
    assert "beyond that of the optimizer at 50 % (at most 2 times)" in text


def test_the_papers_figures_stand_beside_its_task():
    text = ITEM.words([made({"lodestar-paper": [1.0, 1.2], "onecycle": [3.0, 3.0]}, task="cifar100-resnet18")])
    assert "0.620 ± 0.22" in text and "1.22 ± 0.44" in text


def test_a_diverged_run_has_no_sharpness_and_is_told():
    one = made({"lodestar": [1.0, math.nan], "onecycle": [3.0, 3.0], "constant": [math.nan, math.nan]})
    text = ITEM.words([one])
    assert "3 runs diverged and have no sharpness" in text and "| the constant | –" in text
    assert len(ITEM.charts([one])) == 6


def test_it_is_drawn_in_five_panels_for_each_task():
    one = made({"lodestar": [1.0, 1.2], "onecycle": [3.0, -3.0]})
    pictures = ITEM.draw([one, dataclasses.replace(one, task="other")])
    assert [picture.name for picture in pictures] == ["end", "along-toy", "along-other"]
    assert picture_bytes(pictures[0])[:4] == b"\x89PNG"
    text = " ".join(word.get_text() for word in drawn(pictures[1]).findobj(Text))
    for label in ("loss", "learning rate", "sharpness", "rate x sharpness / 2", "test accuracy (%)", "lodestar"):
        assert label in text
