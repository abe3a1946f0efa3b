"""The study of plans: intervals counted by hand, a table from kept lines."""

import json
from pathlib import Path

from lodestar_bench.studies.plans import FIRST, LINEAR, PLAN, held, table


def line(contestant: str, tests: list[float], **other) -> dict:
    return {"task": "digits-mlp", "runs": 25, "sweep": 1, "contestant": contestant, "tests": tests, **other}


def test_ends_within_the_interval_are_counted():
    made = line(PLAN, [0.5] * 4, forecast=[0.5, 0.4, 0.6], ends=[0.39, 0.4, 0.55, 0.61])
    assert held(made) == 2
    assert held(line(FIRST, [0.5], ends=[0.5])) is None


def test_the_table_sets_the_plan_beside_the_others_of_its_sweep(tmp_path: Path, capsys):
    lines = [
        line(PLAN, [0.5, 0.7, 0.6], forecast=[0.6, 0.5, 0.7], ends=[0.5, 0.7, 0.8]),
        line(FIRST, [0.5, 0.6, 0.5], ends=[0.5, 0.6, 0.5]),
        line(FIRST, [0.1, 0.1, 0.1], ends=[0.1, 0.1, 0.1]) | {"sweep": 2},
        line(LINEAR, [0.4, 0.4, 0.4], ends=[0.4, 0.4, 0.4]) | {"runs": 0, "sweep": 0},
    ]
    out = tmp_path / "plans.jsonl"
    out.write_text("".join(json.dumps(one) + "\n" for one in lines))
    table(out)
    row = capsys.readouterr().out.splitlines()[-1]
    assert row.startswith("digits-mlp | 25 | 1 | 0.5333 +- 0.0577 | 0.6000 +- 0.1000 | +0.0667 (")
    assert row.endswith("| 0.4000 +- 0.0000 | 2 of 3")
