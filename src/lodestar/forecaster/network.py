"""The latent ODE in NumPy: encode and decode without JAX, no compile, no device.

Comes in: weights by name, each with a leading axis of members (an ensemble has several, a single forecaster one).
Goes out: latents and decoded runs in model units. Must equal `lodestar.fitting` to rounding; a property test says so.
"""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from lodestar._errors import ForecasterError
from lodestar.forecaster.architecture import SCHEDULE_FEATURES, TOKEN_FEATURES, Architecture
from lodestar.forecaster.axes import Decoded, LatentPaths, Latents, RunTokens, Times, ValidTokens
from lodestar.forecaster.solve import hermite_basis, rk4_knots
from lodestar.forecaster.tsit5 import Steps, tsit5

# Larger products BLAS would share out over all cores, which takes many times as long beside a job that uses them.
_SAMPLES, _POINTS = 64, 1024  # latents, and points of a run, that are decoded at a time


class Network:
    """Encoder, field and decoder of `members` forecasters that share one architecture."""

    def __init__(self, shape: Architecture, weights: Mapping[str, NDArray]):
        self.shape = shape
        self.weights = dict(weights)  # as given, for the file
        _check(shape, weights)
        # Transposed once: x @ W with W (members, in, out).
        self._w = {
            name: np.ascontiguousarray(np.swapaxes(value.astype(np.float64), -1, -2))
            if ".weight" in name
            else value.astype(np.float64)[:, None, :]
            for name, value in weights.items()
        }
        self.members = len(next(iter(weights.values())))
        # The solver asks for the field dozens of times a decode: its layers are looked up once.
        layers = [
            (self._w[f"field.net.layers.{i}.weight"], self._w[f"field.net.layers.{i}.bias"])
            for i in range(shape.field_depth + 1)
        ]
        weight, bias = layers[0]
        self._field_layers = (np.ascontiguousarray(weight[:, :-1]), weight[:, -1:], bias), layers[1:]
        self._readout = np.result_type(weights["decoder.layers.0.weight"].dtype, np.float32)
        self._intervals: tuple[bytes, list[tuple[int, NDArray, NDArray]]] = (b"", [])

    def encode(self, tokens: RunTokens, valid: ValidTokens) -> Latents:
        """Tokens of some contexts to the z0 of each."""
        state = np.zeros((self.members, tokens.shape[0], self.shape.hidden))
        if self.shape.encoder == "gru":
            for j in range(tokens.shape[1] - 1, -1, -1):
                state = np.where(valid[:, j, None], self._gru(tokens[:, j], state), state)
            return self._linear("encoder.readout", state)
        time = np.where(valid, tokens[..., 0], -np.inf).max(axis=1)[:, None]
        time = np.where(np.isfinite(time), time, 0.0)
        for j in range(tokens.shape[1] - 1, -1, -1):
            fine = valid[:, j, None]
            new = self._gru(tokens[:, j], self._drift(state, tokens[:, j, :1] - time))
            state = np.where(fine, new, state)
            time = np.where(fine, tokens[:, j, :1], time)
        return self._linear("encoder.readout", self._drift(state, -time))

    def read_schedules(self, tokens: NDArray[np.float64]) -> Latents:
        """What schedules that are known to their end add to the z0 of a context; tokens (n, bins, 4)."""
        parts = [self._read_schedules(tokens[at : at + _SAMPLES]) for at in range(0, len(tokens), _SAMPLES)]
        return self._linear("schedule.readout", np.concatenate(parts, axis=1))

    def _read_schedules(self, tokens: NDArray[np.float64]) -> NDArray[np.float64]:
        """The mean over tokens, in the precision the model was fitted in: tanh is most of the cost."""
        hidden = tokens.reshape(-1, tokens.shape[-1]).astype(self._readout)
        for layer in range(2):
            name = f"schedule.net.layers.{layer}"
            hidden = np.matmul(hidden, self._w[f"{name}.weight"].astype(self._readout))
            hidden += self._w[f"{name}.bias"].astype(self._readout)
            np.tanh(hidden, out=hidden)
        return hidden.reshape(self.members, *tokens.shape[:2], -1).mean(axis=2, dtype=np.float64)

    def states(self, z0: Latents, times: Times) -> LatentPaths:
        """The latent path from each z0."""
        if self.shape.solver == "tsit5":
            return self.trace(z0, times)[0]
        return self._between(rk4_knots(self._field, z0, self.shape.steps), times)

    def trace(self, z0: Latents, times: Times, rtol: float | None = None) -> tuple[LatentPaths, Steps]:
        """The latent path by the adaptive solver, with a record of its steps, at a tolerance of choice."""
        rtol, atol = (self.shape.rtol, self.shape.atol) if rtol is None else (rtol, rtol)
        return tsit5(self._field, z0, times, rtol, atol)

    def decode(self, z0: Latents, times: Times) -> Decoded:
        """Whole runs in model units, from each z0."""
        parts = [self._decode(z0[:, at : at + _SAMPLES], times) for at in range(0, max(z0.shape[1], 1), _SAMPLES)]
        return parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1)

    def _decode(self, z0: Latents, times: Times) -> Decoded:
        if self.shape.solver == "tsit5":
            return self.read(self.states(z0, times))
        # Interpolation and the decoder's first layer are both linear: the layer is applied at the few knots.
        knots = np.matmul(rk4_knots(self._field, z0, self.shape.steps), self._w["decoder.layers.0.weight"][:, None])
        return self._after_first_layer(self._between(knots.astype(self._readout), times))

    def read(self, states: LatentPaths) -> Decoded:
        """The decoder: latent states to channels."""
        return self._after_first_layer(np.matmul(states, self._w["decoder.layers.0.weight"][:, None]))

    def _after_first_layer(self, hidden: NDArray) -> NDArray[np.float64]:
        """The rest of the decoder, in the precision the model was fitted in: tanh is most of a decode's cost."""
        shift = self._w["decoder.layers.0.bias"][:, None].astype(hidden.dtype)
        if not self.shape.decoder_width:
            return (hidden + shift).astype(np.float64)
        weight = self._w["decoder.layers.1.weight"][:, None].astype(hidden.dtype)
        out = np.empty((*hidden.shape[:-1], weight.shape[-1]))
        for at in range(0, hidden.shape[2], _POINTS):
            part = hidden[:, :, at : at + _POINTS]
            part += shift
            np.tanh(part, out=part)
            out[:, :, at : at + _POINTS] = np.matmul(part, weight)
        out += self._w["decoder.layers.1.bias"][:, None]
        return out

    def _between(self, knots: NDArray, times: NDArray) -> NDArray[np.float64]:
        """Cubic Hermite between the knots (members, samples, 2 * (steps + 1), width), an interval at a time.

        Small products on purpose: BLAS keeps them on one core, and a training job keeps the others.
        """
        members, samples, _, width = knots.shape
        out = np.empty((members, samples, len(times), width), dtype=knots.dtype)
        after = self.shape.steps + 1
        for left, places, weights in self._by_interval(times):
            ends = knots[:, :, [left, left + 1, after + left, after + left + 1]]
            out[:, :, places] = np.matmul(weights.astype(knots.dtype), ends)
        return out

    def _by_interval(self, times: NDArray) -> list[tuple[int, NDArray, NDArray]]:
        """Times grouped by interval, kept while the same times are asked for again."""
        key = np.asarray(times, dtype=np.float64).tobytes()
        if self._intervals[0] != key:
            left, weights = hermite_basis(times, self.shape.steps)
            groups = [np.flatnonzero(left == number) for number in np.unique(left)]
            self._intervals = (key, [(int(left[places[0]]), places, weights[places]) for places in groups])
        return self._intervals[1]

    def _field(self, t: NDArray, z: NDArray) -> NDArray:
        """dz/dt. The time is the field's last input: its weight row is added, not concatenated."""
        (first, row, bias), rest = self._field_layers
        hidden = np.matmul(z, first)
        hidden += t * row + bias
        for weight, shift in rest:
            np.tanh(hidden, out=hidden)
            hidden = np.matmul(hidden, weight)
            hidden += shift
        return hidden

    def _drift(self, state: NDArray, gap: NDArray) -> NDArray:
        depth = self.shape.field_depth
        one = self._mlp("encoder.drift", depth, state)
        two = self._mlp("encoder.drift", depth, state + 0.5 * gap * one)
        three = self._mlp("encoder.drift", depth, state + 0.5 * gap * two)
        four = self._mlp("encoder.drift", depth, state + gap * three)
        return state + gap / 6.0 * (one + 2.0 * (two + three) + four)

    def _gru(self, token: NDArray, state: NDArray) -> NDArray:
        size = self.shape.hidden
        seen = np.matmul(token, self._w["encoder.cell.weight_ih"]) + self._w["encoder.cell.bias"]
        kept = np.matmul(state, self._w["encoder.cell.weight_hh"])
        reset = _sigmoid(seen[..., :size] + kept[..., :size])
        update = _sigmoid(seen[..., size : 2 * size] + kept[..., size : 2 * size])
        new = np.tanh(seen[..., 2 * size :] + reset * (kept[..., 2 * size :] + self._w["encoder.cell.bias_n"]))
        return new + update * (state - new)

    def _linear(self, name: str, x: NDArray) -> NDArray:
        out = np.matmul(x, self._w[f"{name}.weight"])
        out += self._w[f"{name}.bias"]
        return out

    def _mlp(self, name: str, depth: int, x: NDArray) -> NDArray:
        for layer in range(depth + 1):
            x = self._linear(f"{name}.layers.{layer}", x)
            if layer < depth:
                np.tanh(x, out=x)
        return x


def weight_shapes(shape: Architecture) -> dict[str, tuple[int, ...]]:
    """Every weight of a model, by name, without the axis of members."""
    found = {
        "encoder.cell.weight_ih": (3 * shape.hidden, TOKEN_FEATURES),
        "encoder.cell.weight_hh": (3 * shape.hidden, shape.hidden),
        "encoder.cell.bias": (3 * shape.hidden,),
        "encoder.cell.bias_n": (shape.hidden,),
        "encoder.readout.weight": (shape.latent, shape.hidden),
        "encoder.readout.bias": (shape.latent,),
    }
    found |= _mlp_shapes("field.net", shape.latent + 1, shape.latent, shape.field_width, shape.field_depth)
    found |= _mlp_shapes("decoder", shape.latent, 3, shape.decoder_width, 1 if shape.decoder_width else 0)
    if shape.schedules:
        found |= _mlp_shapes("schedule.net", SCHEDULE_FEATURES, shape.hidden, shape.hidden, 1)
        found |= {
            "schedule.readout.weight": (shape.latent, shape.hidden),
            "schedule.readout.bias": (shape.latent,),
        }
    if shape.encoder == "ode-rnn":
        found |= _mlp_shapes("encoder.drift", shape.hidden, shape.hidden, shape.field_width, shape.field_depth)
    return found


def _mlp_shapes(name: str, inputs: int, outputs: int, width: int, depth: int) -> dict[str, tuple[int, ...]]:
    sizes = [inputs, *[width] * depth, outputs]
    found: dict[str, tuple[int, ...]] = {}
    for layer in range(depth + 1):
        found[f"{name}.layers.{layer}.weight"] = (sizes[layer + 1], sizes[layer])
        found[f"{name}.layers.{layer}.bias"] = (sizes[layer + 1],)
    return found


def _check(shape: Architecture, weights: Mapping[str, NDArray]) -> None:
    members = {value.shape[0] if value.ndim else 0 for value in weights.values()}
    if len(members) != 1 or members == {0}:
        raise ForecasterError(f"the weights disagree on the number of members: {sorted(members)}")
    for name, expected in weight_shapes(shape).items():
        if name not in weights:
            raise ForecasterError(f"weight {name!r} is missing. Fix: fit the forecaster again")
        if weights[name].shape[1:] != expected:
            raise ForecasterError(f"weight {name!r} must have shape {expected}, got {weights[name].shape[1:]}")
        if weights[name].dtype.kind != "f" or not np.all(np.isfinite(weights[name])):
            raise ForecasterError(f"weight {name!r} holds a value that is not finite. Fix: fit the forecaster again")


def _sigmoid(x: NDArray) -> NDArray:
    return 0.5 * (1.0 + np.tanh(0.5 * x))
