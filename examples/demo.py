"""The whole way on real data, in two minutes on a laptop: sweep, doctor, fit, evaluate, steer, report.

    make demo        (or: python examples/demo.py)

Everything is written to ./demo: run stores, a forecaster, a log of every decision, and report.html with all of it.
"""

import os
import subprocess
import sys
import time
from pathlib import Path

import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from examples import digits

from lodestar import RunSet, RunStore, Scheduler
from lodestar.runs import Facts

OUT = Path("demo")
RUNS, STEERED, MODEL, PAGE = OUT / "runs", OUT / "steered", OUT / "forecaster.lodestar", OUT / "report.html"
LOGS = OUT / "decisions"
FRESH = range(1000, 1020)  # seeds nobody has seen
STAGES = 6
BEGAN = time.monotonic()


def stage(number: int, what: str) -> None:
    """A line that says how far we are."""
    print(f"\n[{number}/{STAGES}, {time.monotonic() - BEGAN:.0f} s] {what}", flush=True)


def lodestar(*words: str | Path, allow: tuple[int, ...] = (0,)) -> None:
    """A command, as you would type it."""
    print(f"$ lodestar {' '.join(map(str, words))}", flush=True)
    done = subprocess.run([sys.executable, "-m", "lodestar", *map(str, words)])
    if done.returncode not in allow:
        sys.exit(done.returncode)


def best_shape(runs: RunSet) -> tuple[str, float]:
    """What plain tuning would choose from the same sweep: the shape and rate with the best mean final accuracy."""
    groups = {k: g for k, g in runs.groups("schedule").items() if not k.startswith("random")}
    means = {k: float(np.mean([r.metric.values[-3:].mean() for r in g])) for k, g in groups.items()}
    name, rate = max(means, key=means.__getitem__).split()
    return name, float(rate)


def plain(name: str, rate: float) -> NDArray[np.float64]:
    """The new jobs with the tuned schedule; returns test accuracies."""
    rates = np.stack([digits.shape(name, rate)] * len(FRESH))
    loss, val, test = digits.train(rates, list(FRESH))
    keep("tuned", f"{name}, tuned, new seeds", rates, loss, val)
    return test


def steer(preset: str) -> NDArray[np.float64]:
    """The new jobs again, each steered by a scheduler of its own; returns test accuracies."""
    schedulers = [
        Scheduler(MODEL, digits.STEPS, preset=preset, seed=s, log=LOGS / f"{preset}-{s}.jsonl")  # pyright: ignore[reportArgumentType]
        for s in FRESH
    ]
    state, seeds, test = digits.begin(list(FRESH)), jnp.asarray(list(FRESH)), np.zeros(len(FRESH))
    block, kept = digits.EVERY, []
    for first in range(0, digits.STEPS, block):
        rates = np.array([[s.lr_at(first + 1 + j) for j in range(block)] for s in schedulers])
        state, (loss, val, end) = digits.advance(state, seeds, jnp.asarray(first), jnp.asarray(rates, jnp.float32))
        loss, val, test = np.asarray(loss), np.asarray(val), np.asarray(end)[:, -1]
        kept.append((rates, loss, val))
        for i, scheduler in enumerate(schedulers):
            for j in range(block):
                scheduler.observe(first + 1 + j, loss=float(loss[i, j]))
            scheduler.observe(first + block, metric=float(val[i, -1]))
        if (first + block) % 60 == 0:
            print(f"  preset {preset!r}: step {first + block} of {digits.STEPS}", flush=True)
    rates, loss, val = (np.concatenate(part, axis=1) for part in zip(*kept, strict=True))
    keep(preset, f"Lodestar, preset {preset}", rates, loss, val)
    return test


def keep(stem: str, schedule: str, rates: NDArray, loss: NDArray, val: NDArray) -> None:
    """Store the new jobs as runs, beside the sweep."""
    facts = [
        Facts(task="digits-mlp", schedule=schedule, peak_lr=float(rate.max()), seed=s, source="examples/demo.py")
        for rate, s in zip(rates, FRESH, strict=True)
    ]
    RunStore(STEERED).add_many(digits.as_runs([f"{stem}-{s}" for s in FRESH], facts, rates, loss, val))


def compared(ours: NDArray, theirs: NDArray) -> str:
    """Level, above or below: by twice the standard error of the differences, seed by seed."""
    difference = ours - theirs
    unsure = 2 * difference.std(ddof=1) / np.sqrt(len(difference))
    return "level with" if abs(difference.mean()) < unsure else "above" if difference.mean() > 0 else "below"


def last_words(tuned: str, results: dict[str, NDArray]) -> None:
    """What was achieved, and what to do next."""
    command = os.path.relpath(Path(sys.executable).with_name("lodestar"))
    print(f"\nTest accuracy of {len(FRESH)} new jobs (mean, std, worst seed):")
    for label, values in results.items():
        print(f"  {label:32s} {100 * values.mean():.2f} +- {100 * values.std():.2f}   {100 * values.min():.2f}")
    verdict, seconds = compared(results["Lodestar"], results[tuned]), time.monotonic() - BEGAN
    print(f"""
What was achieved, in {seconds:.0f} s: 120 past runs became a forecaster, which steered {len(FRESH)} new jobs. They end
{verdict} the best of the 20 schedules (4 shapes, 5 rates) among the past runs, and nobody chose a schedule.
(On a job like the past runs, level is what to expect.) Every decision, with its reason, is on one page. Open it:
  {PAGE.resolve()}

Next, with your own runs:
  {command} import mlflow http://localhost:5000 --out runs   (or wandb, tensorboard, CSV, ...: import --help)
  {command} fit runs -o forecaster.lodestar
  {command} evaluate forecaster.lodestar runs -o page.html
and in your training job, in place of your own scheduler:
  LodestarLR(optimizer, "forecaster.lodestar", total_steps=...)   (from lodestar.adapters.torch)
Step by step: docs/tutorial.md""")


def main() -> None:
    """Run it all."""
    OUT.mkdir(exist_ok=True)
    for old in LOGS.glob("*.jsonl"):
        old.unlink()
    stage(1, "Train 120 small networks on handwritten digits: the past runs. Real ones, made now.")
    runs = digits.sweep()
    RunStore(RUNS).add_many(runs)
    stage(2, "Is anything wrong with these runs, or missing?")
    lodestar("doctor", RUNS, allow=(0, 1))
    stage(3, "Fit a forecaster to them.")
    lodestar("fit", RUNS, "-o", MODEL, "--updates", "6000", "--fresh")
    stage(4, "How good are its forecasts, on runs it never saw?")
    lodestar("evaluate", MODEL, RUNS, "--against", RUNS, "-o", OUT / "evaluation.html")
    name, rate = best_shape(runs)
    tuned = f"{name} at {rate:g}, tuned"
    stage(5, f"Train {len(FRESH)} new jobs: steered, and with the best schedule of the past runs ({tuned}).")
    results = {tuned: plain(name, rate), "Lodestar": steer("default"), "Lodestar, the paper's preset": steer("paper")}
    stage(6, "Every decision on one page.")
    lodestar("report", RUNS, STEERED, "--model", MODEL, "--log", LOGS, "-o", PAGE)
    last_words(tuned, results)


if __name__ == "__main__":
    main()
