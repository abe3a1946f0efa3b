import signal
import subprocess
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tests.curves import diverged_run, toy_runs

from lodestar import fit, load
from lodestar._errors import FitError, ForecasterError
from lodestar.fitting import FitProgress, fit_settings
from lodestar.fitting.calibration import contexts_of
from lodestar.fitting.dataset import prepare
from lodestar.fitting.folds import make_folds
from lodestar.fitting.known import RunArrays
from lodestar.fitting.quality import relative_mse
from lodestar.fitting.train import Trainer
from lodestar.runs import Direction

SMALL = {"latent": 6, "hidden": 8, "field_width": 8, "decoder_width": 8, "tokens": 8, "steps": 6, "check_every": 50}
SMALL["response"] = False  # it has tests of its own


def small_fit(runs=None, *, updates=100, **kwargs):
    return fit(toy_runs() if runs is None else runs, **{"seed": 0, "members": 1, "updates": updates, **SMALL, **kwargs})


def weights_equal(one, two):
    return all(np.array_equal(one.network.weights[name], two.network.weights[name]) for name in one.network.weights)


@pytest.fixture(scope="module")
def fitted():
    return small_fit(toy_runs(seeds=4), updates=1500, hold_out=0.25, response=True)


def test_a_fit_learns_to_forecast_runs_it_never_saw(fitted):
    data = prepare(toy_runs(seeds=7).filter(lambda run: (run.facts.seed or 0) > 3), recipe=fitted.recipe)
    raw = fitted.network.decode(fitted.encode(*contexts_of(data, range(len(data)), 0.0, 0.5)), fitted.times)[0]
    errors = relative_mse(fitted.recipe.normaliser.inverse(raw), data.natural(), data.mask).mean(axis=0)
    untrained = small_fit()
    base = untrained.network.decode(untrained.encode(*contexts_of(data, range(len(data)), 0.0, 0.5)), untrained.times)[
        0
    ]
    before = relative_mse(untrained.recipe.normaliser.inverse(base), data.natural(), data.mask).mean(axis=0)
    assert errors[0] < 0.02
    assert errors[1] < 0.02
    assert np.all(errors < 0.7 * before)


def test_the_forecaster_carries_what_a_job_needs(fitted, tmp_path):
    fitted.save(tmp_path / "f")
    back = load(tmp_path / "f")
    assert back.quality["held_out_runs"] == 8
    assert 0 < back.ranges.lr_min < back.ranges.lr_max <= 3e-3 * 1.0001
    assert np.all(back.spread > 0)
    merit = back.references.merit
    assert np.all(np.diff(merit) <= 0)
    assert len(back.facts["held_out"][0]) == 8
    assert back.response is not None and back.quality["response_runs"] == len(back.facts["names"])


def test_intervals_hold_about_their_share_of_new_runs(fitted):
    data = prepare(toy_runs(seeds=8).filter(lambda run: (run.facts.seed or 0) > 3), recipe=fitted.recipe)
    truth, inside = data.natural(), []
    for run, context in enumerate(contexts_of(data, range(len(data)), 0.0, 0.2)):
        interval = fitted.forecast(context, 0.8).metric
        inside.append(np.mean((truth[run, :, 1] >= interval.lower) & (truth[run, :, 1] <= interval.upper)))
    assert 0.5 < np.mean(inside) <= 1.0


def test_the_same_seed_gives_the_same_weights_and_another_does_not():
    one, two, other = small_fit(), small_fit(), small_fit(seed=1)
    assert weights_equal(one, two)
    assert not weights_equal(one, other)


def test_the_callers_precision_is_left_alone():
    before = jnp.zeros(1).dtype
    made = small_fit(bits=64)
    assert made.network.weights["encoder.readout.bias"].dtype == np.float64
    assert jnp.zeros(1).dtype == before == jnp.float32
    with jax.enable_x64(True):
        made = small_fit()
        assert made.network.weights["encoder.readout.bias"].dtype == np.float32
        assert jnp.zeros(1).dtype == jnp.float64


def test_the_paper_preset_runs_adaptive_and_in_64_bit():
    made = fit(toy_runs(), seed=0, preset="paper", updates=10, check_every=10)
    assert made.network.shape.solver == "tsit5"
    assert made.network.weights["field.net.layers.0.weight"].dtype == np.float64
    assert np.all(np.isfinite(made.forecast(made.references.context(0, 0, 5)).metric.centre))


def test_a_metric_to_be_minimised_puts_the_lowest_first_in_the_references():
    made = small_fit(toy_runs(direction=Direction.MIN))
    assert np.all(np.diff(made.references.merit) >= 0)


def test_progress_is_reported_after_every_chunk():
    seen: list[FitProgress] = []
    small_fit(on_progress=seen.append)
    assert [report.update for report in seen] == [50, 100]
    assert seen[-1].done
    assert all(np.isfinite(report.held_out) for report in seen)


def test_a_fit_stops_when_the_held_out_runs_stop_improving(monkeypatch):
    errors = iter([1.0, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.2, 1.3])
    real = Trainer._after
    monkeypatch.setattr(Trainer, "_after", lambda self, p, e, _, n: real(self, p, e, next(errors), n))
    made = small_fit(updates=500)
    assert made.facts["updates"] == [300]
    assert made.facts["best_update"] == [100]


def test_a_broken_down_fit_says_what_to_try(monkeypatch):
    real = Trainer._after
    monkeypatch.setattr(Trainer, "_after", lambda self, p, e, _, n: real(self, p, e, float("nan"), n))
    with pytest.raises(FitError, match=r"broke down: its error is nan after 50 updates.*lower peak_lr"):
        small_fit()


def test_too_few_runs_is_an_error_that_counts_them():
    with pytest.raises(FitError, match=r"at least 4 usable runs, got 1 \(1 were excluded, the first because: diverged"):
        fit([*list(toy_runs())[:1], diverged_run()], seed=0)


def test_without_held_out_runs_intervals_are_wide_and_quality_is_empty():
    made = small_fit(hold_out=0.0)
    assert made.quality == {}
    assert made.facts["held_out"] == [[]]


def test_each_member_holds_other_runs_out():
    folds = make_folds(20, 4, 0.15, seed=0)
    excluded = [set(fold.held_out.tolist()) for fold in folds]
    assert all(len(part) == 3 for part in excluded)
    assert len(set().union(*excluded)) == 12
    assert all(set(fold.train.tolist()) | part == set(range(20)) for fold, part in zip(folds, excluded, strict=True))


def test_an_ensemble_has_members_that_differ():
    made = small_fit(members=3)
    assert made.members == 3
    weights = made.network.weights["field.net.layers.0.weight"]
    assert not np.array_equal(weights[0], weights[1])
    latents = made.encode(made.references.context(0, 0, 10))
    assert latents.shape == (3, 1, 6)


KILLED = """
import sys, time
from pathlib import Path
from lodestar import fit
sys.path.insert(0, {root!r})
from tests.curves import toy_runs
from tests.fitting.test_fit import SMALL
sys.modules["lodestar.fitting.ensemble"]._SAVE_EVERY = 0.0  # the package's `fit` is the function
def wait_to_be_killed(report):
    print(report.update, flush=True)
    time.sleep(3600 if report.update >= 300 and len(list(Path({folder!r}).glob("*.ckpt"))) == 2 else 0.01)
fit(toy_runs(), seed=0, updates=600, checkpoint={folder!r}, members=2, on_progress=wait_to_be_killed, **SMALL)
"""


def test_a_killed_fit_goes_on_to_the_same_result(tmp_path):
    folder = tmp_path / "ckpt"
    code = KILLED.format(root=str(Path(__file__).parents[2]), folder=str(folder))
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if int(line) >= 300 and len(list(folder.glob("*.ckpt"))) == 2:
                break
        process.send_signal(signal.SIGKILL)
    assert sorted(p.name for p in folder.glob("*.ckpt")) == ["member-0.ckpt", "member-1.ckpt"]
    first: list[int] = []
    resumed = small_fit(updates=600, checkpoint=folder, members=2, on_progress=lambda r: first.append(r.update))
    assert min(first) > 50  # it went on, it did not begin again
    assert weights_equal(resumed, small_fit(updates=600, members=2))


def test_a_checkpoint_of_another_fit_is_refused(tmp_path):
    small_fit(checkpoint=tmp_path)
    with pytest.raises(FitError, match="belongs to a fit with other runs, settings or seed"):
        small_fit(checkpoint=tmp_path, seed=5)


def test_a_finished_checkpoint_gives_the_result_at_once(tmp_path):
    one = small_fit(checkpoint=tmp_path)
    assert weights_equal(one, small_fit(checkpoint=tmp_path))


def test_a_damaged_checkpoint_is_refused_with_a_sentence(tmp_path):
    small_fit(checkpoint=tmp_path)
    path = tmp_path / "member-0.ckpt"
    path.write_bytes(path.read_bytes()[:-10])
    with pytest.raises(ForecasterError, match="damaged"):
        small_fit(checkpoint=tmp_path)


def test_a_set_larger_than_the_pool_is_visited_in_parts(monkeypatch):
    monkeypatch.setattr("lodestar.fitting.train.POOL", 6)
    trainer = Trainer(fit_settings("default", **SMALL), 60)
    values = np.arange(40.0)[:, None, None] * np.ones((1, 60, 3))
    runs = RunArrays(values, values > -1, np.zeros((40, 30, 2)), np.ones(40, bool))
    pools = [trainer._pool(runs, np.arange(40), number).values[:, 0, 0].tolist() for number in range(30)]
    assert all(len(set(pool)) == 6 for pool in pools)
    assert len({run for pool in pools for run in pool}) == 40
    assert pools[3] == trainer._pool(runs, np.arange(40), 3).values[:, 0, 0].tolist()
