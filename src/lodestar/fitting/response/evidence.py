"""The numbers of the Gaussian processes: lengths, amplitudes and a run's own share, by maximum of the posterior.

Comes in: features and values of runs. Goes out: the parameters that make the runs most likely, under a prior that a few
runs hardly move. Inducing points keep the cost linear in the runs (Titsias 2009; here without the trace term).
"""

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_solve, cholesky, solve_triangular
from scipy.optimize import minimize

from lodestar.forecaster.response.gaussian import Kernel, Posterior, RunKernel

_JITTER = 1e-6
_STEP = 1e-5  # of the logarithms, for slopes: differences need no second copy of the kernels in JAX, nor a compile
_RUN_PRIOR = (("offset", 0.01, 1.5), ("drift", 0.02, 1.5), ("memory", 0.3, 0.7), ("noise", 0.01, 1.0))


def prior(features: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Mean and deviation of the logarithms: lengths, smooth, linear, then the run's own."""
    mean = [np.log(3.0)] * features + [0.0, -1.0] + [np.log(value) for _, value, _ in _RUN_PRIOR]
    return np.array(mean), np.array([0.7] * features + [1.0, 1.0] + [spread for _, _, spread in _RUN_PRIOR])


def most_likely(
    points: NDArray, values: NDArray, known: NDArray, times: NDArray, inducing: NDArray, rounds: int
) -> NDArray[np.float64]:
    """Parameters (logarithms) for features (runs, times, features) and values (runs, times), standardised."""
    start, spread = prior(points.shape[-1])

    def unlikely(numbers: NDArray[np.float64]) -> float:
        kernel, run = kernels(numbers)
        evidence = log_evidence(kernel, run, points, values, known, times, inducing)
        return 0.5 * float((((numbers - start) / spread) ** 2).sum()) - evidence

    bounds = [(middle - 6.0, middle + 6.0) for middle in start]
    found = minimize(unlikely, start, method="L-BFGS-B", bounds=bounds, options={"maxiter": rounds, "eps": _STEP})
    return np.asarray(found.x)  # pyright: ignore[reportAttributeAccessIssue]


def log_evidence(
    kernel: Kernel, run: RunKernel, points: NDArray, values: NDArray, known: NDArray, times: NDArray, inducing: NDArray
) -> float:
    """How likely the values are, up to a constant; -1e10 where the numbers break down."""
    try:
        among = cholesky(kernel(inducing, inducing) + _JITTER * np.eye(len(inducing)), lower=True)
        near, target, volume = _whitened(kernel, run, points, values, known, times, inducing)
        after = cholesky(among @ among.T + near.T @ near, lower=True)
    except np.linalg.LinAlgError:
        return -1e10
    pull = solve_triangular(after, near.T @ target, lower=True)
    volume += float(np.log(np.diag(after)).sum() - np.log(np.diag(among)).sum())
    total = -0.5 * float(target @ target - pull @ pull) - volume
    return total if np.isfinite(total) else -1e10


def _whitened(
    kernel: Kernel, run: RunKernel, points: NDArray, values: NDArray, known: NDArray, times: NDArray, inducing: NDArray
) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
    """Covariance with the inducing points, and values, in units of what runs have of their own; and its volume.

    Runs that were observed at the same times share one factor.
    """
    own = run(times, times) + run.noise * np.eye(len(times))
    rows, targets, volume = [], [], 0.0
    for fine in np.unique(known, axis=0):
        alike = np.flatnonzero((known == fine).all(axis=1))
        if not fine.any():
            continue
        factor = cholesky(own[np.ix_(fine, fine)], lower=True)
        count = int(fine.sum())
        near = kernel(points[alike][:, fine].reshape(-1, points.shape[-1]), inducing).reshape(len(alike), count, -1)
        both = np.concatenate([near, values[alike][:, fine, None]], axis=2).transpose(1, 0, 2).reshape(count, -1)
        solved = solve_triangular(factor, both, lower=True).reshape(count, len(alike), -1)
        rows.append(solved[..., :-1].reshape(-1, len(inducing)))
        targets.append(solved[..., -1].reshape(-1))
        volume += len(alike) * float(np.log(np.diag(factor)).sum())
    return np.concatenate(rows), np.concatenate(targets), volume


def kernels(numbers: NDArray[np.float64]) -> tuple[Kernel, RunKernel]:
    """The covariances that parameters stand for."""
    plain = np.exp(numbers)
    smooth, linear, offset, drift, memory, noise = (float(value) for value in plain[-6:])
    return Kernel(plain[:-6], smooth, linear), RunKernel(offset, drift, memory, noise)


def posterior(
    kernel: Kernel, run: RunKernel, points: NDArray, values: NDArray, known: NDArray, times: NDArray, inducing: NDArray
) -> Posterior:
    """g given the runs."""
    among = kernel(inducing, inducing) + _JITTER * np.eye(len(inducing))
    near, target, _ = _whitened(kernel, run, points, values, known, times, inducing)
    after = (cholesky(among + near.T @ near, lower=True), True)
    weights = cho_solve(after, near.T @ target)
    eye = np.eye(len(inducing))
    return Posterior(
        kernel, inducing, weights, cho_solve((cholesky(among, lower=True), True), eye) - cho_solve(after, eye)
    )


def spread_out(points: NDArray[np.float64], most: int) -> NDArray[np.float64]:
    """At most so many points (n, features), each as far from those before it as can be."""
    if len(points) <= most:
        return points
    chosen = [0]
    far = ((points - points[0]) ** 2).sum(axis=1)
    for _ in range(most - 1):
        chosen.append(int(np.argmax(far)))
        far = np.minimum(far, ((points - points[chosen[-1]]) ** 2).sum(axis=1))
    return points[chosen]
