import pickle
import re
from typing import Any, cast

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from tests.adapters.digits import batch_at, digits
from tests.adapters.run_example import run_example

from lodestar.adapters.optax import LodestarSchedule, PlanState, with_learning_rate
from lodestar.scheduler import Scheduler
from lodestar.testing import AdapterContract, random_forecaster
from lodestar.testing.adapter_contract import STEPS, Trained


def loss_of(params, images, labels):
    logits = jnp.tanh(images @ params["one"]) @ params["two"]
    return optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean()


def fresh_params():
    one, two = jax.random.split(jax.random.key(0))
    return {"one": jax.random.normal(one, (64, 16)) * 0.1, "two": jax.random.normal(two, (16, 10)) * 0.1}


def accuracy_of(params) -> float:
    _, _, images, labels = digits()
    return float(np.mean(np.asarray(jnp.tanh(images @ params["one"]) @ params["two"]).argmax(axis=1) == labels))


def compilations(jitted: Any) -> int:
    return jitted._cache_size()


def train_step_of(optimizer):
    @jax.jit
    def train_step(params, opt_state, images, labels):
        loss, grads = jax.value_and_grad(loss_of)(params, images, labels)
        updates, opt_state = optimizer.update(grads, opt_state, params)
        return optax.apply_updates(params, updates), opt_state, loss

    return train_step


def a_scheduler(steps=STEPS) -> Scheduler:
    return Scheduler(random_forecaster(seed=2, points=30), steps, preset="paper", tolerance=1000.0)


def optimizer_of(schedule):
    return optax.chain(optax.clip_by_global_norm(1.0), optax.inject_hyperparams(optax.adam)(learning_rate=schedule))


class TestOptaxContract(AdapterContract):
    stops = (17, 36)
    precision = 1e-6
    ends_itself = False

    def train(self, scheduler, folder, *, steps, stop, poison):
        schedule = LodestarSchedule(scheduler, table=7)
        optimizer = optimizer_of(schedule)
        train_step = train_step_of(optimizer)
        params, done = fresh_params(), 0
        opt_state = optimizer.init(params)
        checkpoint = folder / "checkpoint.pickle"
        if checkpoint.exists():
            done, params, opt_state, state = pickle.loads(checkpoint.read_bytes())
            schedule.load_state_dict(state)
            opt_state = schedule.steer(opt_state, done)
        rates, metrics = {}, {}
        for step in range(done + 1, stop + 1):
            params, opt_state, loss = train_step(params, opt_state, *batch_at(step, poison))
            rates[step] = [float(opt_state[1].hyperparams["learning_rate"])]
            metric = None
            if step % 6 == 0:
                metric = metrics[step] = accuracy_of(params)
            opt_state = schedule.steer(opt_state, step, loss=loss, metric=metric)
        assert compilations(train_step) <= 2, "the update was compiled again"
        checkpoint.write_bytes(pickle.dumps((stop, params, opt_state, schedule.state_dict())))
        return Trained(rates, metrics, schedule)


def test_a_new_plan_costs_no_new_trace():
    traces = []
    schedule = LodestarSchedule(a_scheduler(), table=5)
    optimizer = optimizer_of(schedule)

    @jax.jit
    def train_step(params, opt_state, images, labels):
        traces.append(1)
        grads = jax.grad(loss_of)(params, images, labels)
        updates, opt_state = optimizer.update(grads, opt_state, params)
        return optax.apply_updates(params, updates), opt_state

    params = fresh_params()
    opt_state = optimizer.init(params)
    for step in range(1, STEPS + 1):
        params, opt_state = train_step(params, opt_state, *batch_at(step))
        opt_state = schedule.steer(opt_state, step, loss=2.0)
    assert len(traces) == 1
    assert compilations(train_step) == 1


def test_an_unchanged_plan_leaves_the_state_alone():
    schedule = LodestarSchedule(a_scheduler())
    opt_state = optimizer_of(schedule).init(fresh_params())
    assert schedule.steer(opt_state, 0) is opt_state


def test_several_updates_on_the_device_follow_the_table():
    scheduler = a_scheduler()
    schedule = LodestarSchedule(scheduler, table=16)
    state = schedule.init()
    rates = []
    for _ in range(6):
        rates.append(float(schedule(state)))
        state = schedule.update(state)
    plan = scheduler.plan()
    assert rates == pytest.approx([scheduler.lr_at(1), *(plan.lr_at(step) for step in range(2, 7))], rel=1e-6)


def test_the_state_is_keyed_on_the_step_that_is_told():
    schedule = LodestarSchedule(a_scheduler(), table=4)
    opt_state = optimizer_of(schedule).init(fresh_params())
    opt_state = schedule.steer(opt_state, 30)
    plan = next(leaf for leaf in jax.tree.leaves(opt_state, is_leaf=_is_plan) if _is_plan(leaf))
    assert int(plan.done) == 30
    assert float(schedule(plan)) == pytest.approx(schedule.scheduler.lr_at(31), rel=1e-6)


def _is_plan(part) -> bool:
    return isinstance(part, PlanState)


def test_a_rate_set_by_hand_costs_no_new_trace():
    scheduler = a_scheduler()
    optimizer = optax.inject_hyperparams(optax.adam)(learning_rate=0.0)
    train_step = train_step_of(optimizer)
    params = fresh_params()
    opt_state = optimizer.init(params)
    for step in range(1, 6):
        opt_state = with_learning_rate(opt_state, scheduler.lr_at(step))
        params, opt_state, _ = train_step(params, opt_state, *batch_at(step))
        assert float(opt_state.hyperparams["learning_rate"]) == pytest.approx(scheduler.lr_at(step), rel=1e-6)
    assert compilations(train_step) == 1


def test_the_length_can_be_changed_on_the_way():
    schedule = LodestarSchedule(a_scheduler())
    opt_state = optimizer_of(schedule).init(fresh_params())
    opt_state = schedule.steer(opt_state, 30, loss=1.0)
    schedule.extend(200)
    assert schedule.steer(opt_state, 30) is not opt_state
    assert schedule.scheduler.total_steps == 200


@pytest.mark.parametrize("step", [0.7, np.float32(1.5), "3", None])
def test_a_step_that_is_no_count_is_refused(step):
    schedule = LodestarSchedule(a_scheduler())
    opt_state = optimizer_of(schedule).init(fresh_params())
    with pytest.raises(ValueError, match=r"number of updates done, a whole number.*Fix: steer\(opt_state, step, loss"):
        schedule.steer(opt_state, step)


def test_steering_within_jit_is_refused_with_a_sentence():
    schedule = LodestarSchedule(a_scheduler())
    opt_state = optimizer_of(schedule).init(fresh_params())
    with pytest.raises(ValueError, match="outside jit"):
        jax.jit(lambda step: schedule.steer(opt_state, step))(3)


@pytest.mark.filterwarnings("ignore:no (loss|metric) was observed:UserWarning")
def test_a_number_of_epochs_is_refused_at_once():
    schedule = LodestarSchedule(a_scheduler())
    optimizer, params = optimizer_of(schedule), fresh_params()
    train_step, opt_state = train_step_of(optimizer), optimizer.init(params)
    for step in range(1, 6):
        params, opt_state, _ = train_step(params, opt_state, *batch_at(step))
    with pytest.raises(ValueError, match=r"steer\(1\).*but 5 are.*not that of epochs.*Fix: count every update"):
        schedule.steer(opt_state, 1)
    with pytest.warns(UserWarning, match=r"steer\(20\).*has counted 5.*Fix: count updates, not batches"):
        schedule.steer(opt_state, 20)
    with pytest.raises(ValueError, match="cannot go back"):
        schedule.steer(opt_state, 19)


def test_a_state_without_a_plan_is_refused():
    schedule = LodestarSchedule(a_scheduler())
    with pytest.raises(ValueError, match=r"holds no plan.*Fix: make the optimizer with optax.inject_hyperparams"):
        schedule.steer(optax.adam(1e-3).init(fresh_params()), 0)


def test_a_loss_by_position_is_a_sentence():
    schedule = LodestarSchedule(a_scheduler())
    opt_state = optimizer_of(schedule).init(fresh_params())
    with pytest.warns(UserWarning, match=r"steer was given 0.7 by position.*steer\(loss=...\)"):
        schedule.steer(opt_state, 1, 0.7)


def test_a_table_without_room_is_refused():
    with pytest.raises(ValueError, match=r"table must be at least 1 step, got 0"):
        LodestarSchedule(a_scheduler(), table=0)


def test_a_frozen_plan_runs_as_a_plain_schedule():
    plan = a_scheduler().plan()
    schedule = plan.as_optax()
    optimizer = optax.inject_hyperparams(optax.sgd)(learning_rate=schedule)
    params = fresh_params()
    opt_state = optimizer.init(params)
    for step in range(1, 8):
        _, opt_state = optimizer.update(params, opt_state, params)
        assert float(cast(Any, opt_state).hyperparams["learning_rate"]) == pytest.approx(plan.lr_at(step), rel=1e-6)
    assert float(schedule(10_000)) == pytest.approx(plan.lr_at(STEPS), rel=1e-6)


def test_the_example_runs(tmp_path, monkeypatch, capsys):
    printed = run_example("optax_loop.py", tmp_path, monkeypatch, capsys)
    assert float(re.findall(r"accuracy (\d\.\d+)", printed)[-1]) > 0.8
