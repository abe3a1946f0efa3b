"""A small problem of our own: least squares with a matrix and a vector of weights. Gradients by hand."""

import jax
import numpy as np

from lodestar_bench.problem import TrainingRecipe

RNG = np.random.default_rng(7)
INPUTS = RNG.normal(size=(12, 4))
WANTED = RNG.normal(size=(12, 3))
START = {"bias": RNG.normal(size=3), "weight": RNG.normal(size=(4, 3))}
SGD = TrainingRecipe("sgd", rates=(0.01, 0.02, 0.03, 0.05, 0.1), weight_decay=1e-2)
ADAM = TrainingRecipe("adam", rates=(1e-3, 3e-3, 1e-2, 3e-2, 1e-1))
ADAMW = TrainingRecipe("adamw", rates=(1e-3, 3e-3, 1e-2, 3e-2, 1e-1), weight_decay=1e-2)


def gradient(params):
    """Of half the mean squared error."""
    miss = (INPUTS @ np.asarray(params["weight"]) + np.asarray(params["bias"]) - WANTED) / len(INPUTS)
    return {"bias": miss.sum(axis=0), "weight": INPUTS.T @ miss}


def loss(params):
    """What `gradient` is the gradient of."""
    miss = INPUTS @ np.asarray(params["weight"]) + np.asarray(params["bias"]) - WANTED
    return 0.5 * float((miss**2).sum()) / len(INPUTS)


def descend(optimizer, rates, start=None):
    """Follow an `Optimizer` in double precision: params, weights to judge by, and rate in effect after each update."""
    with jax.enable_x64(True):
        params = jax.tree.map(jax.numpy.asarray, START if start is None else start)
        state = optimizer.init(params, jax.numpy.asarray(rates[0]))
        update = jax.jit(optimizer.update)
        path = []
        for rate in rates:
            grads = jax.tree.map(jax.numpy.asarray, gradient(params))
            params, state, used = update(grads, state, params, jax.numpy.asarray(rate))
            judged = optimizer.evaluation(params, state)
            path.append((jax.tree.map(np.asarray, params), jax.tree.map(np.asarray, judged), float(used)))
    return path


def torch_path(make, rates):
    """The same with a torch optimizer: `make(params)`; its weights after each update."""
    import torch

    params = {name: torch.nn.Parameter(torch.tensor(value)) for name, value in START.items()}
    optimizer = make(list(params.values()))
    path = []
    for rate in rates:
        for group in optimizer.param_groups:
            group["lr"] = rate
        for name, grad in gradient({name: p.detach().numpy() for name, p in params.items()}).items():
            params[name].grad = torch.tensor(grad)
        optimizer.step()
        path.append({name: p.detach().numpy().copy() for name, p in params.items()})
    return path


def assert_same(one, other, rtol=1e-9):
    """The same weights, to rounding."""
    for name in START:
        np.testing.assert_allclose(one[name], other[name], rtol=rtol, atol=1e-11)


def flat(params):
    return np.concatenate([params["bias"].ravel(), params["weight"].ravel()])


def unflat(theta):
    theta = np.asarray(theta)
    return {"bias": theta[:3], "weight": theta[3:].reshape(4, 3)}


def gradient_of(theta):
    return list(flat(gradient(unflat(theta))))
