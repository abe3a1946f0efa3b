"""Jobs unlike the sweep: each shift changes one thing, and a closed and an open loop meet the very same."""

import json

import numpy as np
import pytest

from lodestar.scheduler import Scheduler
from lodestar.schedules import Schedule
from lodestar.testing import random_forecaster
from lodestar_bench import tasks
from lodestar_bench._errors import BenchError
from lodestar_bench.method import AbstractLook
from lodestar_bench.methods.schedule import Scheduled
from lodestar_bench.methods.steered import Steered
from lodestar_bench.studies import shift_room
from lodestar_bench.studies.shift_room import crossed
from lodestar_bench.studies.shifted_jobs import SHIFTS, Met, decayed, job, noisy, on_new_clock, stretched
from lodestar_bench.studies.shifts import gaps, in_units, scale_facts

LOOK: AbstractLook = None  # pyright: ignore[reportAssignmentType]  nobody looks inside
STEPS = 200


def met(shift: str, inner=None) -> Met:
    return Met(inner or Scheduled(stretched(np.full(STEPS, 0.1), shift)), shift, STEPS)


def play(controller: Met, steps: int) -> np.ndarray:
    """The rates of a job that asks at its stops, as the bench does."""
    rates, at = [], 0
    while at < steps:
        every = controller.every or steps
        count = min((at // every + 1) * every, steps) - at
        rates.append(controller.rates(at + 1, count))
        controller.observe(at + 1, np.full(count, 1.0), 0.5, LOOK)
        at += count
    return np.concatenate(rates)


def test_a_shift_changes_one_thing():
    whole = tasks.problem("digits-mlp", "cpu")
    for shift in SHIFTS:
        other = job("digits-mlp", shift)
        assert other.total_steps == whole.total_steps * (2 if shift == "length" else 1)
        assert other.batch_size == whole.batch_size * (4 if shift == "batch" else 1)
        assert other.recipe.weight_decay == pytest.approx(whole.recipe.weight_decay * (10 if shift == "decay" else 1))
    wide, usual = (job("digits-mlp", shift).begin(0)[0] for shift in ("width", "same"))
    assert sorted({n for part in _shapes(wide) for n in part}) == [10, 64, 256]
    assert sorted({n for part in _shapes(usual) for n in part}) == [10, 64]


def _shapes(params) -> list[tuple[int, ...]]:
    import jax

    return [leaf.shape for leaf in jax.tree.leaves(params)]


def test_a_told_job_states_its_width_and_its_batch():
    batch = tasks.problem("digits-mlp", "cpu").batch_size
    assert scale_facts("digits-mlp", "same") == {"width": 1.0, "batch_size": batch}
    assert scale_facts("digits-mlp", "batch") == {"width": 1.0, "batch_size": 4 * batch}
    assert scale_facts("digits-mlp", "width") == {"width": 4.0, "batch_size": batch}


def test_a_half_of_the_labels_is_drawn_anew_the_same_ones_in_every_run():
    labels = np.arange(1000, dtype=np.int32).reshape(100, 10)
    made = noisy(labels)
    assert 480 <= (made != labels).sum() <= 500  # a few are drawn as they were
    assert np.array_equal(made, noisy(labels))


def test_until_half_time_a_growing_job_sees_half_of_its_rows():
    problem = job("digits-mlp", "data")
    half = problem.total_steps // 2
    rows = {tuple(row) for row in problem.splits.train.inputs[: len(problem.splits.train) // 2]}
    early, _ = problem.batches(3, half - 19, 20)
    across, labels = problem.batches(3, half - 1, 40)
    assert all(tuple(row) in rows for batch in early for row in batch)
    assert not all(tuple(row) in rows for batch in across for row in batch)
    assert labels.shape == (40, problem.batch_size)


def test_weight_decay_where_a_recipe_has_none():
    found = decayed(job("manual-gru", "same").recipe)
    assert (found.optimizer, found.weight_decay) == ("adamw", 0.1)


def test_a_replayed_schedule_overshoots_for_three_per_cent():
    rates = play(met("spike"), STEPS)
    assert rates[:6] == pytest.approx(1.0)
    assert rates[6:] == pytest.approx(0.1)


def test_a_steered_job_overshoots_as_much_and_its_scheduler_knows():
    scheduler = Scheduler(random_forecaster(seed=5, points=40), STEPS, gate=None)
    planned = scheduler.plan().values()
    rates = play(met("spike", Steered(scheduler)), STEPS)
    assert rates[:6] == pytest.approx(10 * planned[:6])
    assert scheduler.state_dict()["history"]["lr"][0] == pytest.approx(rates[4])


def test_a_longer_job_says_so_at_half_time():
    scheduler = Scheduler(random_forecaster(seed=5, points=40), STEPS, gate=None)
    planned = scheduler.plan().values()
    rates = play(met("length", Steered(scheduler)), 2 * STEPS)
    assert scheduler.total_steps == 2 * STEPS
    assert len(rates) == 2 * STEPS
    assert rates[:10] == pytest.approx(planned[:10])


def test_the_rest_of_a_replayed_schedule_is_stretched():
    rates = stretched(np.arange(1.0, 9.0), "length").rates
    assert rates[:4].tolist() == [1.0, 2.0, 3.0, 4.0]
    assert len(rates) == 16
    assert (rates[4], rates[-1]) == (5.0, 8.0)
    assert stretched(np.arange(1.0, 9.0), "batch").rates.tolist() == list(range(1, 9))
    assert isinstance(stretched(np.ones(4), "same"), Schedule)


def test_or_read_on_the_new_clock():
    rates = on_new_clock(np.arange(1.0, 9.0)).rates
    assert rates[:6].tolist() == [1.0, 2.0, 3.0, 4.0, 2.5, 3.0]
    assert (len(rates), rates[-1]) == (16, 8.0)


def test_gaps_are_in_points_and_a_lost_run_counts_as_the_worst():
    one = {"task": "digits-mlp", "tests": [0.9, float("nan")]}
    other = {"task": "digits-mlp", "tests": [0.8, 0.7]}
    assert gaps(one, other) == pytest.approx([10.0, 0.0])
    assert in_units(one, other)[0] == pytest.approx(10 / (5 * 2**0.5 * 2 / 2))
    bits = [{"task": "manual-gru", "tests": [tested, tested]} for tested in (2.0, 2.1)]
    assert gaps(*bits) == pytest.approx([10.0, 10.0])


def _line(contestant: str, tests: list[float]) -> dict:
    key = {"task": "digits-mlp", "sweep": 0, "shift": "labels", "first_seed": 0, "seeds": len(tests)}
    return key | {"contestant": contestant, "tests": tests}


def test_what_a_factor_wins_is_judged_by_other_seeds_than_it_was_chosen_by():
    base = _line("open loop", [0.5, 0.6, 0.5, 0.6])  # a deviation of 0.0577
    lucky_on_even = _line("plan x2", [0.7, 0.4, 0.7, 0.4])  # chosen on the even seeds, harmful on the odd ones
    gaps_of = crossed([base, lucky_on_even], base)
    assert gaps_of == pytest.approx([0.0, -0.2 / 0.057735, 0.0, -0.2 / 0.057735], rel=1e-4)
    better = _line("plan x0.5", [0.7, 0.8, 0.7, 0.8])
    assert crossed([base, better], base) == pytest.approx([0.2 / 0.057735] * 4, rel=1e-4)


def test_the_table_of_what_a_factor_wins(tmp_path):
    path = tmp_path / "shifts.jsonl"
    made = [_line("open loop", [0.5, 0.6, 0.5, 0.6]), _line("plan x0.5", [0.7, 0.8, 0.7, 0.8])]
    path.write_text("".join(json.dumps(line) + "\n" for line in made))
    assert "| labels | +3.46 +- 0.00 | digits-mlp 0 +3.46 |" in shift_room.run(str(path))
    path.write_text(json.dumps(made[0]) + "\n")
    with pytest.raises(BenchError, match="has no plan times a factor"):
        shift_room.run(str(path))
