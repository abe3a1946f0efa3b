import numpy as np
import pytest
from tests.curves import diverged_run, toy_run, toy_runs

from lodestar._errors import PrepareError
from lodestar.fitting import dataset as dataset_module
from lodestar.fitting.dataset import prepare
from lodestar.fitting.survey import LEAST, MOST, survey
from lodestar.forecaster.preprocessing import Kind
from lodestar.forecaster.preprocessing.grid import averaged
from lodestar.runs import Direction, Run, RunSet, RunStore, Series


def test_runs_become_standardised_arrays():
    made = prepare(toy_runs())
    assert made.values.shape == made.mask.shape == (16, 60, 3)
    assert made.mask.all()
    np.testing.assert_allclose(made.values.mean(axis=(0, 1)), 0, atol=1e-9)
    np.testing.assert_allclose(made.values.std(axis=(0, 1)), 1, atol=1e-6)


def test_the_way_back_gives_the_smoothed_run():
    run = toy_run("a")
    made = prepare([run, *toy_runs()], smoothing=0.0)
    np.testing.assert_allclose(made.natural()[0, :, 0], run.loss.values, rtol=1e-9)
    np.testing.assert_allclose(made.natural()[0, :, 1], run.metric.values, rtol=1e-9)
    np.testing.assert_allclose(made.natural()[0, :, 2], run.lr.values, rtol=1e-9, atol=1e-15)


def test_a_diverged_run_is_excluded_and_reported():
    made = prepare([*toy_runs(), diverged_run("boom")])
    assert "boom" not in made.names
    assert [name for name, _ in made.excluded] == ["boom"]


def test_runs_of_different_length_share_one_clock():
    made = prepare([toy_run("long", total=6000, every=100, metric_every=100), toy_run("short", total=600)])
    assert made.total_steps.tolist() == [6000, 600]
    np.testing.assert_allclose(made.natural()[0, :, 2], made.natural()[1, :, 2], atol=2e-5)


def test_rare_validation_is_masked_not_filled_in():
    made = prepare([toy_run(str(i), seed=i, metric_every=100) for i in range(4)])
    assert made.mask[0, :, 1].sum() == 6
    assert made.mask[0, :, 0].all()
    assert np.isnan(made.natural()[0, 0, 1])


def test_a_run_cut_short_ends_in_a_mask():
    run = toy_run("a")
    half = run.replace(loss=run.loss.until(300), metric=run.metric.until(300), lr=run.lr.until(300), total_steps=600)
    made = prepare([half, *toy_runs()])
    assert made.mask[0].sum(axis=0).tolist() == [30, 30, 30]
    assert made.final_metric()[0] == pytest.approx(float(made.natural()[0, 29, 1]))


def test_a_one_shot_stream_of_runs_is_fine():
    assert len(prepare(iter(toy_runs()))) == 16


def test_a_store_is_read_as_a_stream(tmp_path):
    store = RunStore.create(tmp_path / "runs")
    store.add_many(toy_runs())
    np.testing.assert_array_equal(prepare(store).values, prepare(toy_runs()).values)


def test_large_sets_live_in_a_file(monkeypatch):
    plain = prepare(toy_runs())
    monkeypatch.setattr(dataset_module, "_IN_MEMORY", 1000)
    monkeypatch.setattr(dataset_module, "_BLOCK", 3)
    mapped = prepare(toy_runs())
    assert isinstance(mapped.values, np.memmap)
    np.testing.assert_allclose(mapped.values, plain.values, atol=1e-9)


def test_new_runs_are_brought_onto_an_existing_recipe():
    recipe = prepare(toy_runs()).recipe
    made = prepare([toy_run("new", "step", 2e-3, seed=9)], recipe=recipe)
    assert made.recipe == recipe
    assert made.recipe.from_dict(recipe.to_dict()) == recipe


def test_a_metric_to_be_minimised_is_kept_so():
    made = prepare(toy_runs(direction=Direction.MIN))
    assert made.recipe.direction is Direction.MIN
    assert made.recipe.normaliser.metric.transform.kind is Kind.LOG


def test_no_runs_is_a_clear_error():
    with pytest.raises(PrepareError, match="there is no run to prepare"):
        prepare([])


def test_all_runs_diverged_names_the_reasons():
    with pytest.raises(PrepareError, match=r"no usable run among 2 \(a: diverged.*lodestar doctor"):
        prepare([diverged_run("a"), diverged_run("b")])


def test_mixed_directions_are_refused():
    with pytest.raises(PrepareError, match="mix metrics"):
        prepare([toy_run("a"), toy_run("b", direction=Direction.MIN)])


def test_the_other_direction_than_the_recipes_is_refused():
    recipe = prepare(toy_runs()).recipe
    with pytest.raises(PrepareError, match="is to be maximised, these runs' is to be minimised"):
        prepare(toy_runs(direction=Direction.MIN), recipe=recipe)


def test_a_constant_metric_does_not_divide_by_zero():
    flat = RunSet(r.replace(metric=Series(r.metric.steps, np.full(len(r.metric), 0.5))) for r in toy_runs())
    assert np.all(np.isfinite(prepare(flat).values))


def test_huge_losses_stay_finite():
    run = toy_run("a")
    values = run.loss.values.copy()
    values[3] = 1e300
    made = prepare([run.replace(loss=Series(run.loss.steps, values)), *toy_runs()])
    assert np.all(np.isfinite(made.values))


def logged_means(total: int, every: int) -> Run:
    """A run whose loss falls by 1 an update, logged as the mean since the log before."""
    ends = np.append(np.arange(every, total, every), total)
    starts = np.concatenate([[0], ends[:-1]])
    line = Series(ends, total - (starts + 1 + ends) / 2)
    return Run(
        name="r", loss=line, metric=Series(ends, np.linspace(0, 1, len(ends))), lr=Series(ends, np.ones(len(ends))),
        direction=Direction.MAX, total_steps=total,
    )  # fmt: skip


@pytest.mark.parametrize(("total", "every"), [(883, 9), (297, 3), (1050, 10), (800, 8), (10_000, 10), (5000, 1)])
def test_what_past_runs_logged_stands_where_a_live_job_tells_it(total, every):
    points = survey([logged_means(total, every)]).default_points()
    stored, _ = averaged(logged_means(total, every).loss, total, points)
    live, _ = averaged(Series(np.arange(1, total + 1), total - np.arange(1, total + 1)), total, points)
    assert LEAST <= points <= MOST
    assert np.abs(stored - live)[:-1].max() < 0.6 * max(every, total / points / 2)


def test_a_run_that_was_hardly_logged_gets_the_least_grid():
    assert survey([logged_means(1000, 100)]).default_points() == LEAST
