"""A response as named arrays and plain data, for the forecaster's file, and back."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lodestar.forecaster.response.channel import ChannelResponse
from lodestar.forecaster.response.continuation import Continuation
from lodestar.forecaster.response.gaussian import Kernel, Posterior, RunKernel
from lodestar.forecaster.response.history import Clock
from lodestar.forecaster.response.law import Law
from lodestar.forecaster.response.mixture import SHARES, Mixture
from lodestar.forecaster.response.neighbours import Neighbours
from lodestar.forecaster.response.response import Response

_CONTINUATION = ("feature_mean", "feature_std", "points", "weights", "scale", "length", "linear")
_NEIGHBOURS = ("log_rates", "stands")
_UNITS = ("mean", "std", "low", "high")
_RUN = ("offset", "drift", "memory", "noise")


def pack(response: Response) -> tuple[dict[str, NDArray], dict[str, Any]]:
    """Arrays by name, and the rest."""
    arrays = {f"continuation.{name}": getattr(response.continuation, name) for name in _CONTINUATION}
    arrays |= {f"neighbours.{name}": getattr(response.neighbours, name) for name in _NEIGHBOURS}
    arrays |= {"mixture.weights": response.mixture.weights, "mixture.widths": response.mixture.widths}
    arrays["mixture.latent"] = response.mixture.latent
    clock, past = response.clock, response.neighbours
    plain: dict[str, Any] = {"clock": {"sum": clock.sum, "peak": clock.peak}}
    plain["neighbours"] = {"floor": past.floor, "spread": past.spread}
    for name, channel in (("loss", response.loss), ("metric", response.metric)):
        arrays |= {f"{name}.{part}": value for part, value in _channel_arrays(channel).items()}
        kernel = channel.posterior.kernel
        plain[name] = {
            **{part: getattr(channel, part) for part in _UNITS},
            **{part: getattr(channel.run, part) for part in _RUN},
            "smooth": kernel.smooth,
            "linear": kernel.linear,
        }
    return arrays, plain


def unpack(arrays: Mapping[str, NDArray], plain: Mapping[str, Any]) -> Response:
    """Back from `pack`; KeyError, TypeError or ValueError where something does not fit."""
    return Response(
        Clock(float(plain["clock"]["sum"]), float(plain["clock"]["peak"])),
        _channel(arrays, plain, "loss"),
        _channel(arrays, plain, "metric"),
        Continuation(**{name: arrays[f"continuation.{name}"] for name in _CONTINUATION}),
        Neighbours(
            *(arrays[f"neighbours.{name}"] for name in _NEIGHBOURS),
            floor=float(plain["neighbours"]["floor"]),
            spread=float(plain["neighbours"]["spread"]),
        ),
        Mixture(
            arrays["mixture.weights"], arrays["mixture.widths"], arrays.get("mixture.latent", np.zeros(len(SHARES)))
        ),
    )


def _channel_arrays(channel: ChannelResponse) -> dict[str, NDArray]:
    found = {
        "feature_mean": channel.feature_mean,
        "feature_std": channel.feature_std,
        "lengths": channel.posterior.kernel.lengths,
        "inducing": channel.posterior.inducing,
        "weights": channel.posterior.weights,
        "known": channel.posterior.known,
    }
    if channel.law is not None:
        law = channel.law
        found |= {"law.weights": law.weights, "law.coefficients": law.coefficients, "law.exponents": law.exponents}
    return found


def _channel(arrays: Mapping[str, NDArray], plain: Mapping[str, Any], name: str) -> ChannelResponse:
    part, numbers = (
        {key[len(name) + 1 :]: value for key, value in arrays.items() if key.startswith(f"{name}.")},
        plain[name],
    )
    law = None
    if "law.weights" in part:
        law = Law(part["law.weights"], part["law.coefficients"], part["law.exponents"])
    kernel = Kernel(part["lengths"], float(numbers["smooth"]), float(numbers["linear"]))
    _check(part, name, law)
    units = {key: float(numbers[key]) for key in _UNITS}
    return ChannelResponse(
        law,
        part["feature_mean"],
        part["feature_std"],
        posterior=Posterior(kernel, part["inducing"], part["weights"], part["known"]),
        run=RunKernel(*(float(numbers[key]) for key in _RUN)),
        **units,
    )


def _check(part: Mapping[str, NDArray], name: str, law: Law | None) -> None:
    """Shapes that fit each other: a damaged file must not end in a broadcast."""
    size, features = part["inducing"].shape
    wanted: dict[str, tuple[int, ...]] = {"weights": (size,)}
    wanted |= dict.fromkeys(("feature_mean", "feature_std", "lengths"), (features,))
    wanted["known"] = (size, size)
    if law is not None:
        laws = len(law.weights)
        wanted |= {"law.weights": (laws,), "law.coefficients": (laws, 3), "law.exponents": (laws, 3)}
    for key, shape in wanted.items():
        if part[key].shape != shape or not np.all(np.isfinite(part[key])):
            raise ValueError(f"response.{name}.{key} must be finite, of shape {shape}, got {part[key].shape}")
