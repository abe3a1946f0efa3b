"""Published results: what a report left counts as made, in full or in part; results of another task are refused."""

import dataclasses
import json
import math

import pytest

from bench_testing.paper_home import PLAN, SCALE, TASK, played_home
from bench_testing.played import GRID
from lodestar.runs import Direction, Status
from lodestar_bench import published
from lodestar_bench._errors import BenchError
from lodestar_bench.entrant import Entrant
from lodestar_bench.home import BenchFacts, Home
from lodestar_bench.paper import sharpness
from lodestar_bench.paper.context import ItemContext
from lodestar_bench.report import write_report
from lodestar_bench.report.story import story
from lodestar_bench.results import Record
from lodestar_bench.table import table

FIXED = {"total_steps": 200}
MINE = Entrant("mine", "mine", "Mine", "modern", "nothing", GRID)


@pytest.fixture(scope="module")
def shelf(tmp_path_factory):
    """A report, as anyone may get it. Read only."""
    folder = tmp_path_factory.mktemp("made")
    home = played_home(folder)
    told = json.loads((home.path / "bench.json").read_text())
    (home.path / "bench.json").write_text(json.dumps({**told, "fixed": FIXED}))
    write_report(home, folder / "results" / home.path.name)
    return folder / "results"


def fresh(path, plan=PLAN, *, task=TASK, fixed=FIXED) -> tuple[Home, BenchFacts]:
    """A home in which nothing was made."""
    home = Home(path / f"{TASK}-{SCALE}")
    return home, home.remember(BenchFacts(task, "a made-up task", SCALE, "accuracy", Direction.MAX, fixed, plan))


def test_a_table_is_the_same_and_nothing_is_due(shelf, tmp_path):
    home, facts = fresh(tmp_path)
    home.take_over(shelf, facts)
    results = home.results(facts)
    assert facts.plan.due(results) == []
    there = Home(shelf.parent / home.path.name)
    wanted = table(PLAN, there.results(there.facts()))
    found = table(PLAN, results)
    for ours, theirs in zip(found.rows, wanted.rows, strict=True):
        assert (ours.entrant.name, ours.setting, ours.set_to) == (theirs.entrant.name, theirs.setting, theirs.set_to)
        assert ours.finals.mean == pytest.approx(theirs.finals.mean) and ours.cost == theirs.cost


def test_a_new_method_costs_its_own_runs_only(shelf, tmp_path):
    home, facts = fresh(tmp_path, dataclasses.replace(PLAN, entrants=(*PLAN.entrants, MINE)))
    home.take_over(shelf, facts)
    due = facts.plan.due(home.results(facts))
    assert {piece.entrant.name for piece in due} == {"mine"} and len(due) == PLAN.budget


def test_further_seeds_are_made_and_whoever_learned_learns_again(shelf, tmp_path):
    home, facts = fresh(tmp_path, dataclasses.replace(PLAN, seeds=PLAN.seeds + 1))
    home.take_over(shelf, facts)
    due = facts.plan.due(home.results(facts))
    assert {piece.entrant.name for piece in due if piece.stage == "learn"} == {"rl-xu", "lodestar"}
    finals = [piece for piece in due if piece.stage == "final"]
    assert {piece.seed for piece in finals} == {PLAN.first_seed + PLAN.seeds}
    assert not [piece for piece in due if piece.stage == "tune"]
    row = story(home).table.row("rl-xu")  # what is known of it is told all the same
    assert row.finals.count == PLAN.seeds and not row.complete


def test_what_was_made_here_comes_before_what_was_published(tmp_path):
    home = played_home(tmp_path)
    own = next(one.name for one in home.runs.list() if one.name.startswith("final/cosine/"))
    other = "final/other/1/1000"
    told = [Record(name, Status.FINISHED, test=0.1, validation=0.1) for name in (own, other)]
    home.published.mkdir()
    for file, data in published.files(published.About(TASK, SCALE, {}), told).items():
        (home.published / file).write_bytes(data)
    records = home.results(home.facts()).records
    assert records[own].test > 0.5 and records[other].test == 0.1


def test_the_report_says_what_was_taken_over_and_draws_plain_shapes(shelf, tmp_path):
    home, facts = fresh(tmp_path)
    home.take_over(shelf, facts)
    found = story(home)
    assert len(found.taken_over) == len(home.results(facts).records)
    rates = [one for one in found.rates if one.method == "onecycle"]
    assert len(rates) == 5 and len(rates[0].rates) == FIXED["total_steps"]
    _, files = write_report(home, tmp_path / "again")
    text = (tmp_path / "again" / "README.md").read_text()
    assert f"{len(found.taken_over)} of the runs and learnings were taken over" in text
    assert {published.ABOUT, published.RECORDS} <= {path.name for path in files}


def test_runs_that_need_what_was_learned_elsewhere_are_not_made_again(shelf, tmp_path):
    home, facts = fresh(tmp_path)
    home.take_over(shelf, facts)
    names = {piece.entrant.name for piece in sharpness._pieces(ItemContext(home, TASK, tmp_path / "scratch"))}
    assert names == {entrant.name for entrant in PLAN.entrants} - {"rl-xu", "lodestar"}


def test_records_come_back_as_they_were(tmp_path):
    records = [
        Record("tune/cosine/0.1/0", Status.DIVERGED, seconds=3.25),
        Record("final/cosine/0.1/1000", Status.FINISHED, 0.5, 0.25, 0.125, 0.1, 2.0, 3.0, 2.0, 0.5, 0.25),
    ]
    files = published.files(published.About("t", "cpu", {}), records)
    (tmp_path / published.RECORDS).write_bytes(files[published.RECORDS])
    found = published.read_records(tmp_path)
    assert list(found) == [one.name for one in records]
    for one in records:
        for field in dataclasses.fields(Record):
            ours, theirs = getattr(found[one.name], field.name), getattr(one, field.name)
            assert ours == theirs or (math.isnan(ours) and math.isnan(theirs))


@pytest.mark.parametrize(
    ("how", "sentence"),
    [
        ({"task": "other"}, r"are of task 'digits-mlp', not 'other'"),
        ({"fixed": {"total_steps": 300}}, r"another digits-mlp: total_steps was 200, now it is 300.*leave out --publ"),
    ],
)
def test_results_of_another_task_are_refused(shelf, tmp_path, how, sentence):
    home, facts = fresh(tmp_path, **how)
    with pytest.raises(BenchError, match=sentence):
        home.take_over(shelf, facts)
    assert not home.published.exists()


def test_what_is_not_there_or_damaged_is_named(shelf, tmp_path):
    home, facts = fresh(tmp_path)
    with pytest.raises(BenchError, match=r"no published results of digits-mlp-smoke in .*Fix: name the folder"):
        home.take_over(tmp_path, facts)
    bad = tmp_path / "bad"
    bad.mkdir()
    for file in (published.ABOUT, published.RECORDS):
        (bad / file).write_bytes((shelf / home.path.name / file).read_bytes())
    lines = (bad / published.RECORDS).read_text().splitlines()
    lines[3] = lines[3].replace("finished", "done")
    (bad / published.RECORDS).write_text("\n".join(lines))
    with pytest.raises(BenchError, match=r"records.csv, line 4: 'done' is not a valid Status"):
        home.take_over(bad, facts)
    assert not home.published.exists()
    lines[0] = lines[0].replace("validation", "valid")
    (bad / published.RECORDS).write_text("\n".join(lines))
    with pytest.raises(BenchError, match="first line must name validation too"):
        home.take_over(bad, facts)
    (bad / published.ABOUT).write_text('{"lodestar published": 99}')
    with pytest.raises(BenchError, match=r"format 99, this version knows 1. Fix: upgrade"):
        home.take_over(bad, facts)
