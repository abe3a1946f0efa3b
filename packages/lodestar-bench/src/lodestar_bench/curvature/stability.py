"""The edge of stability: how large learning rate x sharpness / 2 may be before an optimizer climbs a quadratic.

Comes in: the optimizer's momentum. Goes out: the line to hold `lr * sharpness / 2` against. All are exact for a
quadratic and full batches; in training with small batches noise drives a run off the sharp directions earlier, and a
network's curvature changes as it moves, so that crossing the line is not divergence (Cohen et al. 2021, 2022).

    gradient descent     x -= lr g                               1
    heavy ball           v = b v + g,        x -= lr v           1 + b
    Nesterov             v = b v + g,        x -= lr (g + b v)   (1 + b) / (1 + 2 b)
    Adam, AdamW          m = b m + (1-b) g,  x -= lr m / D       (1 + b) / (1 - b), of the preconditioned sharpness

For Adam the plain sharpness says little: the step in each direction is divided by D = sqrt(v) + eps, so what must stay
below the line is the largest eigenvalue of D^-1 H. With b = 0.9 that line is 19 (sharpness 38 / lr in Cohen et al.).
"""


def gradient_descent() -> float:
    """1, the line of the paper's figure."""
    return 1.0


def heavy_ball(momentum: float) -> float:
    """1 + b."""
    _check(momentum)
    return 1 + momentum


def nesterov(momentum: float) -> float:
    """(1 + b) / (1 + 2b)."""
    _check(momentum)
    return (1 + momentum) / (1 + 2 * momentum)


def adam(b1: float) -> float:
    """(1 + b) / (1 - b), to be held against the preconditioned sharpness."""
    _check(b1)
    return (1 + b1) / (1 - b1)


def _check(momentum: float) -> None:
    if not 0 <= momentum < 1:
        raise ValueError(f"momentum must lie in [0, 1), got {momentum}")
