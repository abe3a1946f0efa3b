"""Making items: once for the same inputs, anew for others; what is kept with them; what is missing, with its cure."""

import json

import pytest
from typer.testing import CliRunner

from bench_testing.paper_home import SCALE, TASK, played_home
from lodestar.cli import app
from lodestar_bench import paper
from lodestar_bench._errors import BenchError
from lodestar_bench.paper.keep import FILE, kept
from lodestar_bench.paper.produce import Order, find_homes, produce
from lodestar_bench.paper.publish import publish

HOME = f"{TASK}-{SCALE}"


@pytest.fixture(scope="module")
def out(tmp_path_factory):
    """Read only."""
    folder = tmp_path_factory.mktemp("bench")
    played_home(folder)
    return folder


def make(out, folder, *names, **how):
    return produce(paper.items(names), find_homes(out, [TASK], SCALE), Order(folder, "lodestar bench paper", **how))


def test_what_is_there_is_not_made_again_unless_asked(out, tmp_path):
    assert make(out, tmp_path, "table1")[0].seconds > 0
    assert make(out, tmp_path, "table1")[0].seconds == 0
    assert make(out, tmp_path, "table1", again=True)[0].seconds > 0


def test_it_is_made_anew_when_the_home_has_grown(tmp_path):
    played_home(tmp_path, seeds=2)
    make(tmp_path, tmp_path / "to", "table1")
    played_home(tmp_path, seeds=3)
    assert make(tmp_path, tmp_path / "to", "table1")[0].seconds > 0
    made = kept(tmp_path / "to" / "table1" / HOME)
    assert made is not None and set(made["table"]["count"]) == {3}


def test_command_machine_versions_seeds_and_time_are_kept(out, tmp_path):
    make(out, tmp_path, "table1")
    data = json.loads((tmp_path / "table1" / HOME / FILE).read_text())
    record = data["record"]
    assert data["lodestar paper"] == 1 and record["command"] == "lodestar bench paper"
    assert record["seeds"] == list(range(1000, 1006))
    assert record["machine"]["cores"] >= 1 and record["machine"]["numpy"] and record["seconds"] > 0


def test_an_item_cut_off_while_it_was_written_is_made_again(out, tmp_path):
    make(out, tmp_path, "table1")
    (tmp_path / "table1" / HOME / FILE).unlink()
    assert kept(tmp_path / "table1" / HOME) is None
    assert make(out, tmp_path, "table1")[0].seconds > 0


def test_a_missing_home_is_told_with_the_command_that_makes_it(out, tmp_path):
    with pytest.raises(BenchError, match="lodestar bench table1 --task fmnist-cnn --scale smoke --out"):
        find_homes(out, ["fmnist-cnn"], "smoke")
    with pytest.raises(BenchError, match="no bench at scale cpu"):
        find_homes(out, [], "cpu")


def test_what_cannot_be_made_is_told_and_the_rest_goes_on(tmp_path):
    home = played_home(tmp_path)
    for path in home.path.glob("learned/lodestar/*/knowledge"):
        path.unlink()
    found = {one.item: one.trouble for one in make(tmp_path, tmp_path / "to", "map", "table1")}
    assert found["table1"] is None
    assert "lodestar bench table1 --task digits-mlp" in str(found["map"])


def test_unknown_items_are_told_with_what_there_is():
    with pytest.raises(BenchError, match=r"The items are: table1, .* did you mean 'schedules'"):
        paper.items(["schedule"])


def test_all_are_in_the_papers_order():
    titles = [item.title for item in paper.items(["all"])]
    assert titles == sorted(titles) and len(titles) == len(paper.names())


def test_figures_words_and_the_page_are_written(out, tmp_path):
    make(out, tmp_path, "table1")
    files = {path.relative_to(tmp_path).as_posix() for path in publish(paper.items(["table1"]), tmp_path)}
    figures = {f"table1/{name}.png" for name in ("means", "distributions")}
    assert files == {"README.md", "index.html", "table1/README.md", *figures}
    text = (tmp_path / "table1" / "README.md").read_text()
    assert "`lodestar bench paper`" in text and "seeds: 1000 to 1005" in text and "results.csv" in text
    assert "table1/README.md" in (tmp_path / "README.md").read_text()


def test_the_command_lists_makes_and_says_where(out, tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "160")
    run = lambda *words: CliRunner().invoke(app, ["bench", "paper", *words])  # noqa: E731
    assert "latent space" in run().stdout
    made = run("table1", "--scale", SCALE, "--out", str(out), "--to", str(tmp_path), "--json")
    assert made.exit_code == 0, made.output
    assert json.loads(made.stdout)["made"][0]["item"] == "table1"
    assert run("table1", "--scale", "cpu", "--out", str(out)).exit_code == 1


def test_kept_data_are_drawn_without_the_runs(out, tmp_path):
    make(out, tmp_path, "table1")
    run = lambda *words: CliRunner().invoke(app, ["bench", "paper", "all", "--draw-only", *words])  # noqa: E731
    drawn = run("--to", str(tmp_path), "--out", str(tmp_path / "nothing"))
    assert drawn.exit_code == 0, drawn.output
    assert (tmp_path / "index.html").is_file() and (tmp_path / "table1" / "means.png").is_file()
    assert run("--to", str(tmp_path / "nothing")).exit_code == 1
