"""What a user says about an import: which quantity is which. Plain data, as a TOML file may hold it."""

import dataclasses
from collections.abc import Mapping

from lodestar.runs.scale import FACTS


@dataclasses.dataclass(frozen=True)
class Choices:
    """What the user says about the mapping; None leaves it to the guess, "none" says there is no such thing.

    `loss`, `metric`, `lr` and `step` name logged quantities; `total`, `schedule`, `peak_lr` and `seed` keys of the
    config (`total` may be the number itself); `task` is a key of the config or the name itself. `facts` names
    the keys of the config that tell a run's scale, or the numbers themselves: {"width": "hidden_size"}.
    """

    loss: str | None = None
    metric: str | None = None
    direction: str | None = None
    lr: str | None = None
    step: str | None = None
    task: str | None = None
    total: str | None = None
    schedule: str | None = None
    peak_lr: str | None = None
    seed: str | None = None
    rebuild_lr: bool = True
    facts: Mapping[str, str] | None = None

    def __post_init__(self):
        if self.direction not in (None, "max", "min"):
            raise ValueError(f"direction must be 'max' or 'min', got {self.direction!r}")
        for name in self.facts or {}:
            if name not in FACTS:
                raise ValueError(f"{name!r} is no fact of a run's scale. Fix: use one of {', '.join(FACTS)}")

    def over(self, other: "Choices") -> "Choices":
        """These choices, with those of `other` where these say nothing."""
        merged = {
            field.name: getattr(other, field.name)
            for field in dataclasses.fields(self)
            if getattr(self, field.name) is None
        }
        merged["facts"] = {**(other.facts or {}), **(self.facts or {})} or None
        return dataclasses.replace(self, **merged, rebuild_lr=self.rebuild_lr and other.rebuild_lr)

    def stated(self, roles: tuple[str, ...]) -> dict[str, str]:
        """What is said about some roles."""
        return {role: name for role in roles if (name := getattr(self, role)) is not None}
