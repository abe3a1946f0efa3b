"""Tsitouras' 5(4) method with an integral step-size controller, for many latents at once, in NumPy.

Comes in: a field and latents at t = 0. Goes out: states at the asked times, and a record of the steps taken. Every
latent has its own step size. Coefficients: Tsitouras (2011); controller: safety 0.9, factors 0.2 to 10,
root-mean-square norm, as in Diffrax, so that a model fitted there gives the same curves here.
"""

import dataclasses

import numpy as np
from numpy.typing import NDArray

from lodestar.forecaster.solve import FieldFunction

FIRST_STEP = 0.1  # the paper's initial step size
_MOST_STEPS = 4096
_SAFETY, _SHRINK, _GROW, _ORDER = 0.9, 0.2, 10.0, 5

_C = (0.161, 0.327, 0.9, 0.9800255409045096857, 1.0, 1.0)
_A = (
    (0.161,),
    (-0.008480655492356988544, 0.3354806554923569885),
    (2.897153057105493432, -6.359448489975074843, 4.362295432869581411),
    (5.325864828439256604, -11.748883564062827878, 7.495539342889836208, -0.09249506636175524926),
    (
        5.861455442946420029,
        -12.920969317847109292,
        8.159367898576158643,
        -0.07158497328140099722,
        -0.02826905039406838291,
    ),
    (
        0.09646076681806522952,
        0.01,
        0.4798896504144995747752495,
        1.379008574103741893192274822,
        -3.290069515436080679901047586,
        2.324710524099773982415355918,
    ),
)
_B_HAT = (
    0.09468075576583945807478876,
    0.009183565540343253096776363937,
    0.4877705284247615707855642599631,
    1.234297566930478985655109673884,
    -2.707712349983525454881109975059,
    1.866628418170587035753719399566,
    1.0 / 66.0,
)
_ERROR = np.array([*_A[-1], 0.0]) - np.array(_B_HAT)


@dataclasses.dataclass(frozen=True)
class Steps:
    """What the solver did: for each attempted step the start, the size and whether it was kept (steps, latents)."""

    start: NDArray[np.float64]
    size: NDArray[np.float64]
    kept: NDArray[np.bool_]

    @property
    def evaluations(self) -> NDArray[np.int64]:
        """Field evaluations so far, for each attempted step and latent: one, then six a step."""
        return 1 + 6 * np.cumsum(self.size > 0, axis=0)


def tsit5(
    field: FieldFunction, z0: NDArray, times: NDArray, rtol: float, atol: float
) -> tuple[NDArray[np.float64], Steps]:
    """States (..., times, latent) from latents (..., latent) at t = 0."""
    times = np.clip(np.asarray(times, dtype=np.float64), 0.0, 1.0)
    lead = z0.shape[:-1]
    z = z0.astype(np.float64)
    out = np.broadcast_to(z[..., None, :], (*lead, len(times), z.shape[-1])).copy()
    now = np.zeros(lead)
    size = np.full(lead, FIRST_STEP)
    slope = field(now[..., None], z)
    record: list[tuple[NDArray, NDArray, NDArray]] = []
    for _ in range(_MOST_STEPS):
        active = now < 1.0
        if not active.any():
            break
        h = np.where(active, np.minimum(size, 1.0 - now), 0.0)
        new, slopes, error = _attempt(field, now, h, z, slope)
        scale = atol + rtol * np.maximum(np.abs(z), np.abs(np.where(np.isnan(new), z, new)))
        wrong = np.sqrt(np.mean((error / scale) ** 2, axis=-1))
        keep = active & (wrong < 1.0)
        _save(out, times, now, h, z, slopes, keep)
        record.append((now, h, keep))
        size = np.where(active, h * _factor(wrong, keep), size)
        now = np.where(keep, np.where(now + h >= 1.0 - 1e-15, 1.0, now + h), now)
        z = np.where(keep[..., None], new, z)
        slope = np.where(keep[..., None], slopes[..., -1, :], slope)
    return out, Steps(*(np.stack(part) for part in zip(*record, strict=True)))


def _attempt(field, now, h, z, slope):
    """One step of every latent: new states, the seven slopes, the error estimate."""
    slopes = np.empty((*z.shape[:-1], 7, z.shape[-1]))
    slopes[..., 0, :] = slope
    step = h[..., None]
    new = z
    for stage, (row, c) in enumerate(zip(_A, _C, strict=True), start=1):
        move = np.einsum("j,...jd->...d", np.array(row), slopes[..., :stage, :])
        new = z + step * move
        slopes[..., stage, :] = field((now + c * h)[..., None], new)
    return new, slopes, step * np.einsum("j,...jd->...d", _ERROR, slopes)


def _factor(wrong: NDArray, keep: NDArray) -> NDArray:
    with np.errstate(divide="ignore", invalid="ignore"):
        factor = _SAFETY * wrong ** (-1.0 / _ORDER)
    factor = np.where(np.isnan(factor), _SHRINK, factor)
    return np.clip(factor, np.where(keep, 1.0, _SHRINK), np.where(keep, _GROW, _SAFETY))


def _save(out, times, now, h, z, slopes, keep) -> None:
    """Fill in the asked times that the kept steps passed, by the method's own interpolant."""
    inside = keep[..., None] & (times > now[..., None]) & (times <= (now + h)[..., None] + 1e-15)
    where = np.nonzero(inside)
    if len(where[0]) == 0:
        return
    one = where[:-1]
    theta = np.minimum((times[where[-1]] - now[one]) / h[one], 1.0)
    out[where] = z[one] + h[one][:, None] * np.einsum("pj,pjd->pd", _weights(theta), slopes[one])


def _weights(s: NDArray) -> NDArray:
    """The interpolant's weights of the seven slopes at the fraction `s` of a step."""
    q = s * s
    return np.stack(
        [
            -1.0530884977290216 * s * (s - 1.3299890189751412) * (q - 1.4364028541716351 * s + 0.7139816917074209),
            0.1017 * q * (q - 2.1966568338249754 * s + 1.2949852507374631),
            2.490627285651252793 * q * (q - 2.38535645472061657 * s + 1.57803468208092486),
            -16.54810288924490272 * (s - 1.21712927295533244) * (s - 0.61620406037800089) * q,
            47.37952196281928122 * (s - 1.203071208372362603) * (s - 0.658047292653547382) * q,
            -34.87065786149660974 * (s - 1.2) * (s - 0.666666666666666667) * q,
            2.5 * (s - 1.0) * (s - 0.6) * q,
        ],
        axis=-1,
    )
