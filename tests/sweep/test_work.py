"""One trial in this process: functions and shell commands, good and bad."""

import math
from pathlib import Path

import pytest
from tests.sweep.jobs import named

from lodestar._errors import SweepError
from lodestar.runs import Status
from lodestar.schedules import cosine
from lodestar.sweep import Job, Trial
from lodestar.sweep.events import FailureKind, TrialFailed
from lodestar.sweep.executors.work import carry_out, check


def trial(**settings):
    return Trial("t", 2, 30, cosine(0.1, 30), settings)


def test_a_function_makes_a_run():
    run = carry_out(Job(named("good")), trial())
    assert run.status is Status.FINISHED
    assert run.metric.steps.tolist() == [5, 10, 15, 20, 25, 30]
    assert run.facts.extra["seen"] == 0.1


@pytest.mark.parametrize(
    ("what", "told", "detail"),
    [
        ("raise", "it raised RuntimeError: the data are gone", "the data are gone"),
        ("exit", r"it called sys\.exit\(3\)", "SystemExit"),
        ("never report", "without reporting a loss. Fix: call report", ""),
    ],
)
def test_a_failure_says_why_and_shows_the_users_part_of_the_traceback(what, told, detail):
    with pytest.raises(TrialFailed, match=told) as caught:
        carry_out(Job(named("odd")), trial(what=what))
    assert detail in caught.value.detail
    assert "work.py" not in caught.value.detail


def test_a_wrong_report_shows_the_users_own_line_last(tmp_path):
    path = tmp_path / "job.py"
    path.write_text("def train(*, report):\n    report(1, loss='low')\n")
    with pytest.raises(TrialFailed, match="loss must be a number") as caught:
        carry_out(Job(f"{path}:train"), Trial("t", 0, 10))
    last = caught.value.detail.splitlines()[-3:]
    assert "job.py" in last[0] and "report(1, loss='low')" in last[1] and last[2].startswith("ValueError")
    assert caught.value.kind is FailureKind.RAISED


def test_what_a_function_returns_is_kept_if_plain_and_noted_if_not():
    assert math.isnan(float(carry_out(Job(named("odd")), trial(what="go")).facts.extra["nan"]))
    run = carry_out(Job(named("odd")), trial(what="return"))
    assert "no mapping of names to plain values" in run.notes[0]


def test_a_diverged_trial_is_a_run():
    run = carry_out(Job(named("odd")), trial(what="diverge"))
    assert run.status is Status.DIVERGED and run.last_step == 8


def test_a_job_that_stops_itself_at_a_nan_diverged_too(tmp_path):
    path = tmp_path / "job.py"
    path.write_text("def train(*, report):\n    report(1, loss=float('nan'))\n    raise ValueError('loss is NaN')\n")
    run = carry_out(Job(f"{path}:train"), Trial("t", 0, 10))
    assert run.status is Status.DIVERGED
    assert "it raised ValueError" in run.notes[0]


def test_a_job_names_one_function_or_one_command():
    for job in (Job(), Job("a:b", "c")):
        with pytest.raises(SweepError, match="one of them"):
            check(job)


SCRIPT = """
for i in 1 2 3; do echo '{"step": '$i', "loss": 0.'$i', "metric": null}' >> {report}; done
echo '{"facts": {"seed": '{seed}', "steps": '{total_steps}', "same": "'$LODESTAR_SEED'"}}' >> $LODESTAR_REPORT
"""


def test_a_command_reports_through_a_file():
    run = carry_out(Job(command=SCRIPT), Trial("t", 5, 3, cosine(0.1, 3)))
    assert run.loss.values.tolist() == [0.1, 0.2, 0.3]
    assert run.lr.values.tolist() == cosine(0.1, 3).rates.tolist()
    assert run.facts.extra["same"] == "5" and run.facts.extra["steps"] == 3


def test_a_command_reads_its_rates_from_json_or_csv():
    line = """python3 -c 'import json, sys, csv
rates = json.load(open(sys.argv[1]))["rates"]
rows = list(csv.DictReader(open(sys.argv[2])))
out = open(sys.argv[3], "a")
for row, rate in zip(rows, rates):
    assert float(row["lr"]) == rate
    print(json.dumps({"step": int(row["step"]), "loss": rate}), file=out)
' {schedule} {schedule_csv} {report}"""
    run = carry_out(Job(command=line), Trial("t", 5, 4, cosine(0.1, 4)))
    assert run.loss.values.tolist() == cosine(0.1, 4).rates.tolist()


def test_a_command_that_fails_says_how():
    with pytest.raises(TrialFailed, match="exit code 3"):
        carry_out(Job(command="exit 3"), trial())
    with pytest.raises(TrialFailed, match="command not found"):
        carry_out(Job(command="lodestar-no-such-command 2>/dev/null"), trial())
    with pytest.raises(TrialFailed, match="append lines such as"):
        carry_out(Job(command="true"), trial())


def test_a_diverged_command_is_killed_with_its_children():
    line = "for i in 1 2 3; do echo '{\"step\": '$i', \"loss\": NaN}' >> {report}; done; sleep 3600 & wait"
    run = carry_out(Job(command=line), trial())
    assert run.status is Status.DIVERGED


def test_a_bad_line_is_passed_over_with_a_note():
    line = "echo 'epoch 1' >> {report}; echo '{\"step\": 30, \"loss\": 1}' >> {report}; printf '{\"step\"' >> {report}"
    run = carry_out(Job(command=line), trial())
    assert len(run.loss) == 1
    assert "line 1 of the report file was passed over" in run.notes[0]


def test_the_example_learns():
    torch = pytest.importorskip("torch")
    torch.set_num_threads(1)  # as in a worker
    example = Path(__file__).parents[2] / "examples" / "sweep_job.py"
    run = carry_out(Job(f"{example}:train"), Trial("t", 1, 120, cosine(0.02, 120)))
    assert run.status is Status.FINISHED
    assert run.final_metric > 0.8
    assert float(run.facts.extra["test_accuracy"]) > 0.7
