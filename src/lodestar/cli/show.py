"""`lodestar show`: what a forecaster file holds, and how good it is."""

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from lodestar.cli import _screen


def show_command(
    model: Annotated[Path, Argument(metavar="FORECASTER", help="A forecaster file, from lodestar fit.")],
    as_json: Annotated[bool, Option("--json", help="Print it as JSON.")] = False,
) -> None:
    """Show what a forecaster was fitted to, and how good its forecasts are, in words.

    There are two kinds of forecast. Of a run whose schedule nobody knows, the learning rate is forecast too. Of a known
    schedule (a plan, a trial, a plain family), lodestar what-if and lodestar plan say what it would give; a file of an
    earlier version may lack that. The figures are from runs that it had not learned from, with their number.

    \b
    Examples:
      lodestar show forecaster.lodestar
      lodestar show forecaster.lodestar --json | jq .quality
    """
    import datetime

    from lodestar.forecaster import load
    from lodestar.forecaster.about import about, lines, quality_words

    forecaster = load(model)
    file = model.stat()
    date = datetime.datetime.fromtimestamp(file.st_mtime).astimezone().isoformat(timespec="minutes")
    words = quality_words(forecaster)
    if as_json:
        told = {"file": str(model), "bytes": file.st_size, "date": date, **about(forecaster)}
        _screen.show_json({**told, "quality_words": words})
        return
    _screen.say(f"{model} ({file.st_size / 1024:.0f} kB, {date[:16].replace('T', ' ')})", "bold")
    for what, said in lines(forecaster):
        _screen.say(f"  {what + ':':17}{said}")
    for sentence in words:
        _screen.say(sentence)
    if forecaster.response is not None:
        _screen.say(f"It knows schedules. Next: lodestar plan {model} --steps N", "green")
