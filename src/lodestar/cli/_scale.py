"""The job's size and batch on the command line: options, and the forecaster turned to them."""

from typing import TYPE_CHECKING, Annotated

import typer
from typer import Option

from lodestar.cli import _screen

if TYPE_CHECKING:
    from lodestar.forecaster import Forecaster

Size = Annotated[float | None, Option(help="The job's width or number of parameters, as past runs state theirs.")]
Batch = Annotated[float | None, Option(help="The job's batch size: samples in one update.")]


def stated(
    forecaster: "Forecaster", steps: int | None, size: float | None, batch: float | None
) -> dict[str, float | None]:
    """The options as quantities of the law; a size is in the measure that past runs state."""
    law = forecaster.law
    measure = law.size.name if law and law.size else "width"
    return {measure: size, "batch_size": batch, "total_steps": None if steps is None else float(steps)}


def at_job(
    forecaster: "Forecaster", steps: int | None, size: float | None, batch: float | None
) -> "tuple[Forecaster, list[str]]":
    """The forecaster in the units of the job, and what is to be said of that."""
    from lodestar.forecaster.about import law_words
    from lodestar.forecaster.at_scale import at_scale, too_far, unheard_of

    for name, value in (("--size", size), ("--batch", batch)):
        if value is not None and not value > 0:
            raise typer.BadParameter(f"must be above 0, got {value:g}", param_hint=name)
    law, job = forecaster.law, stated(forecaster, steps, size, batch)
    if why := too_far(law, job):
        raise typer.BadParameter(why, param_hint="--size, --batch, --steps")
    turned = at_scale(forecaster, job)
    for _, text in (*turned.warnings, *unheard_of(law, {"batch_size": batch})):
        _screen.warn(text)
    said = [text for text in (turned.words, *law_words(forecaster)) if text]
    return turned.forecaster, [f"{text[0].upper()}{text[1:]}." for text in said]
