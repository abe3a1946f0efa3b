"""Fits loss laws to runs: for each choice of exponents the coefficients are a non-negative linear fit."""

import itertools

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

from lodestar.forecaster.response.history import Cells, Clock, Rates
from lodestar.forecaster.response.law import Law

_GAINS = (0.15, 0.3, 0.5, 0.8)  # a
_TERMS = tuple(itertools.product((10.0, 30.0, 100.0, 300.0), (0.5, 0.7, 1.0, 1.5)))  # (C, b)
_KEPT = 4  # laws that are averaged
_POINTS_A_RUN = 4.0  # points of a run along which errors are alike count as so many
_RIDGE = 0.03


def fit_law(clock: Clock, rates: Rates, at: Cells, level: NDArray[np.float64], known: NDArray[np.bool_]) -> Law:
    """The laws that describe `level` (runs, times) best, in relative error, where it is known."""
    past = clock.look(rates, at)
    progress, noise = past.progress[known], past.annealing(_TERMS)[:, known]
    truth = np.maximum(level[known], 1e-9)
    found = [
        (_coefficients(progress**-a, noise[number], truth), (a, *term))
        for (number, term), a in itertools.product(enumerate(_TERMS), _GAINS)
    ]
    errors = np.array([error for (_, error), _ in found])
    likely = np.exp(-0.5 * _POINTS_A_RUN * len(rates) * (errors / errors.min() - 1.0))
    best = np.argsort(-likely, kind="stable")[:_KEPT]
    return Law(
        likely[best] / likely[best].sum(),
        np.array([found[place][0][0] for place in best]),
        np.array([found[place][1] for place in best]),
    )


def _coefficients(gain: NDArray, noise: NDArray, truth: NDArray) -> tuple[NDArray[np.float64], float]:
    """E0, A, B >= 0 of least squared relative error, and that error. A weak ridge keeps terms apart that look alike."""
    columns = np.stack([np.ones(len(truth)), gain, noise], axis=1) / truth[:, None]
    scale = columns.mean(axis=0) + 1e-12
    # The triangle of a QR stands for all points: the fit is of three numbers.
    triangle = np.asarray(np.linalg.qr(np.column_stack([columns / scale, np.ones(len(truth))]), mode="r"))
    ridge = _RIDGE * np.sqrt(len(truth) / 65.0) * np.eye(3)
    found, _ = nnls(np.vstack([triangle[:, :3], ridge]), np.concatenate([triangle[:, 3], np.zeros(3)]))
    return found / scale, float(np.mean((columns @ (found / scale) - 1.0) ** 2))
