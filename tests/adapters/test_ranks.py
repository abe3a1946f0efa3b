"""Two gloo processes whose losses differ: the same rates on both, also after a resume."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def run_ranks(*arguments: str, ranks: int = 2) -> list[dict]:
    """Run the job on `ranks` processes; what each printed last."""
    shared = os.environ | {"WORLD_SIZE": str(ranks)}
    jobs = [
        subprocess.Popen(
            [sys.executable, "-m", "tests.adapters.ranks_job", *arguments],
            env=shared | {"RANK": str(rank), "OMP_NUM_THREADS": "1"},
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(ranks)
    ]
    outputs = [job.communicate(timeout=600) for job in jobs]
    assert [job.returncode for job in jobs] == [0] * ranks, outputs
    return [json.loads(out.splitlines()[-1]) for out, _ in outputs]


@pytest.fixture(scope="module")
def results(tmp_path_factory) -> list[dict]:
    return run_ranks(str(tmp_path_factory.mktemp("ranks")))


def test_both_ranks_follow_the_same_rates(results):
    one, two = results
    assert one["whole"] == two["whole"]
    assert len(set(one["whole"])) > 30


def test_the_losses_of_the_ranks_differ(results):
    one, two = results
    assert one["losses"] != two["losses"]


def test_rank_0_hears_the_mean_over_the_ranks(results):
    one, two = results
    mean = [0.5 * (a + b) for a, b in zip(one["losses"], two["losses"], strict=True)]
    pairs = [0.5 * (a + b) for a, b in zip(mean[::2], mean[1::2], strict=True)]  # two steps to a point
    assert [value for _, name, value in one["told"] if name == "loss"] == pytest.approx(pairs)
    assert two["told"] == []


def test_a_metric_of_rank_0_alone_is_taken_as_it_is(results):
    heard = [value for _, name, value in results[0]["told"] if name == "metric"]
    assert heard == pytest.approx(results[0]["metrics"][: len(heard)])
    assert len(heard) >= 4


@pytest.mark.parametrize("name", ["resumed at an exchange", "resumed from its own state"])
def test_a_resumed_run_has_the_same_rates_on_both(name, results):
    one, two = results
    assert one[name] == one["whole"]
    assert two[name] == one["whole"]


def test_a_resume_within_a_stretch_keeps_the_ranks_together(results):
    one, two = results
    assert one["resumed within a stretch"] == two["resumed within a stretch"]


def test_with_an_exchange_every_step_any_resume_is_exact(results):
    one, two = results
    assert one["every step"] == two["every step"]
    assert one["every step resumed"] == two["every step resumed"] == one["every step"]


def test_rank_0_alone_decides_and_writes_the_log(results):
    assert [one["decisions"] > 1 for one in results] == [True, False]  # the initial plan is every rank's
    assert [one["log"] > 0 for one in results] == [True, False]


def test_all_ranks_obey_a_command_to_rank_0(results):
    one, two = (result["commanded"] for result in results)
    assert one["rates"] == two["rates"]
    assert len(one["rates"]) == one["total"] == two["total"] == 48
    assert one["decisions"][0] == "scaled"
    assert len(one["decisions"]) == 2
    assert two["decisions"] == []
