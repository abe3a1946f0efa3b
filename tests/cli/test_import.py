"""`lodestar import` and `lodestar runs`: what people and machines see, and the exit codes."""

import json
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from lodestar.cli import app
from lodestar.runs import RunStore

TABLE = "run,step,loss,val_acc,lr\na,1,3,.1,.01\na,2,2,.3,.01\n[red]b,1,3,.1,.02\n[red]b,2,2,.2,.02\n"


@pytest.fixture
def lodestar(tmp_path, monkeypatch):
    """Run a command in a folder that holds runs.csv."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    (tmp_path / "runs.csv").write_text(TABLE)
    return lambda *words: CliRunner().invoke(app, [str(word) for word in words])


def test_an_import_shows_its_guess_and_stores_the_runs(lodestar, tmp_path):
    result = lodestar("import", "runs.csv", "--out", "store")
    assert result.exit_code == 0
    assert "val_acc" in result.stdout and "a validation figure" in result.stdout
    assert "Imported 2 runs into store." in result.stdout
    assert [run.name for run in RunStore(tmp_path / "store").read()] == ["[red]b", "a"]


@pytest.mark.parametrize("words", [("table", "runs.csv", "--out", "s"), ("--out", "s", "runs.csv")])
def test_the_kind_may_be_named_and_options_come_first(lodestar, words):
    assert lodestar("import", *words).exit_code == 0


def test_json_is_pure_and_complete(lodestar):
    result = lodestar("import", "runs.csv", "--out", "store", "--json")
    told = json.loads(result.stdout)
    assert told["imported"] == ["a", "[red]b"]
    assert told["guess"]["columns"]["metric"] == "val_acc"
    assert told["store"] == "store"


def test_a_dry_run_writes_nothing(lodestar, tmp_path):
    result = lodestar("import", "runs.csv", "--out", "store", "--dry-run")
    assert result.exit_code == 0
    assert "val_acc" in result.stdout
    assert not (tmp_path / "store").exists()


def test_columns_and_direction_can_be_overridden(lodestar):
    words = ("--metric", "loss", "--loss", "val_acc", "--direction", "max", "--lr", "none", "--task", "digits")
    told = json.loads(lodestar("import", "runs.csv", "--out", "s", "--json", *words).stdout)
    assert told["guess"]["columns"]["loss"] == "val_acc"
    assert told["guess"]["columns"]["lr"] is None
    assert RunStore("s").read()[0].facts.task == "digits"


def test_runs_left_out_are_listed_with_the_reason(lodestar, tmp_path):
    (tmp_path / "bad.csv").write_text("run,step,loss,val_acc,lr\n[bold]x,1,2,.1,-1\na,1,2,.1,.1\n")
    result = lodestar("import", "bad.csv", "--out", "s")
    assert result.exit_code == 0
    assert "Left out: [bold]x" in result.stdout


def test_nothing_imported_is_exit_code_one(lodestar, tmp_path):
    (tmp_path / "bad.csv").write_text("step,loss,val_acc,lr\n1,2,.1,-1\n")
    result = lodestar("import", "bad.csv", "--out", "s")
    assert result.exit_code == 1
    assert "no run was imported" in result.stderr


def test_an_error_is_one_sentence_without_a_traceback(lodestar):
    result = lodestar("import", "none.csv", "--out", "s")
    assert result.exit_code == 1
    assert result.stderr == "Error: there is no file none.csv. Fix: check the path\n"
    assert result.stdout == ""


def test_wrong_usage_is_exit_code_two(lodestar):
    assert lodestar("import", "runs.csv").exit_code == 2
    assert lodestar("import", "runs.csv", "--out", "s", "--direction", "up").exit_code == 2
    assert lodestar("import", "runs.csv", "--out", "s", "--layout", "odd").exit_code == 2
    assert lodestar("nonsense").exit_code == 2


def test_a_listing_shows_names_as_they_are(lodestar):
    lodestar("import", "runs.csv", "--out", "s")
    result = lodestar("runs", "s")
    assert "[red]b" in result.stdout
    assert "2 runs" in result.stdout


def test_control_characters_in_a_name_do_not_reach_the_terminal(lodestar, tmp_path):
    (tmp_path / "odd.csv").write_text("run,step,loss,val_acc,lr\nx\x1b[2Jy,1,2,.1,.1\n")
    lodestar("import", "odd.csv", "--out", "s")
    assert "\x1b" not in lodestar("runs", "s").stdout


def test_a_listing_as_json(lodestar):
    lodestar("import", "runs.csv", "--out", "s", "--lr", "none")
    told = json.loads(lodestar("runs", "s", "--json").stdout)
    assert [run["name"] for run in told["runs"]] == ["[red]b", "a"]
    assert told["runs"][1]["final_metric"] == 0.3
    assert told["runs"][1]["peak_lr"] is None


def test_runs_can_be_removed_and_the_store_merged(lodestar):
    lodestar("import", "runs.csv", "--out", "s")
    result = lodestar("runs", "s", "--remove", "a", "--compact", "--json")
    assert [run["name"] for run in json.loads(result.stdout)["runs"]] == ["[red]b"]
    assert lodestar("runs", "s", "--remove", "a").exit_code == 1


def test_a_damaged_store_says_so_and_can_be_listed_in_part(lodestar, tmp_path):
    lodestar("import", "runs.csv", "--out", "s")
    (tmp_path / "other.csv").write_text("step,loss,val_acc,lr\n1,2,.1,.1\n")
    lodestar("import", "other.csv", "--out", "s")
    first = min((tmp_path / "s").glob("runs-*"))
    first.write_bytes(first.read_bytes()[:50])
    result = lodestar("runs", "s")
    assert result.exit_code == 1 and first.name in result.stderr.replace("\n", "")
    result = lodestar("runs", "s", "--skip-damaged", "--json")
    assert [run["name"] for run in json.loads(result.stdout)["runs"]] == ["other"]
    assert "damaged" in result.stderr


def test_help_needs_neither_arrow_nor_jax():
    code = (
        "import sys\nfrom lodestar.cli import app\n"
        "try:\n    app(['import', 'table', '--help'])\nexcept SystemExit:\n    pass\n"
        "print([m for m in ('jax', 'pyarrow', 'torch', 'scipy', 'matplotlib') if m in sys.modules])"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.endswith("[]\n")


SIZED = "run,step,loss,val_acc,lr,units,batch_size\n" + "".join(
    f"{run},{step},{3 - step},.{step},.01,{units},{batch}\n"
    for run, units, batch in (("a", 16, 8), ("b", 64, 8), ("c", 32, 8))
    for step in (1, 2)
)


def test_an_import_shows_what_it_took_for_the_scale_and_a_flag_overrides_it(lodestar, tmp_path):
    (tmp_path / "sized.csv").write_text(SIZED)
    result = lodestar("import", "sized.csv", "--out", "s")
    assert "Scale: batch: batch_size (8)." in result.stdout
    result = lodestar("import", "sized.csv", "--out", "s", "--fact", "width=units", "--fact", "batch_size=none")
    assert "Scale: size: units (16, 32, 64)." in result.stdout
    listing = lodestar("runs", "s").stdout
    assert "width" in listing and "batch" not in listing and " 64 " in listing
    told = json.loads(lodestar("import", "sized.csv", "--out", "s", "--json", "--fact", "width=units").stdout)
    assert told["scale"]["facts"]["width"]["values"] == [16.0, 32.0, 64.0]


def test_runs_of_one_size_have_no_column_for_it(lodestar):
    lodestar("import", "runs.csv", "--out", "s")
    assert "size" not in lodestar("runs", "s").stdout


@pytest.mark.parametrize(("said", "why"), [("width", "NAME=KEY"), ("widht=units", "NAME one of"), ("width=", "NAME=")])
def test_a_fact_that_is_none_is_wrong_usage(lodestar, said, why):
    result = lodestar("import", "runs.csv", "--out", "s", "--fact", said)
    assert result.exit_code == 2 and why in " ".join(result.stderr.replace("│", " ").split())
