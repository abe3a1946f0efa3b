"""The shape of a latent ODE: what a fit and the runtime must agree on. Plain data, kept in the forecaster file.

The paper's: ODE-RNN encoder, latent and hidden 20, field an MLP of 2 layers of 20 with tanh, Tsit5 with a PID
controller at rtol = atol = 1e-5.
"""

import dataclasses
from collections.abc import Mapping
from typing import Any, Literal

ENCODERS = ("gru", "ode-rnn")
SOLVERS = ("rk4", "tsit5")

TOKEN_FEATURES = 7  # time, three channel means, three shares of points observed


@dataclasses.dataclass(frozen=True)
class Architecture:
    """Sizes and solver; the defaults are the default preset's. `tokens`: into how many equal bins a context is cut."""

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

    def __post_init__(self):
        if self.encoder not in ENCODERS:
            raise ValueError(f"encoder must be one of {', '.join(ENCODERS)}, got {self.encoder!r}")
        if self.solver not in SOLVERS:
            raise ValueError(f"solver must be one of {', '.join(SOLVERS)}, got {self.solver!r}")
        for name in ("latent", "hidden", "field_width", "field_depth", "tokens", "steps"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)}")
        if self.decoder_width < 0:
            raise ValueError(f"decoder_width must be 0 (a linear decoder) or more, got {self.decoder_width}")
        if not (self.rtol > 0 and self.atol > 0):
            raise ValueError(f"rtol and atol must be > 0, got {self.rtol} and {self.atol}")

    def to_dict(self) -> dict[str, Any]:
        """Plain data, for a file header."""
        return dataclasses.asdict(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "Architecture":
        """Back from `to_dict`."""
        return cls(**data)
