"""Code to paste: it runs by itself in each framework and gives the rates of the schedule."""

import importlib.util
import os
import subprocess
import sys

import numpy as np
import pytest

from lodestar.planning.plan import to_schedule
from lodestar.schedules import Schedule, parse
from lodestar.schedules.paste import FRAMEWORKS, code

LONG = to_schedule(parse("wsd:3e-3:decay=0.3", 100).rates, 730)
SHORT = parse("cosine:1e-3:warmup=0.2", 7)
JUMP = Schedule("jump", [2e-3, 2e-3, 1e-3, 1e-3], knots=[1, 5, 5, 10])
SCHEDULES = (LONG, SHORT, JUMP)


def made(schedule: Schedule, framework: str) -> dict:
    """What the code defines."""
    names: dict = {"__name__": "planned"}
    exec(compile(code(schedule, framework, ["a remark\nof two lines"]), "planned.py", "exec"), names)
    return names


@pytest.mark.parametrize("framework", ["torch", "transformers"])
@pytest.mark.parametrize("schedule", SCHEDULES, ids=["long", "short", "jump"])
def test_torch(framework, schedule):
    torch = pytest.importorskip("torch")

    one, other = torch.nn.Parameter(torch.zeros(1)), torch.nn.Parameter(torch.zeros(1))
    optimizer = torch.optim.SGD([{"params": [one], "lr": 0.1}, {"params": [other], "lr": 0.05}])
    scheduler = made(schedule, framework)["planned_scheduler"](optimizer)
    rates = []
    for _ in range(len(schedule)):
        rates.append([group["lr"] for group in optimizer.param_groups])
        optimizer.step()
        scheduler.step()
    assert np.array(rates)[:, 0] == pytest.approx(schedule.rates, rel=1e-6, abs=1e-12)
    assert np.array(rates)[:, 1] == pytest.approx(schedule.rates / 2, rel=1e-6, abs=1e-12)
    assert scheduler.get_last_lr()[0] == pytest.approx(schedule.rates[-1])


def test_torch_refuses_a_rate_of_zero_to_scale():
    torch = pytest.importorskip("torch")

    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=0.0)
    with pytest.raises(ValueError, match="lr must be above 0, got 0"):
        made(SHORT, "torch")["planned_scheduler"](optimizer)


@pytest.mark.parametrize("schedule", SCHEDULES, ids=["long", "short", "jump"])
def test_optax(schedule):
    import jax
    import jax.numpy as jnp

    lr = jax.jit(jax.vmap(made(schedule, "optax")["planned_lr"]))
    counts = jnp.arange(len(schedule) + 5)
    expected = [*schedule.rates, *[schedule.rates[-1]] * 5]
    assert np.asarray(lr(counts)) == pytest.approx(expected, rel=1e-4, abs=1e-9)


KERAS = """
import numpy as np
schedule = PlannedLR()
rates = [float(schedule(step)) for step in {steps}]
optimizer = keras.optimizers.SGD(PlannedLR())
assert float(optimizer.learning_rate) == rates[0]
again = keras.optimizers.SGD.from_config(optimizer.get_config())
assert float(again.learning_rate) == rates[0]
print(rates)
"""


@pytest.mark.skipif(importlib.util.find_spec("keras") is None, reason="needs Keras")
def test_keras(tmp_path):
    steps = [0, 1, 5, 72, 73, 400, 510, 511, 600, 728, 729, 740]
    (tmp_path / "planned.py").write_text(code(LONG, "keras") + KERAS.format(steps=steps))
    done = subprocess.run(
        [sys.executable, "planned.py"],
        cwd=tmp_path,
        env=os.environ | {"KERAS_BACKEND": "jax"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    expected = [LONG.lr_at(step + 1) for step in steps]
    assert eval(done.stdout) == pytest.approx(expected, rel=1e-4, abs=1e-9)


def test_none_of_it_needs_lodestar():
    assert not any("lodestar" in code(LONG, framework).lower() for framework in FRAMEWORKS)


def test_a_plan_from_the_middle_begins_with_its_first_step():
    torch = pytest.importorskip("torch")

    rest = Schedule("rest", np.linspace(1e-3, 1e-4, 20), first_step=81)
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=1.0)
    made(rest, "torch")["planned_scheduler"](optimizer)
    assert optimizer.param_groups[0]["lr"] == pytest.approx(1e-3)


def test_a_framework_there_is_none_for_is_refused():
    with pytest.raises(ValueError, match="must be one of torch, optax, keras, transformers, got 'chainer'"):
        code(SHORT, "chainer")
