"""Made `files/`, with the code of release one (0.1.0, commit 7100dab). Kept to say what they are.

git worktree add /somewhere 7100dab
PYTHONPATH=/somewhere/src:/somewhere:. python tests/release_one/make.py tests/release_one/files
"""

# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false, reportCallIssue=false
import json
import shutil
import sys
from pathlib import Path

import numpy as np

TOTAL, SAVED_AT, SEED = 300, 140, 3
TABLE = """run,step,loss,val_acc,lr
csv-a,10,2.0,0.2,0.01
csv-a,20,1.5,,0.01
csv-a,20,1.4,0.3,0.01
csv-a,30,1.2,0.4,0.005
csv-a,40,nan,0.5,0.001
csv-b,40,1.0,0.5,0.001
csv-b,10,2.1,0.2,0.01
csv-b,20,1.6,0.3,0.01
csv-b,30,1.3,0.4,0.005
"""


def loss_at(step: int) -> float:
    """What the steered job measures: a function of the step alone."""
    return 2.2 - 1.1 * step / TOTAL + 0.03 * float(np.random.default_rng([7, step]).standard_normal())


def metric_at(step: int) -> float | None:
    """Its accuracy, every tenth step."""
    return 0.25 + 0.3 * step / TOTAL if step % 10 == 0 else None


def drive(scheduler, first: int, last: int) -> list[float]:
    """Steps `first` to `last` of the steered job; the rates it used."""
    rates = []
    for step in range(first, last + 1):
        rates.append(scheduler.lr_at(step))
        scheduler.observe(step, loss=loss_at(step), metric=metric_at(step))
    return rates


def make(folder: Path) -> None:
    """Every format that release one writes."""
    runs = _store(folder)
    _forecaster(folder, runs)
    _steered(folder)
    _adapters(folder)
    _sweep(folder)


def _store(folder: Path):
    from lodestar.runs.table import import_tables
    from tests.curves import diverged_run, toy_runs

    from lodestar.runs import RunStore

    runs = toy_runs(seeds=1, total=TOTAL, every=5, metric_every=10)
    store = RunStore.create(folder / "store")
    store.add_many([*runs, diverged_run(total=TOTAL)])
    (folder / "table.csv").write_text(TABLE)
    import_tables([folder / "table.csv"], store)
    lines = []
    for run in store.iter():
        channels = {name: getattr(run, name) for name in ("loss", "metric", "lr")}
        curves = {
            name: [one.steps.tolist(), [repr(float(value)) for value in one.values]] for name, one in channels.items()
        }
        facts = {"direction": str(run.direction), "status": str(run.status), "metric_name": run.metric_name}
        lines.append({"name": run.name, **facts, "notes": list(run.notes), "schedule": run.facts.schedule, **curves})
    (folder / "runs.json").write_text(json.dumps(lines))
    return runs


def _forecaster(folder: Path, runs) -> None:
    from lodestar.latent import fit

    forecaster = fit(runs, seed=0, points=60, updates=400)
    forecaster.save(folder / "forecaster.lodestar")
    latent = forecaster.encode(forecaster.library.piece(0, 0, 6))
    drawn = forecaster.decode(latent)
    (folder / "forecast.json").write_text(json.dumps({"metric": drawn.metric.tolist(), "lr": drawn.lr.tolist()}))


def _steered(folder: Path) -> None:
    from lodestar.scheduler import Scheduler

    scheduler = Scheduler(folder / "forecaster.lodestar", TOTAL, seed=SEED, log=folder / "decisions.jsonl")
    before = drive(scheduler, 1, SAVED_AT)
    (folder / "state.json").write_text(json.dumps(scheduler.state_dict()))
    after = drive(scheduler, SAVED_AT + 1, TOTAL)
    scheduler.followed().to_json(folder / "plan.json")
    (folder / "rates.json").write_text(json.dumps({"before": before, "after": after}))
    outcomes = [[one.step, str(one.outcome)] for one in scheduler.decisions]
    (folder / "outcomes.json").write_text(json.dumps(outcomes))


def _adapters(folder: Path) -> None:
    import torch

    from lodestar.adapters.loop import SteeredLoop
    from lodestar.adapters.torch import LodestarLR

    loop = SteeredLoop(folder / "forecaster.lodestar", TOTAL, seed=SEED, state=folder / "loop.json")
    for step, _ in loop:
        loop.observe(loss=loss_at(step), metric=metric_at(step))
        if step == SAVED_AT:
            loop.save()
            break
    module = torch.nn.Linear(2, 1)
    optimizer = torch.optim.SGD(module.parameters(), lr=0.1)
    steered = LodestarLR(optimizer, folder / "forecaster.lodestar", TOTAL, seed=SEED)
    for step in range(1, SAVED_AT + 1):
        optimizer.step()
        steered.step(loss=loss_at(step), metric=metric_at(step))
    (folder / "torch.json").write_text(json.dumps(steered.state_dict()))


def _sweep(folder: Path) -> None:
    from lodestar.sweep import run_sweep

    run_sweep(
        "tests.release_one.job:train", out=folder / "sweep", seed=0, runs=4, total_steps=40, peak=(1e-3, 1e-1), jobs=1
    )


if __name__ == "__main__":
    target = Path(sys.argv[1])
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    make(target)
