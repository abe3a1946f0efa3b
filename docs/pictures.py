"""Draws the pictures of the README and the docs from a real run: `make demo`, then `make pictures`.

Comes in: ./demo, as the demo leaves it. Goes out: docs/pictures/*.gif and *.png.

- steered_run: a job four times wider than the runs the forecaster learned from, steered; a frame for each decision.
- report, decisions, evaluation: screenshots of the pages, by a headless Chromium.
- watch: the live page of that job half way through, a schedule drawn by hand.
"""

import sys
import tempfile
import textwrap
import time
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter
from PIL import Image

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from examples import digits  # noqa: E402
from tests.report.chromium import FOUND, Browser  # noqa: E402
from tests.watch.serving import TOKEN, serving  # noqa: E402

from lodestar import Forecaster, Run, RunStore, Scheduler, Series, load  # noqa: E402
from lodestar.scheduler import Decision, Outcome  # noqa: E402

DEMO, OUT = Path("demo"), ROOT / "docs" / "pictures"
WIDTH, SEED = 128, 8  # past runs are 32 wide
BLUE, ORANGE, GREY, INK = "#3b6fd4", "#d9822b", "#c9cdd6", "#2a2d3a"
PAST = 4  # every so many past runs are drawn
MOMENT, PAUSE = 450, 2600  # milliseconds of a frame: as time goes by; where something happened


def steer(forecaster: Forecaster | Path, stop: int = digits.STEPS, **options: Any) -> tuple[Run, Scheduler]:
    """The job: a real network on real digits, trained at the scheduler's rates."""
    scheduler = Scheduler(forecaster, digits.STEPS, seed=SEED, **options)
    state, seeds, rates, losses, accuracies = digits.begin([SEED], width=WIDTH), jnp.asarray([SEED]), [], [], []
    for first in range(0, stop, digits.EVERY):
        ahead = [scheduler.lr_at(first + 1 + j) for j in range(digits.EVERY)]
        state, (loss, val, _) = digits.advance(state, seeds, jnp.asarray(first), jnp.asarray([ahead], jnp.float32))
        for j, value in enumerate(np.asarray(loss)[0]):
            scheduler.observe(first + 1 + j, loss=float(value))
        scheduler.observe(first + digits.EVERY, metric=float(val[0, -1]))
        rates, losses, accuracies = [*rates, *ahead], [*losses, *np.asarray(loss)[0]], [*accuracies, float(val[0, -1])]
    every = np.arange(1, len(rates) + 1)
    run = Run(
        name="wide",
        loss=Series(every, np.array(losses, float)),
        metric=Series(every[digits.EVERY - 1 :: digits.EVERY], np.array(accuracies)),
        lr=Series(every, np.array(rates)),
        direction="max",  # pyright: ignore[reportArgumentType]
        metric_name="validation accuracy",
    )
    return run, scheduler


def planned_at(forecaster: Forecaster, run: Run, step: int) -> np.ndarray:
    """The plan as it stood after a step: the same job told the same, up to there."""
    scheduler = Scheduler(forecaster, digits.STEPS, seed=SEED)
    for at in range(1, step + 1):
        scheduler.lr_at(at)
        scheduler.observe(at, loss=run.loss.values[at - 1])
        if at % digits.EVERY == 0:
            scheduler.observe(at, metric=run.metric.values[at // digits.EVERY - 1])
    scheduler.lr_at(min(step + 1, digits.STEPS))
    plan = scheduler.plan()
    return np.array([plan.lr_at(at) for at in range(step + 1, digits.STEPS + 1)])


def frame(forecaster: Forecaster, past: list[Run], run: Run, decision: Decision, happened: list[Decision]) -> Figure:
    """The run as it stood at one decision."""
    figure = Figure(figsize=(9, 5.4))
    top, bottom = figure.subplots(2, 1, sharex=True, height_ratios=(3, 2))
    figure.subplots_adjust(left=0.09, right=0.98, top=0.97, bottom=0.23, hspace=0.08)
    draw_metric(top, forecaster, past, run, decision.step)
    draw_rate(bottom, forecaster, run, decision, happened)
    for axes in (top, bottom):
        axes.spines[["top", "right"]].set_visible(False)
        axes.axvline(decision.step, color=INK, linewidth=0.8, linestyle=":")
    title = f"After step {decision.step}: {decision.outcome}."
    figure.text(0.015, 0.125, title, fontsize=min(11, 970 / len(title)), weight="bold", va="top")
    figure.text(0.015, 0.075, "\n".join(textwrap.wrap(reason(decision), 118)), fontsize=10, color=INK, va="top")
    return figure


def reason(decision: Decision) -> str:
    """Why, in a sentence."""
    if decision.note:
        return decision.note[0].upper() + decision.note[1:] + "."
    weighed = f"{decision.accepted} of {decision.samples} candidates agree with the loss seen now"
    if decision.winners and decision.predicted is not None:
        best = np.mean([winner.metric for winner in decision.winners])
        return f"{weighed}; the best three are forecast to end at {best:.1%}, the plan at {decision.predicted:.1%}."
    return f"{weighed}."


def draw_metric(axes: Axes, forecaster: Forecaster, past: list[Run], run: Run, step: int) -> None:
    """Accuracy so far, past runs behind it, and the fan of the forecast."""
    for other in past:
        axes.plot(other.metric.steps, other.metric.values, color="#e4e6ec", linewidth=0.5, zorder=0)
    if step:
        context = forecaster.context_of(run, step / digits.STEPS)
        for level, shade in ((0.95, 0.12), (0.8, 0.18), (0.5, 0.28)):
            forecast = forecaster.forecast(context, level)
            steps = forecast.steps(digits.STEPS)
            ahead = steps >= step
            fan = forecast.metric
            axes.fill_between(steps[ahead], fan.lower[ahead], fan.upper[ahead], color=BLUE, alpha=shade, linewidth=0)
        axes.plot(
            steps[ahead], fan.centre[ahead], color=BLUE, linewidth=1.4, linestyle="--", label="forecast: 50, 80, 95 %"
        )
    seen = run.metric.steps <= step
    axes.plot(run.metric.steps[seen], run.metric.values[seen], color=INK, linewidth=2, label="this run so far")
    axes.plot([], [], color="#e4e6ec", label="past runs (a network a quarter as wide)")
    axes.set(ylabel="validation accuracy", ylim=(0.7, 1.0), xlim=(0, digits.STEPS))
    axes.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    axes.legend(loc="lower right", frameon=False, fontsize=9)


def draw_rate(axes: Axes, forecaster: Forecaster, run: Run, decision: Decision, happened: list[Decision]) -> None:
    """The learning rate used so far, the plan from here on, and where something was decided."""
    step = decision.step
    first = planned_at(forecaster, run, 0)
    axes.plot(np.arange(1, digits.STEPS + 1), first, color=GREY, linewidth=1.4, label="initial plan")
    axes.plot(np.arange(step + 1, digits.STEPS + 1), planned_at(forecaster, run, step), color=ORANGE, linestyle="--")
    axes.plot(
        run.lr.steps[:step], run.lr.values[:step], color=ORANGE, linewidth=2, label="learning rate used, and planned"
    )
    for earlier in happened:
        axes.plot(earlier.step, 0, marker="^", color=INK, markersize=8, clip_on=False, zorder=5)
    axes.set(ylabel="learning rate", xlabel="step", ylim=(0, 1.1 * first.max()))
    axes.legend(loc="upper right", frameon=False, fontsize=9)


def animate(figures: list[Figure], pauses: list[int], path: Path) -> None:
    """All frames into one small GIF."""
    frames = []
    for figure in figures:
        canvas = FigureCanvasAgg(figure)
        canvas.draw()
        frames.append(Image.fromarray(np.asarray(canvas.buffer_rgba())).convert("RGB"))
    colours = frames[len(frames) // 2].quantize(40, method=Image.Quantize.MAXCOVERAGE)
    small = [frame.quantize(palette=colours, dither=Image.Dither.NONE) for frame in frames]
    small[0].save(path, save_all=True, append_images=small[1:], duration=pauses, loop=0, optimize=True)


def steered_run() -> None:
    """The picture of the README."""
    forecaster, past = load(DEMO / "forecaster.lodestar"), list(RunStore(DEMO / "runs").read())[::PAST]
    run, scheduler = steer(forecaster)
    figures, pauses, happened = [], [], []
    for decision in worth_showing(scheduler.decisions):
        told = decision.outcome is not Outcome.KEPT
        happened += [decision] if told else []
        figures.append(frame(forecaster, past, run, decision, happened))
        pauses.append(PAUSE if told else MOMENT)
    pauses[-1] = PAUSE
    animate(figures, pauses, OUT / "steered_run.gif")


def worth_showing(decisions: list[Decision]) -> list[Decision]:
    """One decision a step: of several, the one that changed something."""
    shown: dict[int, Decision] = {}
    for decision in decisions:
        if decision.step not in shown or shown[decision.step].outcome is Outcome.KEPT:
            shown[decision.step] = decision
    return list(shown.values())


def screenshots() -> None:
    """The report and the page of an evaluation, as a browser shows them."""
    if FOUND is None:
        sys.exit("the screenshots need a Chromium. Fix: apt install chromium")
    with tempfile.TemporaryDirectory() as profile:
        browser = Browser(Path(profile))
        photograph(browser, DEMO / "report.html", "report")
        photograph(browser, DEMO / "report.html", "decisions", "Steered runs")
        photograph(browser, DEMO / "evaluation.html", "evaluation")
        watched(browser, Path(profile))
        browser.close()


def watched(browser: Browser, folder: Path) -> None:
    """The live page of a job that is half way, with a schedule drawn by hand."""
    (logs := folder / "logs").mkdir()
    steer(DEMO / "forecaster.lodestar", digits.STEPS // 2, log=logs / "wide.jsonl", control=True)
    with serving(logs) as address:
        browser.open(f"{address}/#token={TOKEN}", width=1000, height=1500)
        browser.wait("document.querySelectorAll('#charts figure[data-drawn]').length >= 3")
        browser.js(
            "(() => {const i = document.querySelectorAll('#sliders input')[2];"
            "i.value = 0.4 * i.value; i.dispatchEvent(new Event('input'))})()"
        )
        time.sleep(2)
        shrink(browser, "watch")
        browser.open("about:blank")


def photograph(browser: Browser, page: Path, name: str, heading: str | None = None) -> None:
    """A window of a page, 1,000 by 900: its top, or what is folded first under a heading, unfolded."""
    browser.open(page, width=1000, height=900)
    if heading is not None:
        part = f"[...document.querySelectorAll('section')].find(s => s.textContent.startsWith({heading!r}))"
        browser.js(f"(() => {{const e = {part}.querySelector('details'); e.open = true; e.scrollIntoView()}})()")
        browser.js("window.scrollBy(0, -60)")
    time.sleep(2)  # charts are drawn as they come into view
    shrink(browser, name)


def shrink(browser: Browser, name: str) -> None:
    """A picture of the window in few colours."""
    browser.shot(path := OUT / f"{name}.png")
    small = Image.open(path).convert("RGB").quantize(64, method=Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
    small.save(path, optimize=True)


def main() -> None:
    """Draw them all."""
    if not (DEMO / "forecaster.lodestar").exists():
        sys.exit("there is no demo/forecaster.lodestar. Fix: make demo")
    OUT.mkdir(exist_ok=True)
    steered_run()
    screenshots()


if __name__ == "__main__":
    main()
