"""Settings of a fit, and the two presets.

`paper` is the paper's appendix: ODE-RNN encoder, latent and hidden 20, MLP 2 x 20 tanh, batch 20, Adam with OneCycle to
1e-3, up to 50,000 updates, Tsit5 + PID at 1e-5, 64-bit. `default` is the fast one: a GRU encoder, 10 RK4 steps, 32-bit,
a peak rate of 5e-3, a random part of the points in each update, noise on what the encoder sees, and two members.
"""

import dataclasses
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from lodestar.forecaster.architecture import Architecture

Preset = Literal["default", "paper"]


class FitSettings(BaseModel):
    """What a fit does. Plain numbers, validated; kept in the forecaster file."""

    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True)

    architecture: Architecture
    members: int = Field(ge=1, description="forecasters in the ensemble")
    updates: int = Field(ge=1, description="most gradient updates")
    batch: int = Field(ge=1, description="runs in an update")
    peak_lr: float = Field(gt=0, description="highest learning rate of the OneCycle schedule")
    targets: int = Field(ge=0, description="points of each run reconstructed in an update; 0: all")
    path_weight: float = Field(ge=0, description="weight of the latent path-length penalty")
    token_noise: float = Field(ge=0, description="noise on the loss and metric the encoder sees, in model units")
    token_shift: float = Field(ge=0, description="the same for a whole context: an offset of its loss and metric")
    from_start: float = Field(ge=0, le=1, description="share of the contexts that begin at the run's first point")
    shortest: float = Field(gt=0, le=1, description="shortest context, as a fraction of the run")
    clip: float = Field(ge=0, description="largest gradient norm; 0: none")
    bits: Literal[32, 64] = 32
    check_every: int = Field(ge=1, description="updates between two looks at the held-out runs")
    patience: float = Field(gt=0, description="stop after this share of the updates without improvement")
    averaging: int = Field(ge=0, description="updates whose mean weights are kept; 0: weights as they are")
    known: float = Field(ge=0, le=1, description="share of the contexts whose schedule is shown to its end; 0: none")
    unobserved: float = Field(ge=0, le=1, description="share of those that show nothing but the schedule")
    spliced: float = Field(ge=0, le=1, description="share of those whose schedule goes on as another run's")
    response: bool = Field(True, description="learn how training responds to known schedules too")

    def __hash__(self) -> int:
        return hash(self.model_dump_json())


_DEFAULT: dict[str, Any] = {
    "architecture": Architecture(),
    "members": 2,
    "updates": 20_000,
    "batch": 20,
    "peak_lr": 5e-3,
    "targets": 50,
    "path_weight": 1e-3,
    "token_noise": 0.15,
    "token_shift": 0.1,
    "from_start": 0.5,
    "shortest": 0.03,
    "clip": 1.0,
    "bits": 32,
    "check_every": 500,
    "patience": 0.3,
    "averaging": 0,
    "known": 0.0,
    "unobserved": 0.15,
    "spliced": 0.4,
}
_PAPER: dict[str, Any] = {
    **_DEFAULT,
    "architecture": Architecture(
        encoder="ode-rnn", latent=20, hidden=20, field_width=20, field_depth=2, solver="tsit5"
    ),
    "members": 1,
    "updates": 50_000,
    "peak_lr": 1e-3,
    "targets": 0,
    "token_noise": 0.0,
    "token_shift": 0.0,
    "clip": 0.0,
    "bits": 64,
    "response": False,
}
PRESETS: dict[Preset, dict[str, Any]] = {"default": _DEFAULT, "paper": _PAPER}


def fit_settings(preset: Preset = "default", **changes: Any) -> FitSettings:
    """A preset with some settings changed. Names of the architecture (latent, hidden, encoder, ...) are taken too."""
    if preset not in PRESETS:
        raise ValueError(f"preset must be one of {', '.join(PRESETS)}, got {preset!r}")
    base = PRESETS[preset]
    sizes = {name: value for name, value in base["architecture"].to_dict().items() if name != "schedules"}
    inner = {name: changes.pop(name) for name in list(changes) if name in sizes}
    unknown = [name for name in changes if name not in FitSettings.model_fields]
    if unknown:
        known = sorted({*FitSettings.model_fields, *sizes} - {"architecture"})
        raise ValueError(f"there is no fit setting {unknown[0]!r}. The settings are: {', '.join(known)}")
    shape = Architecture(**{**sizes, **inner})
    try:
        made = FitSettings(**{**base, "architecture": shape, **changes})
        return made.model_copy(update={"architecture": dataclasses.replace(shape, schedules=made.known > 0)})
    except ValidationError as error:
        first = error.errors()[0]
        raise ValueError(f"{first['loc'][0]}: {first['msg']}, got {first['input']!r}") from None
