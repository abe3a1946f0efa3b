import json

import numpy as np
import pytest

from lodestar.runs import Direction, Run, RunStore, Series
from lodestar_bench.studies.prune_replay import replay, rows_of, work
from lodestar_bench.studies.prune_table import levels, table
from lodestar_bench.studies.pruners import NOBODY, Nobody, stoppers
from lodestar_bench.studies.recorded import Recorded, read

OURS = ("lodestar", "lodestar, no rates")  # their fits take seconds; the product's own tests have them


def recorded(number: int, final: float) -> Recorded:
    """Ten values on a straight line to its end."""
    steps, values = np.arange(10, 101, 10), np.linspace(0, final, 10)
    return Recorded(f"t{number}", steps, 1 - values, values, np.full(10, 0.1), Direction.MAX)


POOL = [recorded(number, final) for number, final in enumerate([0.4, 0.2, 0.6, 0.8, 0.5])]


class After(Nobody):
    """Stops the trial at one place of the order, after its first value."""

    def __init__(self, number: int):
        self.number, self.seen = number, -1

    def begin(self, trial: Recorded) -> None:
        self.seen += 1

    def stops(self, place: int) -> bool:
        return self.seen == self.number


def test_regret_is_counted_in_distances_from_the_middle_to_the_best():
    """A fifth of the whole is one trial: of 0.4, with a middle of 0.5 and a best of 0.8; a half is two."""
    found = replay(POOL, Nobody())
    assert found["regret_0.1"] == pytest.approx(1.0)  # nothing finished: the middle is all one has
    assert found["regret_0.25"] == pytest.approx((0.8 - 0.4) / 0.3)
    assert found["spent"] == 1.0 and found["winner_stopped"] is False


def test_a_stopped_trial_costs_what_it_ran_and_is_not_kept():
    found = replay(POOL, After(3))
    assert found["winner_stopped"] is True
    assert found["spent"] == pytest.approx(4.1 / 5)


@pytest.mark.parametrize("name", ["Median", "SuccessiveHalving", "Hyperband", "Ray ASHA"])
@pytest.mark.filterwarnings("ignore")
def test_the_pruners_of_others_run_as_they_are(name):
    pool = [recorded(number, 0.9 - 0.04 * number) for number in range(20)]
    found = replay(pool, stoppers(Direction.MAX, 10, 0)[name]())
    assert found["spent"] < 1.0 and found["regret_0.5"] == 0.0  # the best comes first, and none of them can lose it


@pytest.mark.filterwarnings("ignore")
def test_rows_are_written_as_they_come_and_not_made_again(tmp_path):
    store = RunStore(tmp_path / "task")
    for trial in POOL:
        curves = Series(trial.steps, trial.loss), Series(trial.steps, trial.metric), Series(trial.steps, trial.lr)
        store.add_many([Run(trial.name, *curves, Direction.MAX)])
    assert sorted(trial.final for trial in read(tmp_path / "task")) == sorted(trial.final for trial in POOL)
    out = tmp_path / "rows.jsonl"
    work([tmp_path / "task"], out, range(1), 5, OURS)
    first = out.read_text()
    cut = "".join(line + "\n" for line in first.splitlines()[:-1]) + '{"task": "half a li'
    out.write_text(cut)
    assert len(rows_of(out)) == len(first.splitlines()) - 1 == 7
    work([tmp_path / "task"], out, range(1), 5, OURS)
    assert [row["pruner"] for row in rows_of(out)] == [json.loads(line)["pruner"] for line in first.splitlines()]
    assert {row["pruner"] for row in table(rows_of(out))} >= {NOBODY, "Median", "Ray ASHA"}


def row(task: str, pruner: str, order: int, regret: float) -> dict:
    """As a replay writes it, with one regret at each budget."""
    figures = {f"regret_{budget}": regret for budget in ("0.1", "0.25", "0.5")}
    rest = dict.fromkeys(("spent", "winner_stopped", "fit_seconds", "judge_seconds"), 0.0)
    return {"task": task, "pool": 100, "order": order, "pruner": pruner} | figures | rest


def test_level_is_a_paired_difference_that_may_be_nought():
    """On one task ours is behind in every order, on the other it is ahead in as many as it is behind."""
    rows = []
    for order in range(20):
        luck = 0.1 * (order % 5)
        rows += [row("behind", "lodestar", order, luck + 0.02), row("behind", "Median", order, luck)]
        rows += [
            row("even", "lodestar", order, 0.1 * (order % 2)),
            row("even", "Median", order, 0.1 * ((order + 1) % 2)),
        ]
        rows += [row(task, NOBODY, order, 1.0) for task in ("behind", "even")]
    found = {each["task"]: each for each in levels(rows, 0.25)}
    assert found["behind"]["best"] == found["even"]["best"] == "Median"
    assert not found["behind"]["level"] and found["behind"]["low"] == pytest.approx(0.02)
    assert found["even"]["level"] and found["even"]["low"] < 0 < found["even"]["high"]
    assert table(rows)[-1] == table(rows)[-1] | {"pruner": NOBODY, "interval_0.25": (1.0, 1.0)}


class Thinks(Nobody):
    """Takes half a second of thought for each trial."""

    fit_seconds = 0.0

    def end(self, *, stopped: bool) -> None:
        self.fit_seconds += 0.5


def test_thought_is_charged_in_trials():
    """Trials of 2 s, a quarter more for each: of half the work, two are seen in place of three of six."""
    found = replay([*POOL, recorded(5, 0.1)], Thinks(), 2.0)
    assert found["regret_0.5"] == pytest.approx((0.8 - 0.6) / (0.8 - 0.45))
    assert found["charged_0.5"] == pytest.approx((0.8 - 0.4) / (0.8 - 0.45))
    assert replay(POOL, Nobody())["charged_0.5"] is None
