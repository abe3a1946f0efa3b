"""Logs that something has damaged: `explain` and `report` skip, count and go on; a traceback is never shown.

LODESTAR_FUZZ=1000 mutates that many logs; the default is a few.
"""

import copy
import json
import os
import random
from pathlib import Path

import pytest
from tests.scheduler.live import train
from typer.testing import CliRunner

from lodestar.cli import app
from lodestar.report.html import Section
from lodestar.report.html.page import page
from lodestar.report.sections import read_steered
from lodestar.report.sections.steered_runs import steered_blocks
from lodestar.scheduler import Scheduler, read_log
from lodestar.testing import random_forecaster

COUNT = int(os.environ.get("LODESTAR_FUZZ", "25"))
RELEASE_ONE = Path(__file__).parents[1] / "release_one" / "files" / "decisions.jsonl"
DEEP = [[]]
for _ in range(100):
    DEEP = [DEEP]
BAD: list[object] = [
    *(None, True, -1, 0, 3.5, 1e308, -1e308, float("nan"), float("inf"), 10**400, 2**62),
    *("", "x", "[/bold]", "[red]", "\x1b[31m", "\ud800", "\u202e", "kept", "<script>", [], {}, [1], [[1]], [[1, 2, 3]]),
    *([[-1, 0.1]], [[1, "a"]], {"a": {}}, {"name": 3, "facts": 3}, {"name": "[/]", "facts": {"a": [1]}}, DEEP),
]


@pytest.fixture(scope="module")
def logs(tmp_path_factory):
    """Two sound logs: one of release one, one of today."""
    path = tmp_path_factory.mktemp("log") / "run.jsonl"
    one = Scheduler(random_forecaster(seed=5, points=40), 400, log=path, tolerance=20.0, facts={"model": "mlp"})
    one.observe(401, loss=1.0)
    train(one, 1, 400)
    return [path.read_bytes(), RELEASE_ONE.read_bytes()]


def explain(path):
    """Both ways of `lodestar explain`; whatever is wrong, one sentence or an answer."""
    made = [CliRunner().invoke(app, ["explain", str(path), *more]) for more in ([], ["--json"])]
    for result in made:
        assert result.exit_code in (0, 1), (result.output, result.exception)
        assert result.exception is None or isinstance(result.exception, SystemExit), repr(result.exception)
    assert made[0].exit_code == made[1].exit_code
    if made[0].exit_code == 0:
        json.loads(made[1].stdout)
    return made[0]


def report_page(path):
    """The section of the report that is about one log, drawn."""
    return page("x", [Section("Steered runs", steered_blocks(read_steered([path]), None))])


def changed_value(rng, line):
    """One value somewhere in a line, replaced, renamed or dropped."""
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return line
    if not isinstance(record, dict | list) or not record:
        return line
    at, depth = record, rng.choice((0, 0, 1, 2, 3))
    for _ in range(depth):
        inner = [
            value for value in (at.values() if isinstance(at, dict) else at) if value and type(value) in (dict, list)
        ]
        at = rng.choice(inner) if inner else at
    key = rng.choice(list(at)) if isinstance(at, dict) else rng.randrange(len(at))
    if rng.random() < 0.2:
        del at[key]
    else:
        at[key] = copy.deepcopy(rng.choice(BAD))
    return json.dumps(record).encode()


def mutated(rng, data):
    """A log with one to four things wrong with it."""
    lines = data.split(b"\n")
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(lines))
        kind = rng.choice(("value",) * 6 + ("cut", "drop", "twice", "swap", "noise", "insert", "header"))
        if kind == "value":
            lines[at] = changed_value(rng, lines[at])
        elif kind == "cut":
            lines[at] = lines[at][: rng.randrange(len(lines[at]) + 1)]
        elif kind == "drop" and len(lines) > 1:
            del lines[at]
        elif kind == "twice":
            lines.insert(rng.randrange(len(lines)), lines[at])
        elif kind == "swap":
            rng.shuffle(lines)
        elif kind == "noise" and lines[at]:
            line = bytearray(lines[at])
            for _ in range(rng.randint(1, 5)):
                line[rng.randrange(len(line))] = rng.randrange(256)
            lines[at] = bytes(line)
        elif kind == "insert":
            lines.insert(at, rng.choice([b"\x00" * 50, b"[" * 100_000, b'{"kind": 3}', b"null", b"\xff\xfe{}", b"{}"]))
        elif kind == "header":
            lines = [line for line in lines if b'"start"' not in line] or [b""]
    return b"\n".join(lines)


@pytest.mark.parametrize("part", range(5))
def test_no_mutated_log_is_a_traceback(logs, tmp_path, part):
    path = tmp_path / "run.jsonl"
    for seed in range(part, COUNT, 5):
        path.write_bytes(mutated(random.Random(seed), logs[seed % 2]))
        if explain(path).exit_code == 0 and read_log(path).decisions:
            assert "Steered runs" in report_page(path), seed
