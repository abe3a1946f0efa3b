"""The whole way on real data, in a few minutes on a laptop: sweep, doctor, fit, forecast, evaluate, steer, report.

    make demo        (or: python examples/demo.py)

Everything is written to ./demo: run stores, a forecaster, a log of every decision, and report.html with all of it.
"""

import subprocess
import sys
import time
from pathlib import Path

import jax.numpy as jnp
import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from examples import digits

from lodestar import RunSet, RunStore, Scheduler
from lodestar.runs import Facts

OUT = Path("demo")
LOGS = OUT / "decisions"
FRESH = range(1000, 1020)  # seeds nobody has seen


def digits_runs() -> RunSet:
    """The sweep."""
    return digits.sweep()


def lodestar(*words: str | Path, allow: tuple[int, ...] = (0,)) -> None:
    """A command, as you would type it."""
    print(f"\n$ lodestar {' '.join(map(str, words))}", flush=True)
    done = subprocess.run([sys.executable, "-m", "lodestar.cli", *map(str, words)])
    if done.returncode not in allow:
        sys.exit(done.returncode)


def best_shape(runs: RunSet) -> tuple[str, float]:
    """What plain tuning would choose from the same sweep: the shape and rate with the best mean final accuracy."""
    groups = {k: g for k, g in runs.groups("schedule").items() if not k.startswith("random")}
    means = {k: float(np.mean([r.metric.values[-3:].mean() for r in g])) for k, g in groups.items()}
    name, rate = max(means, key=means.__getitem__).split()
    return name, float(rate)


def steer(model: Path, preset: str) -> tuple[np.ndarray, RunSet]:
    """Twenty new jobs, each steered by a scheduler of its own; returns test accuracies, and the runs."""
    pilots = [
        Scheduler(model, digits.STEPS, preset=preset, seed=s, log=LOGS / f"{preset}-{s}.jsonl")  # pyright: ignore[reportArgumentType]
        for s in FRESH
    ]
    state, seeds, test = digits.begin(list(FRESH)), jnp.asarray(list(FRESH)), np.zeros(len(FRESH))
    block, kept = digits.EVERY, []
    for first in range(0, digits.STEPS, block):
        rates = np.array([[p.lr_at(first + 1 + j) for j in range(block)] for p in pilots])
        state, (loss, val, end) = digits.advance(state, seeds, jnp.asarray(first), jnp.asarray(rates, jnp.float32))
        loss, val, test = np.asarray(loss), np.asarray(val), np.asarray(end)[:, -1]
        kept.append((rates, loss, val))
        for i, pilot in enumerate(pilots):
            for j in range(block):
                pilot.observe(first + 1 + j, loss=float(loss[i, j]))
            pilot.observe(first + block, metric=float(val[i, -1]))
    rates, loss, val = (np.concatenate(part, axis=1) for part in zip(*kept, strict=True))
    return test, named_runs(preset, f"Lodestar, preset {preset}", rates, loss, val)


def named_runs(stem: str, schedule: str, rates: np.ndarray, loss: np.ndarray, val: np.ndarray) -> RunSet:
    """The new jobs as runs, to be kept beside the sweep."""
    facts = [
        Facts(task="digits-mlp", schedule=schedule, peak_lr=float(rate.max()), seed=s, source="examples/demo.py")
        for rate, s in zip(rates, FRESH, strict=True)
    ]
    return digits.as_runs([f"{stem}-{s}" for s in FRESH], facts, rates, loss, val)


def main() -> None:
    """Run it all."""
    began = time.monotonic()
    OUT.mkdir(exist_ok=True)
    for old in LOGS.glob("*.jsonl"):
        old.unlink()
    print("Training 120 small networks on handwritten digits (real runs, made now) ...", flush=True)
    runs = digits_runs()
    store, model, fresh, page = OUT / "runs", OUT / "forecaster.lodestar", OUT / "fresh", OUT / "report.html"
    RunStore(store).add_many(runs)
    lodestar("doctor", store, allow=(0, 1))
    lodestar("fit", store, "-o", model, "--updates", "8000", "--fresh")
    lodestar("forecast", model, store, "--run", "onecycle-0.03-0", "--seen", "0.05")
    lodestar("evaluate", model, store, "--against", store)

    name, rate = best_shape(runs)
    print(f"\nSteering {len(FRESH)} new jobs; plain tuning of the same sweep would choose {name} at {rate:g} ...")
    rates = np.stack([digits.shape(name, rate)] * len(FRESH))
    loss, val, plain = digits.train(rates, list(FRESH))
    results = {f"{name} at {rate:g} (tuned)": plain}
    RunStore(fresh).add_many(named_runs("tuned", f"{name}, tuned, new seeds", rates, loss, val))
    for preset in ("paper", "default"):
        results[f"Lodestar, preset {preset!r}"], steered = steer(model, preset)
        RunStore(fresh).add_many(steered)
    print(f"\nTest accuracy, {len(FRESH)} fresh seeds (mean, std, worst):")
    for label, values in results.items():
        print(f"  {label:32s} {100 * values.mean():.2f} +- {100 * values.std():.2f}   {100 * values.min():.2f}")
    lodestar("explain", LOGS / f"default-{FRESH[0]}.jsonl")
    lodestar("report", store, fresh, "--model", model, "--log", LOGS, "-o", page)
    print(f"\nDone in {time.monotonic() - began:.0f} s. Open this in a browser:\n{page.resolve()}")


if __name__ == "__main__":
    main()
