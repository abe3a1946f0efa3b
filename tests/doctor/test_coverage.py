"""Whether runs of small sizes cover a job of another: the verdict, its reasons, and the runs that would settle it."""

import math

import numpy as np
import pytest
from typer.testing import CliRunner

from lodestar.cli import app
from lodestar.doctor import Coverage, JobScale, diagnose
from lodestar.runs import Facts, RunStore, Series, Status

SHAPES = ("constant", "cosine", "onecycle", "step", "linear with warm-up")


@pytest.fixture
def sweep(make_run):
    """Runs at several sizes, whose best rate is 0.08 / sqrt(size): ten at each, over a factor of 100 around it."""

    def make(*sizes, runs=10, key="width", around=1.0, half=10.0, **facts):
        made = []
        for size in sizes:
            best = 0.08 / math.sqrt(size)
            for number, peak in enumerate(np.geomspace(best * around / half, best * around * half, runs)):
                final = 0.5 + 0.05 * math.log(size) - 0.05 * math.log10(peak / best) ** 2
                metric = Series([100, 200, 300, 400, 500], [0.1, 0.2, 0.3, 0.4, final])
                extra = {key: size, **facts}
                shape, known = SHAPES[number % 5], Facts(seed=number, extra=extra)
                made.append(make_run(f"{key}{size}-{number}", shape=shape, peak=peak, metric=metric, facts=known))
        return made

    return make


def verdict(diagnosis) -> Coverage:
    assert diagnosis.coverage is not None
    return diagnosis.coverage


def kinds(diagnosis):
    return {str(finding.check): finding for finding in diagnosis.findings}


def test_three_bracketed_sizes_cover_a_job_not_too_far_away(sweep):
    told = diagnose(sweep(16, 32, 64), job=JobScale(size=256))
    assert verdict(told).covered and verdict(told).runs == ()
    assert "4 times the largest in the runs (width 16 to 64)" in kinds(told)["job far outside"].sentence
    assert str(kinds(told)["job far outside"].severity) == "advice"


def test_a_job_of_a_size_tried_or_between_is_not_outside(sweep):
    for size in (64, 48):
        told = diagnose(sweep(16, 32, 64), job=JobScale(size=size))
        assert verdict(told).covered and "job far outside" not in kinds(told)


def test_beyond_a_hundred_times_the_largest_nothing_is_called_covered(sweep):
    told = diagnose(sweep(1, 8, 64, 512), job=JobScale(size=51_300))
    assert not verdict(told).covered
    assert "Beyond 100 times, no runs are called enough." in kinds(told)["job far outside"].sentence
    assert verdict(diagnose(sweep(1, 8, 64, 512), job=JobScale(size=51_000))).covered


def test_a_short_span_does_not_reach_far(sweep):
    told = diagnose(sweep(32, 48, 64), job=JobScale(size=1024))
    assert "far for runs that span a factor of 2" in kinds(told)["job far outside"].sentence
    assert not verdict(told).covered
    assert [runs.value for runs in verdict(told).runs] == [128]


def test_one_size_is_not_enough_and_two_cheap_ones_would_settle_it(sweep):
    told = diagnose(sweep(64), job=JobScale(size=256))
    assert not verdict(told).covered
    assert "1 value of width (64); a line through them needs 3" in kinds(told)["few sizes"].sentence
    small = verdict(told).runs
    assert [(runs.value, runs.runs) for runs in small] == [(16, 10), (32, 10)]
    for runs in small:
        assert runs.low < 0.08 / math.sqrt(runs.value) < runs.high
    assert small[0].command.startswith("--sizes 16 --runs 10 --peak 0.00")


def test_runs_without_sizes_cannot_place_a_job(make_run):
    told = diagnose([make_run(f"r{n}", peak=0.01 * (n + 1)) for n in range(12)], job=JobScale(size=256))
    assert not verdict(told).covered
    assert "No usable run states its size" in kinds(told)["missing size"].sentence
    assert [runs.value for runs in verdict(told).runs] == [16, 32, 64]


@pytest.mark.parametrize(("around", "end", "side"), [(10.0, "lowest", "below"), (0.1, "highest", "above")])
def test_a_best_rate_at_the_edge_is_named_and_looked_past(sweep, around, end, side):
    runs = [*sweep(16, 32), *sweep(64, around=around)]
    told = diagnose(runs, job=JobScale(size=128))
    finding = kinds(told)["best rate not bracketed"]
    assert (
        f"At width 64 the best of 10 runs has about the {end} peak lr tried" in finding.sentence
        and side in finding.cure
    )
    (more,) = verdict(told).runs
    best = max((run for run in runs if run.facts.extra["width"] == 64), key=lambda run: run.final_metric).peak_lr
    assert more.value == 64 and (more.high if end == "lowest" else more.low) == pytest.approx(best, rel=0.06)
    assert not verdict(told).covered


def test_a_diverged_run_brackets_from_above(sweep, make_run):
    runs = [*sweep(16, 32), *sweep(64, around=0.1)]
    lost = make_run(
        "lost", peak=0.1, loss=Series([1, 2, 3], [2.0, math.nan, math.nan]), status=Status.DIVERGED, total_steps=500
    )
    lost = lost.replace(facts=Facts(extra={"width": 64}))
    assert verdict(diagnose([*runs, lost], job=JobScale(size=128))).covered


def test_too_few_runs_at_a_size_are_counted_and_filled_up(sweep):
    told = diagnose([*sweep(16, 32), *sweep(64, runs=5)], job=JobScale(size=128))
    assert "At width 64 there are 5 usable runs" in kinds(told)["few runs at a size"].sentence
    assert [(runs.value, runs.runs) for runs in verdict(told).runs] == [(64, 3)]


def test_batch_and_length_are_placed_too(sweep):
    runs = sweep(16, 32, 64, batch_size=32)
    told = diagnose(runs, job=JobScale(size=64, batch=128, steps=500))
    assert not verdict(told).covered
    assert "1 value of batch_size (32)" in kinds(told)["few sizes"].sentence
    assert {runs.dimension for runs in verdict(told).runs} == {"batch"}
    assert "--batches" in verdict(told).runs[0].command


@pytest.mark.parametrize("value", [0, -4, math.nan, math.inf])
def test_a_size_that_cannot_be_is_refused(value):
    with pytest.raises(ValueError, match="size must be a finite number above 0"):
        JobScale(size=value)


def test_several_sizes_one_size_and_sizes_that_are_missing_are_findings(sweep):
    assert "3 sizes (width 16: 10, width 32: 10, width 64: 10)" in (
        kinds(diagnose(sweep(16, 32, 64)))["several sizes"].sentence
    )
    assert "mixed" not in kinds(diagnose(sweep(16, 32, 64)))
    assert "have the same (width 16: 20)" in kinds(diagnose(sweep(16, runs=20)))["one size"].sentence
    bare = [run.replace(name=f"bare-{run.name}", facts=Facts(seed=1)) for run in sweep(16)]
    found = kinds(diagnose([*sweep(16, 32), *bare]))["missing size"]
    assert found.sentence.startswith("10 of 30 runs do not state their size") and str(found.severity) == "warning"


def test_contradictory_facts_name_the_run_the_facts_and_the_cure(sweep):
    odd = sweep(16, runs=20, d_model=32)[0].replace(name="odd")
    found = kinds(diagnose([*sweep(16, runs=20), odd]))["contradictory facts"]
    assert found.run == "odd" and "d_model = 32" in found.sentence and "width = 16" in found.sentence
    assert "--fact width=" in found.cure


def test_a_size_of_zero_is_a_finding(sweep):
    zero = sweep(16)[0].replace(name="zero", facts=Facts(extra={"width": 0}))
    assert "width = 0 is no width" in kinds(diagnose([*sweep(16, 32), zero]))["contradictory facts"].sentence


def test_the_command_says_so_and_its_json_too(sweep, tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    RunStore(tmp_path / "runs").add_many(sweep(32, 64))

    def doctor(*words):
        return CliRunner().invoke(app, ["doctor", str(tmp_path / "runs"), *words])

    shown = doctor("--size", "256").stdout
    assert "The runs do not cover a job of size 256" in shown and "--sizes 16 --runs 10 --peak" in shown
    assert '"covered": false' in doctor("--size", "256", "--json").stdout
    assert '"coverage": null' in doctor("--json").stdout
    RunStore(tmp_path / "runs").add_many(sweep(16))
    assert "The runs cover a job of size 256." in doctor("--size", "256").stdout
    refused = doctor("--size", "0")
    assert refused.exit_code == 2 and "size must be a finite number above 0" in refused.stderr
