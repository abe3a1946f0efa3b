"""Sweeps over sizes, batches and lengths: evenly, in turn, each with schedules of its own."""

import collections
import contextlib
import json
import sys
from typing import Any

import pytest
from tests.sweep.here import HereExecutor
from tests.sweep.jobs import named

from lodestar._errors import SweepError
from lodestar.runs import RunStore
from lodestar.runs.scale import scale_of
from lodestar.sweep import Job, LocalExecutor, QuasiRandom, paper_grid, run_sweep
from lodestar.sweep.scales import Scales
from lodestar.sweep.spaces import in_words


def trials(runs, *, steps=50, seed=0, space=None, **lists) -> Any:
    return Scales.of(**lists).trials(space or QuasiRandom(), runs, steps, seed=seed)


@pytest.fixture
def sweep(tmp_path):
    """Run a sweep over sizes into one store; the result, and the trials that were made."""

    def call(function="sized", most=None, **options):
        executor = options.pop("executor", HereExecutor(most))
        given = {"sizes": (16, 8, 4), "runs": 9, "total_steps": 12, "seed": 0, "out": tmp_path / "runs", **options}
        with contextlib.suppress(KeyboardInterrupt):
            run_sweep(named(function), executor=executor, **given)
        return getattr(executor, "made", []), RunStore(tmp_path / "runs")

    return call


def test_runs_are_spread_evenly_and_in_turn():
    made = trials(30, sizes=(16, 8, 4))
    assert [trial.settings["size"] for trial in made] == [16, 8, 4] * 10
    assert len({trial.name for trial in made}) == len({trial.seed for trial in made}) == 30
    assert made[4].name == "sobol0-0004-size8"


def test_every_trial_has_a_schedule_of_its_own_well_spread_in_each_size():
    made = trials(30, sizes=(16, 8, 4))
    assert len({trial.schedule.peak for trial in made}) == 30
    for size in (16, 8, 4):
        peaks = [trial.schedule.peak for trial in made if trial.settings["size"] == size]
        thirds = collections.Counter(sum(peak > edge for edge in (1e-3, 1e-2)) for peak in peaks)
        assert min(thirds[third] for third in range(3)) >= 2  # of three decades, ten runs


def test_runs_that_do_not_divide_evenly_differ_by_one():
    counts = collections.Counter(trial.settings["size"] for trial in trials(11, sizes=(16, 8, 4)))
    assert counts == {16: 4, 8: 4, 4: 3}


def test_more_runs_begin_with_the_same():
    assert [t.digest for t in trials(30, sizes=(16, 8, 4))[:12]] == [t.digest for t in trials(12, sizes=(16, 8, 4))]


def test_another_seed_gives_other_schedules():
    one, other = ({t.schedule.peak for t in trials(12, sizes=(16, 8), seed=seed)} for seed in (0, 1))
    assert not one & other


def test_batches_and_lengths_are_crossed_with_sizes():
    made = trials(16, sizes=(16, 8), batches=(32, 64), lengths=(50, 100))
    found = collections.Counter((t.settings["size"], t.settings["batch_size"], t.total_steps) for t in made)
    assert len(found) == 8 and set(found.values()) == {2}
    assert all(len(trial.schedule.rates) == trial.total_steps for trial in made)
    assert made[0].name == "sobol0-0000-size16-batch32-steps50"


def test_a_grid_and_a_list_are_made_whole_at_each_size():
    assert len(trials(None, sizes=(16, 8), space=paper_grid(seeds=1))) == 40
    made = trials(None, sizes=(16, 8), space=in_words("cosine:1e-3, linear:3e-3", 50, seed=0))
    assert [(t.settings["size"], t.schedule.name) for t in made] == [
        *((16, "cosine"), (8, "cosine"), (16, "linear"), (8, "linear"))
    ]
    assert len({trial.name for trial in made}) == 4


def test_without_sizes_nothing_has_changed():
    assert trials(5) == QuasiRandom().trials(5, 50, seed=0)
    assert "scales" not in Job(function="m:f").as_dict()  # journals of earlier sweeps are found again


@pytest.mark.parametrize(
    ("sizes", "why"),
    [
        ("16,0,4", "got '0'"),
        ("16,-8", "got '-8'"),
        ("16,8,16", "16 twice"),
        ("16,8.0,8", "8 twice"),
        ("16,wide", "got 'wide'"),
        ("16,,8", "got ''"),
        ("nan", "got 'nan'"),
        ([16, float("inf")], "got inf"),
        ([True], "got True"),
        ([], "at least one"),
    ],
)
def test_sizes_that_cannot_be_are_refused_with_the_rule_and_a_fix(sizes, why):
    with pytest.raises(ValueError, match=r"^sizes must ") as error:
        Scales.of(sizes)
    assert why in str(error.value) and "Fix: " in str(error.value)


def test_a_size_may_be_a_fraction_but_a_batch_may_not():
    assert Scales.of("0.25,1").sizes == (0.25, 1)
    with pytest.raises(ValueError, match="batches must be whole numbers above 0"):
        Scales.of(batches="1.5")


def test_fewer_runs_than_sizes_are_refused():
    with pytest.raises(ValueError, match="at least one for each of the 3 sizes"):
        trials(2, sizes=(16, 8, 4))


def test_lengths_do_not_go_with_a_list_or_with_steps(sweep):
    with pytest.raises(SweepError, match="schedules of a list have lengths"):
        trials(None, lengths=(50, 100), space=in_words("cosine:1e-3", 50, seed=0))
    with pytest.raises(ValueError, match="lengths and total_steps say the same"):
        sweep(lengths=(10, 20))


def test_the_function_gets_the_size_and_the_run_keeps_it(sweep):
    made, store = sweep(batches=(32, 64), runs=12)
    runs = store.read()
    assert len(made) == len(runs) == 12
    for run in runs:
        assert run.facts.extra["got_size"] == run.facts.extra["size"]
        assert run.facts.extra["got_batch"] == run.facts.extra["batch_size"]
        assert scale_of(run).size == ("width", run.facts.extra["size"])
    assert {scale_of(run).batch_size for run in runs} == {32, 64}


def test_a_killed_sweep_has_all_sizes_and_goes_on(sweep):
    first, store = sweep(most=4)
    assert {scale_of(run).width for run in store.read()} == {16, 8, 4}
    second, store = sweep()
    assert len(second) == 5 and not set(first) & set(second) and len(store) == 9
    assert len(sweep(runs=12)[0]) == 3


def test_other_sizes_are_another_sweep(sweep):
    sweep()
    with pytest.raises(SweepError, match=r"sizes was \[16, 8, 4\] and is now \[32, 8\]"):
        sweep(sizes=(32, 8))


def test_workers_give_the_size_too(sweep):
    _, store = sweep(executor=LocalExecutor(1), runs=3)
    assert sorted(run.facts.extra["got_size"] for run in store.read()) == [4, 8, 16]


def test_a_function_that_takes_no_size_is_refused_before_the_first_trial(sweep, tmp_path):
    with pytest.raises(SweepError, match=r"no parameter 'size'.*--sizes"):
        sweep("unsized", executor=LocalExecutor(1))
    assert len(RunStore(tmp_path / "runs")) == 0


def test_a_function_that_wants_a_size_is_told_how_to_get_one(sweep):
    with pytest.raises(SweepError, match=r"wants 'size'.*--sizes 16,8,4"):
        sweep(executor=LocalExecutor(1), sizes=None)


def test_a_command_finds_the_size_in_its_line_and_its_variables(tmp_path):
    (tmp_path / "job.py").write_text(
        "import json, os, sys\n"
        "said = {'line': float(sys.argv[1]), 'variable': float(os.environ['LODESTAR_SIZE'])}\n"
        "with open(os.environ['LODESTAR_REPORT'], 'a') as file:\n"
        "    for step in (1, 2): print(json.dumps({'step': step, 'loss': 1 / step, 'metric': 1}), file=file)\n"
        "    print(json.dumps({'facts': said}), file=file)\n"
    )
    options = {"total_steps": 2, "runs": 2, "sizes": (16, 0.5), "seed": 0, "executor": HereExecutor()}
    run_sweep(command=f"{sys.executable} {tmp_path / 'job.py'} {{size}}", out=tmp_path / "runs", **options)
    facts = [run.facts.extra for run in RunStore(tmp_path / "runs").read()]
    assert sorted(json.dumps([f["size"], f["line"], f["variable"]]) for f in facts) == [
        *("[0.5, 0.5, 0.5]", "[16, 16.0, 16.0]")
    ]


def test_pruning_does_not_rank_sizes_together(sweep):
    with pytest.raises(SweepError, match="cannot be ranked together"):
        sweep(prune=True)
