import copy
import math
import re
from typing import Any, cast

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.adapters.digits import batch_at, digits
from tests.adapters.run_example import run_example
from torch import nn

from lodestar.adapters.torch import LodestarLR
from lodestar.scheduler import Scheduler
from lodestar.testing import AdapterContract, random_forecaster
from lodestar.testing.adapter_contract import STEPS, Trained, Watched

torch.set_num_threads(1)


def a_model() -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(64, 16), nn.ReLU(), nn.Linear(16, 10))


def an_optimizer(model: nn.Sequential, lr=1e-3) -> torch.optim.Optimizer:
    return torch.optim.Adam(
        [{"params": model[0].parameters()}, {"params": model[2].parameters(), "lr": 0.1 * lr}], lr=lr
    )


def a_scheduler(steps=STEPS, **options) -> Scheduler:
    return Scheduler(random_forecaster(seed=2, points=30), steps, preset="paper", tolerance=1000.0, **options)


def loss_of(model: nn.Module, step: int, poison: int | None = None) -> torch.Tensor:
    images, labels = batch_at(step, poison)
    return nn.functional.cross_entropy(model(torch.from_numpy(images)), torch.from_numpy(labels))


def update(model: nn.Module, optimizer: torch.optim.Optimizer, step: int, poison: int | None = None) -> torch.Tensor:
    optimizer.zero_grad()
    loss = loss_of(model, step, poison)
    loss.backward()
    optimizer.step()
    return loss


def accuracy_of(model: nn.Module) -> float:
    _, _, images, labels = digits()
    with torch.no_grad():
        return float((model(torch.from_numpy(images)).argmax(1) == torch.from_numpy(labels)).float().mean())


class TestTorchContract(AdapterContract):
    ratios = (1.0, 0.1)
    stops = (17, 36)
    ends_itself = False

    def train(self, scheduler, folder, *, steps, stop, poison):
        model = a_model()
        optimizer = an_optimizer(model)
        steered = LodestarLR(optimizer, scheduler)
        checkpoint = folder / "checkpoint.pt"
        if checkpoint.exists():
            saved = torch.load(checkpoint, weights_only=True)
            for part, name in ((model, "model"), (optimizer, "optimizer"), (steered, "scheduler")):
                part.load_state_dict(saved[name])
        rates, metrics = {}, {}
        for step in range(steered.global_step + 1, stop + 1):
            rates[step] = []
            hook = optimizer.register_step_pre_hook(
                lambda opt, *_, to=rates[step]: to.extend(group["lr"] for group in opt.param_groups)
            )
            loss = update(model, optimizer, step, poison)
            hook.remove()
            steered.step(loss=loss)
            if step % 6 == 0:
                metrics[step] = accuracy_of(model)
                steered.observe(metric=metrics[step])
        states = {"model": model, "optimizer": optimizer, "scheduler": steered}
        torch.save({name: part.state_dict() for name, part in states.items()}, checkpoint)
        return Trained(rates, metrics, steered)


def test_calls_of_step_are_not_counted():
    model = a_model()
    optimizer = an_optimizer(model)
    steered = LodestarLR(optimizer, a_scheduler())
    for step in range(1, 10):
        update(model, optimizer, step)
        for _ in range(step % 3):
            steered.step()
    assert steered.global_step == 9


def test_the_global_step_can_be_given():
    optimizer = an_optimizer(a_model())
    steered = LodestarLR(optimizer, a_scheduler())
    steered.step(30)
    assert steered.global_step == 30
    assert optimizer.param_groups[0]["lr"] == steered.scheduler.lr_at(31)


def test_stepping_before_the_first_update_warns():
    optimizer = an_optimizer(a_model())
    steered = LodestarLR(optimizer, a_scheduler())
    with pytest.warns(UserWarning, match=r"no update.*Fix: call optimizer.step\(\) first"):
        steered.step()


def test_a_tensor_rate_is_filled_in_place():
    model = a_model()
    optimizer = torch.optim.Adam(model.parameters(), lr=torch.tensor(1e-3, dtype=torch.float64), capturable=False)
    rate = optimizer.param_groups[0]["lr"]
    steered = LodestarLR(optimizer, a_scheduler())
    for step in range(1, 4):
        update(model, optimizer, step)
        steered.step()
        assert optimizer.param_groups[0]["lr"] is rate
        assert float(rate) == steered.scheduler.lr_at(step + 1)
    assert steered.get_last_lr()[0] is not rate


def test_a_group_added_later_keeps_its_ratio_from_its_first_update_on():
    model, extra = a_model(), nn.Parameter(torch.zeros(3))
    optimizer = an_optimizer(model)
    steered = LodestarLR(optimizer, a_scheduler())
    update(model, optimizer, 1)
    steered.step()
    optimizer.add_param_group({"params": [extra], "lr": 5e-4})
    update(model, optimizer, 2)
    assert optimizer.param_groups[2]["lr"] == pytest.approx(0.5 * steered.scheduler.lr_at(2), rel=1e-12)
    steered.step()
    assert optimizer.param_groups[2]["lr"] == pytest.approx(0.5 * steered.scheduler.lr_at(3), rel=1e-12)
    assert len(steered.get_last_lr()) == 3


@given(st.integers(120, 400), st.integers(20, 120), st.sampled_from([0.05, 0.1, 0.3]))
@settings(max_examples=40, deadline=None)
def test_the_next_decision_is_where_one_is_made(steps, points, window):
    scheduler = Scheduler(random_forecaster(seed=2, points=points), steps, window=window, spike=None)
    for step in range(1, steps + 1):
        expected = scheduler.next_decision() == step
        before = len(scheduler.decisions)
        scheduler.lr_at(step)
        assert (len(scheduler.decisions) > before) == expected, step
    assert scheduler.next_decision() == steps + 1


@pytest.mark.parametrize("order", ["built first", "optimizer first", "scheduler first"])
def test_any_order_of_loading_gives_the_same_rates(order):
    model = a_model()
    optimizer = an_optimizer(model)
    steered = LodestarLR(optimizer, a_scheduler())
    for step in range(1, 11):
        steered.step(loss=update(model, optimizer, step))
    saved = copy.deepcopy((optimizer.state_dict(), steered.state_dict()))
    other = an_optimizer(a_model(), lr=0.7 if order == "built first" else 1e-3)
    if order == "optimizer first":
        other.load_state_dict(saved[0])
    again = LodestarLR(other, a_scheduler())
    if order == "scheduler first":
        again.load_state_dict(saved[1])
        other.load_state_dict(saved[0])
    else:
        other.load_state_dict(saved[0])
        again.load_state_dict(saved[1])
    assert [group["lr"] for group in other.param_groups] == [group["lr"] for group in optimizer.param_groups]
    assert again.global_step == 10
    with pytest.warns(UserWarning, match=r"step\(20\).*seen to make 10.*Fix: call step\(\) without a number"):
        steered.step(20)
    again.step(20)
    assert [group["lr"] for group in other.param_groups] == [group["lr"] for group in optimizer.param_groups]


def test_the_optimizers_state_may_come_from_a_run_that_was_not_steered():
    model = a_model()
    plain = an_optimizer(model)
    update(model, plain, 1)
    optimizer = an_optimizer(model)
    steered = LodestarLR(optimizer, a_scheduler())
    optimizer.load_state_dict(plain.state_dict())
    update(model, optimizer, 2)
    steered.step()
    rates = [group["lr"] for group in optimizer.param_groups]
    assert rates == pytest.approx([steered.scheduler.lr_at(2), 0.1 * steered.scheduler.lr_at(2)])


def test_two_schedulers_on_one_optimizer_are_refused():
    optimizer = an_optimizer(a_model())
    first = LodestarLR(optimizer, a_scheduler())
    with pytest.raises(ValueError, match=r"already has a LodestarLR.*Fix: .*detach"):
        LodestarLR(optimizer, a_scheduler())
    first.detach()
    LodestarLR(optimizer, a_scheduler())


def test_a_dead_scheduler_does_not_block_the_optimizer():
    optimizer = an_optimizer(a_model())
    steered = LodestarLR(optimizer, a_scheduler())
    del steered
    LodestarLR(optimizer, a_scheduler())


def test_a_checkpoint_taken_by_torch_distributed_before_the_first_update_changes_nothing():
    from torch.distributed.checkpoint.state_dict import get_optimizer_state_dict

    model = a_model()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.5)
    steered = LodestarLR(optimizer, a_scheduler())
    before = copy.deepcopy(model.state_dict())
    get_optimizer_state_dict(model, optimizer)  # makes a step with rate 0 to create Adam's state
    assert steered.global_step == 0
    assert all(torch.equal(before[name], value) for name, value in model.state_dict().items())
    assert optimizer.param_groups[0]["lr"] == steered.scheduler.lr_at(1)


def test_accelerate_with_accumulation():
    from accelerate import Accelerator

    model = a_model()
    optimizer = an_optimizer(model)
    steered = LodestarLR(optimizer, a_scheduler(30))
    accelerator = Accelerator(cpu=True, gradient_accumulation_steps=2)
    model, optimizer, wrapped = accelerator.prepare(model, optimizer, steered)
    used = []
    for step in range(1, 25):
        with accelerator.accumulate(model):
            accelerator.backward(loss_of(model, step))
            optimizer.step()
            used.append(optimizer.param_groups[0]["lr"]) if accelerator.sync_gradients else None
            wrapped.step()
            optimizer.zero_grad()
    assert steered.global_step == 12
    assert used == [steered.scheduler.lr_at(step) for step in range(1, 13)]


def test_steps_called_once_for_each_process_as_accelerate_does():
    model = a_model()
    optimizer = an_optimizer(model)
    scheduler = Watched(random_forecaster(seed=2, points=30), STEPS, preset="paper")
    steered = LodestarLR(optimizer, scheduler)
    for step in range(1, STEPS + 1):
        update(model, optimizer, step)
        assert optimizer.param_groups[0]["lr"] == scheduler.answers[step]
        for _ in range(4):
            steered.step()
    assert max(scheduler.answers) == STEPS
    assert not any("past the end" in text for text in scheduler.warnings)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda o: LodestarLR(o, random_forecaster(seed=0)), r"total_steps must be given.*Fix: pass total_steps"),
        (lambda o: LodestarLR(o, a_scheduler(), 7), r"ready scheduler was given together with total_steps"),
        (lambda o: LodestarLR(o, a_scheduler(), seed=1), r"ready scheduler was given together with seed"),
        (lambda o: LodestarLR(o, cast(Any, 3), 100), r"a Forecaster or the path of a forecaster file, got int"),
        (lambda o: LodestarLR(o, a_scheduler(), reference_group=2), r"reference_group must be 0 to 1, got 2"),
        (lambda o: LodestarLR(cast(Any, a_model()), a_scheduler()), r"must be a torch.optim.Optimizer, got Sequential"),
    ],
)
def test_bad_arguments_are_refused_when_built(build, message):
    with pytest.raises(ValueError, match=message):
        build(an_optimizer(a_model()))


def test_a_reference_rate_of_zero_is_refused():
    with pytest.raises(ValueError, match=r"param group 0 has lr 0.0.*Fix: make the optimizer with lr > 0"):
        LodestarLR(an_optimizer(a_model(), lr=0.0), a_scheduler())


def test_the_state_of_another_kind_of_scheduler_is_refused():
    optimizer = an_optimizer(a_model())
    other = torch.optim.lr_scheduler.ConstantLR(an_optimizer(a_model()))
    with pytest.raises(ValueError, match="not the state of a LodestarLR"):
        LodestarLR(optimizer, a_scheduler()).load_state_dict(other.state_dict())
    with pytest.raises(ValueError, match=r"version 9.*Fix: (git -C|install a newer)"):
        LodestarLR(an_optimizer(a_model()), a_scheduler()).load_state_dict({"lodestar": 9})


def test_the_length_can_be_changed_on_the_way():
    model = a_model()
    optimizer = an_optimizer(model)
    steered = LodestarLR(optimizer, a_scheduler())
    for step in range(1, 31):
        steered.step(loss=update(model, optimizer, step))
    steered.extend(120)
    assert steered.total_steps == 120
    assert math.isclose(optimizer.param_groups[0]["lr"], steered.scheduler.lr_at(31))


def test_a_frozen_plan_runs_as_a_plain_lambda_lr():
    plan = a_scheduler().plan()
    optimizer = an_optimizer(a_model())
    frozen = plan.as_lambda_lr(optimizer)
    assert type(frozen) is torch.optim.lr_scheduler.LambdaLR
    for step in range(1, STEPS + 1):
        rates = [group["lr"] for group in optimizer.param_groups]
        assert rates == pytest.approx([plan.lr_at(step), 0.1 * plan.lr_at(step)])
        optimizer.step()
        frozen.step()


def test_the_example_runs(tmp_path, monkeypatch, capsys):
    printed = run_example("torch_loop.py", tmp_path, monkeypatch, capsys)
    assert float(re.findall(r"accuracy (\d\.\d+)", printed)[-1]) > 0.8
