import csv
import importlib.util
import json
import math
import os
import random
import subprocess
import sys

import numpy as np
import pytest
from tests.hostile import TRIES, deep, some_bytes, some_value
from tests.scheduler.live import train

from lodestar.scheduler import Plan, Scheduler
from lodestar.testing import random_forecaster

PLAN = Plan(3, 8, (0.0, 5.0, 5.0, 10.0), (0.0, 1.0, 0.5, 0.0))
RATES = [0.6, 0.8, 1.0, 0.4, 0.3, 0.2]


def test_a_plan_is_linear_between_knots_and_jumps_after_a_double_one():
    assert [PLAN.lr_at(step) for step in range(3, 9)] == pytest.approx(RATES)
    assert PLAN.values().tolist() == [PLAN.lr_at(step) for step in range(3, 9)]


def test_outside_its_steps_the_ends_hold():
    assert PLAN.lr_at(-5) == PLAN.lr_at(3)
    assert PLAN.lr_at(99) == PLAN.lr_at(8)


def test_json_and_back_is_exact(tmp_path):
    one = Scheduler(random_forecaster(seed=5, points=40), 400, tolerance=20.0, hysteresis=None)
    train(one, 1, 200)
    one.followed().to_json(tmp_path / "plan.json")
    again = Plan.from_json(tmp_path / "plan.json")
    assert again == one.followed()
    assert again.values().tolist() == one.followed().values().tolist()
    assert [p.name for p in tmp_path.iterdir()] == ["plan.json"]


def test_csv_has_a_row_a_step(tmp_path):
    PLAN.to_csv(tmp_path / "plan.csv")
    with (tmp_path / "plan.csv").open() as stream:
        rows = list(csv.DictReader(stream))
    assert [int(row["step"]) for row in rows] == list(range(3, 9))
    assert [float(row["lr"]) for row in rows] == PLAN.values().tolist()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "cannot be read"),
        ("[]", "is not a Lodestar plan"),
        ('{"format": "lodestar-plan", "version": 9}', "plan version 9"),
        ('{"format": "lodestar-plan", "version": 1}', "is damaged"),
    ],
)
def test_what_is_not_a_plan_is_refused(tmp_path, text, words):
    (tmp_path / "p").write_text(text)
    with pytest.raises(ValueError, match=words):
        Plan.from_json(tmp_path / "p")


WRITTEN = {
    "format": "lodestar-plan",
    "version": 1,
    "meaning": "",
    "name": "plan",
    "first_step": 3,
    "last_step": 8,
    "knots": [0.0, 5.0, 5.0, 10.0],
    "lr": [0.0, 1.0, 0.5, 0.0],
}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"first_step": "3"}, "first_step must be a whole number"),
        ({"last_step": 10**12}, "last_step must be a whole number"),
        ({"last_step": 1}, "last_step must be a whole number"),
        ({"knots": [0.0, 5.0, "x", 10.0]}, "knots must be a finite number"),
        ({"knots": [0.0, 10**400, 5.0, 10.0]}, "is damaged"),
        ({"lr": 0.1}, "lr must be a list of numbers"),
        ({"lr": [0.0, True, 0.5, 0.0]}, "lr must be a finite number"),
        ({"lr": deep()}, "nested deeper"),
    ],
)
def test_a_damaged_plan_is_named_with_what_is_wrong(tmp_path, change, words):
    (tmp_path / "p").write_text(json.dumps(WRITTEN | change))
    with pytest.raises(ValueError, match=f"/p .*{words}.*Fix: "):
        Plan.from_json(tmp_path / "p")


def test_a_tampered_plan_is_refused_or_has_finite_rates(tmp_path):
    rng, refused = random.Random(2), 0
    for number in range(TRIES):
        text = json.dumps(some_value(WRITTEN, rng)).encode()
        (tmp_path / "p").write_bytes(some_bytes(text, rng) if number % 2 else text)
        try:
            plan = Plan.from_json(tmp_path / "p")
        except ValueError as error:
            refused += 1
            assert "Fix: " in str(error)
            continue
        assert math.isfinite(plan.lr_at(1)) and (len(plan) > 10**6 or np.isfinite(plan.values()).all())
    assert refused > TRIES / 3


@pytest.mark.parametrize(
    ("knots", "lr", "words"),
    [
        ((), (), "one lr a knot"),
        ((1.0, 0.0), (1.0, 1.0), "not decrease"),
        ((float("nan"),), (1.0,), "not decrease"),
        ((1.0,), (float("nan"),), "finite numbers >= 0"),
        ((1.0,), (-1.0,), "finite numbers >= 0"),
    ],
)
def test_bad_plans(knots, lr, words):
    with pytest.raises(ValueError, match=words):
        Plan(1, 2, knots, lr)


def test_a_lambda_lr_follows_the_plan_and_keeps_group_ratios():
    torch = pytest.importorskip("torch")
    weights = [torch.nn.Parameter(torch.ones(1)) for _ in range(2)]
    optimizer = torch.optim.SGD([{"params": weights[:1], "lr": 0.1}, {"params": weights[1:], "lr": 0.01}])
    schedule = PLAN.as_lambda_lr(optimizer)
    used = []
    for _ in range(8):
        used.append([group["lr"] for group in optimizer.param_groups])
        optimizer.step()
        schedule.step()
    assert [lead for lead, _ in used] == pytest.approx([*RATES, RATES[-1], RATES[-1]])
    assert [tail for _, tail in used] == pytest.approx([0.1 * lead for lead, _ in used])
    assert type(schedule) is torch.optim.lr_scheduler.LambdaLR


def test_an_optax_schedule_follows_the_plan():
    optax = pytest.importorskip("optax")
    import jax
    import jax.numpy as jnp

    schedule = jax.jit(PLAN.as_optax())
    assert [float(schedule(count)) for count in range(7)] == pytest.approx([*RATES, RATES[-1]], rel=1e-6)
    optimizer = optax.sgd(PLAN.as_optax())
    update, _ = optimizer.update(jnp.ones(1), optimizer.init(jnp.ones(1)))
    assert float(update[0]) == pytest.approx(-RATES[0])


@pytest.mark.skipif(importlib.util.find_spec("keras") is None, reason="Keras is not installed")
def test_a_keras_schedule_follows_the_plan():
    code = (
        "import json, numpy as np, keras; from lodestar.scheduler import Plan\n"
        f"plan = Plan{(PLAN.first_step, PLAN.last_step, PLAN.knots, PLAN.lr)}\n"
        "schedule = plan.as_keras()\n"
        "again = type(schedule).from_config(schedule.get_config())\n"
        "sgd = keras.optimizers.SGD(learning_rate=schedule)\n"
        "print(json.dumps([float(keras.ops.convert_to_numpy(again(i))) for i in range(7)] + "
        "[float(keras.ops.convert_to_numpy(sgd.learning_rate))]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"KERAS_BACKEND": "jax"},
    )
    assert json.loads(done.stdout.splitlines()[-1]) == pytest.approx([*RATES, RATES[-1], RATES[0]], rel=1e-6)
