"""The live wall: a training job imports NumPy, and of ours only what steers it."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from lodestar.testing import random_forecaster

ALLOWED = """
lodestar
lodestar._credentials
lodestar._disk
lodestar._errors
lodestar._extras
lodestar._keys
lodestar._moved
lodestar._plain
lodestar.adapters
lodestar.adapters._source
lodestar.adapters._state_file
lodestar.adapters._steered
lodestar.adapters.loop
lodestar.forecaster
lodestar.forecaster.architecture
lodestar.forecaster.at_scale
lodestar.forecaster.axes
lodestar.forecaster.file
lodestar.forecaster.forecast
lodestar.forecaster.forecaster
lodestar.forecaster.intervals
lodestar.forecaster.known_schedules
lodestar.forecaster.job
lodestar.forecaster.misfit
lodestar.forecaster.network
lodestar.forecaster.preprocessing
lodestar.forecaster.preprocessing.grid
lodestar.forecaster.preprocessing.normaliser
lodestar.forecaster.preprocessing.recipe
lodestar.forecaster.preprocessing.smooth
lodestar.forecaster.preprocessing.transform
lodestar.forecaster.reference_runs
lodestar.forecaster.response
lodestar.forecaster.response.channel
lodestar.forecaster.response.continuation
lodestar.forecaster.response.gaussian
lodestar.forecaster.response.history
lodestar.forecaster.response.law
lodestar.forecaster.response.mixture
lodestar.forecaster.response.neighbours
lodestar.forecaster.response.pack
lodestar.forecaster.response.power_law
lodestar.forecaster.response.products
lodestar.forecaster.response.response
lodestar.forecaster.scale_law
lodestar.forecaster.solve
lodestar.forecaster.tokens
lodestar.forecaster.tsit5
lodestar.planning
lodestar.planning.plan
lodestar.planning.space
lodestar.planning.words
lodestar.runs
lodestar.runs.fact_names
lodestar.runs.metric_name
lodestar.runs.note
lodestar.runs.run
lodestar.runs.scale
lodestar.scheduler
lodestar.scheduler.arguments
lodestar.scheduler.checkpoint
lodestar.scheduler.clock
lodestar.scheduler.control
lodestar.scheduler.controller
lodestar.scheduler.history
lodestar.scheduler.inputs
lodestar.scheduler.planned_run
lodestar.scheduler.records
lodestar.scheduler.records.command
lodestar.scheduler.records.decision
lodestar.scheduler.records.journal
lodestar.scheduler.records.listener
lodestar.scheduler.records.log
lodestar.scheduler.records.outcome
lodestar.scheduler.records.points
lodestar.scheduler.records.shadow
lodestar.scheduler.records.summary
lodestar.scheduler.safety
lodestar.scheduler.safety.base
lodestar.scheduler.safety.caps
lodestar.scheduler.safety.checks
lodestar.scheduler.safety.gate
lodestar.scheduler.safety.guard
lodestar.scheduler.safety.job
lodestar.scheduler.safety.plain
lodestar.scheduler.scheduler
lodestar.scheduler.settings
lodestar.scheduler.state
lodestar.scheduler.steps
lodestar.scheduler.steps.accept
lodestar.scheduler.steps.average
lodestar.scheduler.steps.candidates
lodestar.scheduler.steps.encode
lodestar.scheduler.steps.fallback
lodestar.scheduler.steps.follow
lodestar.scheduler.steps.initial_plan
lodestar.scheduler.steps.judge_schedules
lodestar.scheduler.steps.matching
lodestar.scheduler.steps.moment
lodestar.scheduler.steps.perturb
lodestar.scheduler.steps.plain_plan
lodestar.scheduler.steps.rescale
lodestar.scheduler.steps.score
lodestar.scheduler.steps.steer
lodestar.scheduler.steps.weigh
lodestar.schedules
lodestar.schedules.config
lodestar.schedules.exports
lodestar.schedules.families
lodestar.schedules.family
lodestar.schedules.parse
lodestar.schedules.plan
lodestar.schedules.recognise
lodestar.schedules.reconstruct
lodestar.schedules.schedule
"""

IMPORT = "import lodestar.scheduler, lodestar.adapters.loop"
STEER = """
from lodestar.adapters.loop import SteeredLoop
loop = SteeredLoop("f.lode", 300, state="state.json", log="log.jsonl", tolerance=20.0, hysteresis=None, unlike=0.0)
for step, lr in loop:
    loop.observe(loss=2.0 - step / 300 + 0.01 * (step % 7), metric=step / 600)
    if step % 100 == 0:
        loop.save()
assert len(loop.scheduler.decisions) > 10
SteeredLoop("f.lode", 300, state="state.json")
loop.scheduler.plan().to_json("plan.json")
"""


@pytest.fixture(scope="module", params=[IMPORT, STEER], ids=["imported", "steered"])
def loaded(request, tmp_path_factory) -> set[str]:
    """The modules a fresh Python has loaded that Python itself does not bring."""
    folder: Path = tmp_path_factory.mktemp("job")
    random_forecaster(seed=5, points=40).save(folder / "f.lode")
    return modules_after(request.param, folder) - modules_after("", folder)


def modules_after(code: str, folder: Path) -> set[str]:
    """What a fresh Python has loaded after `code`."""
    command = [sys.executable, "-c", f"{code}\nimport json, sys; print(json.dumps(sorted(sys.modules)))"]
    return set(json.loads(subprocess.run(command, cwd=folder, capture_output=True, check=True).stdout))


def test_of_ours_a_live_job_loads_only_what_steers_it(loaded):
    assert {name for name in loaded if name.partition(".")[0] == "lodestar"} == set(ALLOWED.split())


def test_of_others_a_live_job_loads_only_numpy(loaded):
    others = {name.partition(".")[0] for name in loaded} - set(sys.stdlib_module_names)
    assert {name for name in others if not _of_a_compiler(name)} == {"lodestar", "numpy"}


def _of_a_compiler(name: str) -> bool:
    """What compiled parts of NumPy leave in the list; no package."""
    return "cython" in name
