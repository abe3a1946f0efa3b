"""The shape of a latent ODE: what a fit and the runtime must agree on. Plain data, kept in the forecaster file.

The paper's: ODE-RNN encoder, latent and hidden 20, field an MLP of 2 layers of 20 with tanh, Tsit5 with a PID
controller at rtol = atol = 1e-5.
"""

import dataclasses
from collections.abc import Mapping
from typing import Any, Literal

ENCODERS = ("gru", "ode-rnn")
SOLVERS = ("rk4", "tsit5")

MOST = {"field_depth": 32, "tokens": 1000, "steps": 1000}  # of the others 4096: more is no forecaster, but damage
TOLERANCES = (1e-14, 1.0)
TOKEN_FEATURES = 7  # time, three channel means, three shares of points observed
SCHEDULE_FEATURES = 4  # time, the rate, its sum so far and from there on


@dataclasses.dataclass(frozen=True)
class Architecture:
    """Sizes and solver; the defaults are the default preset's.

    `tokens`: into how many equal bins a context is cut, and a known schedule where `schedules` says that it reads them.
    """

    encoder: Literal["gru", "ode-rnn"] = "gru"
    latent: int = 20
    hidden: int = 32
    field_width: int = 32
    field_depth: int = 2
    decoder_width: int = 20
    tokens: int = 30
    solver: Literal["rk4", "tsit5"] = "rk4"
    steps: int = 10
    rtol: float = 1e-5
    atol: float = 1e-5
    schedules: bool = False

    def __post_init__(self):
        if self.encoder not in ENCODERS:
            raise ValueError(f"encoder must be one of {', '.join(ENCODERS)}, got {self.encoder!r}")
        if self.solver not in SOLVERS:
            raise ValueError(f"solver must be one of {', '.join(SOLVERS)}, got {self.solver!r}")
        for name in ("latent", "hidden", "field_width", "field_depth", "decoder_width", "tokens", "steps"):
            value, least, most = getattr(self, name), int(name != "decoder_width"), MOST.get(name, 4096)
            if type(value) is not int or not least <= value <= most:  # a decoder_width of 0 is a linear decoder
                raise ValueError(f"{name} must be a whole number from {least} to {most}, got {value!r}")
        if type(self.schedules) is not bool:
            raise ValueError(f"schedules must be true or false, got {self.schedules!r}")
        for name in ("rtol", "atol"):
            if type(value := getattr(self, name)) is not float or not TOLERANCES[0] <= value <= TOLERANCES[1]:
                raise ValueError(f"{name} must be a number from {TOLERANCES[0]:g} to {TOLERANCES[1]:g}, got {value!r}")

    def to_dict(self) -> dict[str, Any]:
        """Plain data, for a file header."""
        return dataclasses.asdict(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "Architecture":
        """Back from `to_dict`."""
        return cls(**data)
