"""A real training job, small enough for a demo: an MLP on scikit-learn's handwritten digits, many runs at once.

Comes in: a learning rate for every step of every run, and seeds. Goes out: loss, validation and test accuracy. The
budget is short on purpose (300 updates of 16 images): that is where schedules differ. All runs train in one vmapped
JAX program, so that a sweep of a hundred takes seconds.
"""

import functools
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
from numpy.typing import NDArray
from sklearn.datasets import load_digits

from lodestar.runs import Facts, Run, RunSet, Series

STEPS, BATCH, EVERY = 300, 16, 3
RATES = (1e-3, 3e-3, 1e-2, 3e-2, 1e-1)
SHAPES = ("constant", "cosine", "onecycle", "step")


@functools.cache
def data() -> tuple[NDArray, ...]:
    """1,797 digits: 1,000 to learn from, 397 to validate, 400 to test."""
    images, labels = map(np.asarray, load_digits(return_X_y=True))
    order = np.random.default_rng(0).permutation(len(labels))
    x, y = (images[order] / 16.0).astype(np.float32), labels[order].astype(np.int32)
    return x[:1000], y[:1000], x[1000:1397], y[1000:1397], x[1397:], y[1397:]


def shape(name: str, peak: float) -> NDArray[np.float64]:
    """The paper's four schedules."""
    t = (np.arange(STEPS) + 1) / STEPS
    if name == "constant":
        return np.full(STEPS, peak)
    if name == "cosine":
        return peak * 0.5 * (1 + np.cos(np.pi * t))
    if name == "step":
        return peak * 0.5 ** np.minimum(np.floor(3 * t), 2)
    return np.asarray(jax.vmap(optax.cosine_onecycle_schedule(STEPS, peak))(jnp.arange(STEPS)), np.float64)


def random_schedule(rng: np.random.Generator) -> NDArray[np.float64]:
    """Any peak, warm-up, plateau, decay power and floor: covers far more of what a schedule can be than four shapes."""
    peak, power = np.exp(rng.uniform(np.log(2e-3), np.log(1e-1))), np.exp(rng.uniform(np.log(0.5), np.log(3)))
    warm, flat, floor = rng.uniform(0, 0.3), rng.uniform(0, 0.7), rng.choice([0.0, 0.01, 0.1])
    t = (np.arange(STEPS) + 1) / STEPS
    down = np.clip((t - warm - (1 - warm) * flat) / ((1 - warm) * (1 - flat)), 0, 1)
    return peak * np.minimum(0.05 + 0.95 * t / max(warm, 1e-9), floor + (1 - floor) * (1 - down) ** power).clip(0, 1)


def begin(seeds: Sequence[int], width: int = 32) -> Any:
    """Fresh networks and optimizer states, one a seed."""

    def one(key):
        a, b = jax.random.split(key)
        params = {
            "w1": jax.random.normal(a, (64, width)) / 8,
            "b1": jnp.zeros(width),
            "w2": jax.random.normal(b, (width, 10)) / (6 * (width / 32) ** 0.5),
            "b2": jnp.zeros(10),
        }
        return params, optax.scale_by_adam().init(params)

    return jax.vmap(one)(jax.vmap(jax.random.key)(jnp.asarray(seeds)))


@jax.jit
def advance(state: Any, seeds: jax.Array, first: jax.Array, rates: jax.Array) -> tuple[Any, tuple[jax.Array, ...]]:
    """Some updates of every run, at the given rates (runs, updates); losses and accuracies after each."""
    x, y, x_val, y_val, x_test, y_test = (jnp.asarray(part) for part in data())

    def net(params, images):
        return jnp.tanh(images @ params["w1"] + params["b1"]) @ params["w2"] + params["b2"]

    def one(state, seed, rates):
        def update(state, item):
            params, opt = state
            number, rate = item
            pick = jax.random.randint(jax.random.fold_in(jax.random.key(seed), number), (BATCH,), 0, len(y))
            loss, grads = jax.value_and_grad(
                lambda p: optax.softmax_cross_entropy_with_integer_labels(net(p, x[pick]), y[pick]).mean()
            )(params)
            step, opt = optax.scale_by_adam().update(grads, opt)
            params = jax.tree.map(lambda p, s: p - rate * (s + 1e-4 * p), params, step)
            right = [jnp.mean(jnp.argmax(net(params, a), -1) == b) for a, b in ((x_val, y_val), (x_test, y_test))]
            return (params, opt), (loss, *right)

        return jax.lax.scan(update, state, (first + jnp.arange(rates.shape[0]), rates))

    return jax.vmap(one)(state, seeds, rates)


def train(rates: NDArray[np.float64], seeds: Sequence[int]) -> tuple[NDArray, NDArray, NDArray]:
    """Whole runs: training loss and validation accuracy after every update, test accuracy at the end."""
    _, (loss, val, test) = advance(begin(seeds), jnp.asarray(seeds), jnp.asarray(0), jnp.asarray(rates, jnp.float32))
    return np.asarray(loss, np.float64), np.asarray(val, np.float64), np.asarray(test, np.float64)[:, -1]


def as_runs(names: Sequence[str], facts: Sequence[Facts], rates: NDArray, loss: NDArray, val: NDArray) -> RunSet:
    """What a tracker would have kept: a point every three updates."""
    steps = np.arange(EVERY, STEPS + 1, EVERY)
    mean = loss.reshape(len(names), -1, EVERY).mean(axis=-1)
    return RunSet(
        Run(
            name=name,
            loss=Series(steps, mean[i]),
            metric=Series(steps, val[i, steps - 1]),
            lr=Series(steps, rates[i, steps - 1]),
            direction="max",  # pyright: ignore[reportArgumentType]
            metric_name="validation accuracy",
            facts=fact,
        )
        for i, (name, fact) in enumerate(zip(names, facts, strict=True))
    )


def sweep(seeds: int = 3, random: int = 60) -> RunSet:
    """The paper's grid (4 shapes x 5 rates x seeds), and as many random schedules again."""
    rng = np.random.default_rng(1)
    made = [(f"{s}-{r:g}-{seed}", s, shape(s, r), seed) for s in SHAPES for r in RATES for seed in range(seeds)]
    made += [(f"random-{i}", "random", random_schedule(rng), 100 + i) for i in range(random)]
    names, kinds, rates, numbers = (list(part) for part in zip(*made, strict=True))
    rates = np.stack(rates)
    loss, val, _ = train(rates, numbers)
    facts = [
        Facts(task="digits-mlp", schedule=kind, peak_lr=float(rate.max()), seed=number, source="examples/digits.py")
        for kind, rate, number in zip(kinds, rates, numbers, strict=True)
    ]
    return as_runs(names, facts, rates, loss, val)
