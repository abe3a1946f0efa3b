"""Runs to Weights & Biases: values with their `global_step`, decisions as numbers and a table of text.

W&B's own step only counts calls, since it drops what comes late (a validation reported after the next update); its
charts are told to use `global_step`.
"""

from collections.abc import Mapping
from typing import Any, ClassVar

from lodestar._credentials import stripped
from lodestar._errors import TrackerError
from lodestar._extras import need
from lodestar.exporters.writer import PREFIX, AbstractWriter
from lodestar.runs import Scalar, Status

STEP = "global_step"


class WandbWriter(AbstractWriter):
    """A W&B project."""

    kind: ClassVar[str] = "wandb"
    end_seconds: ClassVar[float] = 60.0  # it uploads what it has kept; what is not uploaded by then stays on the disk

    def __init__(self, address: str):
        entity, _, project = address.strip("/").rpartition("/")
        if not project or "/" in entity:
            raise TrackerError(
                f"a W&B project is PROJECT or ENTITY/PROJECT, got {stripped(address)!r}. Fix: wandb:my-project"
            )
        self._entity, self._project = entity or None, project
        self._wandb = need("wandb", "wandb")
        self._run: Any = None
        self._told: list[str] = []

    def begin(self, name: str, config: Mapping[str, Scalar], *, first_step: int = 0) -> None:
        """A new W&B run; one that the job has open itself is left alone."""
        self._run = self._wandb.init(
            project=self._project,
            entity=self._entity,
            name=name,
            config=dict(config),
            reinit="create_new",
            tags=["lodestar"],
        )
        self._run.define_metric(STEP, hidden=True)
        self._run.define_metric("*", step_metric=STEP)
        self._told = []

    def log(self, step: int, values: Mapping[str, float]) -> None:
        self._run.log({STEP: step, **values})

    def decision(self, step: int, text: str, numbers: Mapping[str, float]) -> None:
        """Numbers in the history, the sentences in the run's summary, the last first."""
        self.log(step, {PREFIX + name: value for name, value in numbers.items()})
        self._told.insert(0, text)
        self._run.summary[PREFIX + "decisions"] = "\n".join(self._told)

    def end(self, status: Status) -> None:
        """Finish the run; W&B calls one that did not reach its end failed."""
        self._run.summary[PREFIX + "status"] = str(status)
        self._run.finish(exit_code=0 if status is Status.FINISHED else 1)
        self._run = None
