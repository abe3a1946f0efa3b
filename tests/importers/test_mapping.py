"""The mapping: guessed over all runs, shown with reasons, overridable; a file of choices; errors that list what is."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.importers.shelf import Shelf, curves

from lodestar._errors import TrackerError
from lodestar.importers import Choices, RunImport, import_runs
from lodestar.importers.mapping_file import read_mapping
from lodestar.importers.plan import plan
from lodestar.runs import Direction, RunStore


def mapped(*runs, choices=None, **options):
    shelf = Shelf(**options)
    for number, quantities in enumerate(runs):
        shelf.put(str(number), {name: {1: 1.0} for name in quantities.split()})
    return RunImport(shelf, choices)


def test_the_first_parameter_group_is_taken_and_said():
    found = mapped("train_loss val_acc lr-AdamW/pg10 lr-AdamW/pg2 lr-AdamW/pg1").mapped
    assert found.guess["lr"] == "lr-AdamW/pg1"
    assert "first of 3 groups" in found.guess.reasons["lr"]


def test_another_group_can_be_named():
    found = mapped("loss val_acc lr/group0 lr/group1", choices=Choices(lr="lr/group1")).mapped
    assert (found.guess["lr"], found.guess.reasons["lr"]) == ("lr/group1", "as you said")


def test_what_most_runs_logged_wins_over_a_better_name_in_one():
    found = mapped(*["loss val_err"] * 5, "loss val_err val_acc").mapped
    assert found.guess["metric"] == "val_err"


def test_what_few_logged_stands_in_where_nothing_else_fits():
    assert mapped(*["loss"] * 5, "loss val_acc").mapped.guess["metric"] == "val_acc"


def test_a_run_with_its_own_name_for_the_loss_is_taken_with_a_note():
    found = mapped(*["train_loss val_acc lr"] * 3, "objective val/acc optim/lr")
    planned = plan(found.runs[3], found.mapped)
    assert planned.quantities == {"loss": "objective", "metric": "val/acc", "lr": "optim/lr"}
    assert "its loss is 'objective' (other runs have 'train_loss')" in planned.notes


def test_a_metric_is_never_swapped_for_another():
    found = mapped(*["loss val_acc"] * 3, "loss val_f1")
    assert "metric" not in plan(found.runs[3], found.mapped).quantities


def test_no_loss_anywhere_lists_what_there_is():
    with pytest.raises(TrackerError, match=r"reads like the training loss. They logged: 'val_acc' \(2 runs\)"):
        mapped("val_acc", "val_acc")


def test_no_metric_anywhere_says_how_to_do_without():
    with pytest.raises(TrackerError, match="--metric none"):
        mapped("loss")
    assert mapped("loss", choices=Choices(metric="none")).mapped.guess["metric"] is None


def test_an_unknown_step_says_what_may_be_named():
    with pytest.raises(TrackerError, match=r"logged 'stp' \(--step\).*'step' for the tracker's own"):
        mapped("loss val_acc", choices=Choices(step="stp"))


def test_a_logged_quantity_is_no_fact_whatever_its_name():
    found = mapped("loss val_acc lr lr0 seed").mapped.guess
    assert (found["peak_lr"], found["seed"], found["lr"]) == (None, None, "lr")


def test_an_unknown_key_of_the_config_lists_those_there_are():
    shelf = Shelf()
    shelf.put("a", curves(), config={"max_steps": 100})
    with pytest.raises(TrackerError, match=r"no run in the shelf has 'max_step'.*Did you mean 'max_steps'\?"):
        RunImport(shelf, Choices(total="max_step"))


def test_a_name_that_does_not_tell_the_direction_asks_for_it():
    with pytest.raises(TrackerError, match="--direction max"):
        mapped("loss flux", choices=Choices(metric="flux"))


def test_a_clock_that_counts_calls_gives_way_to_a_logged_step():
    class Calls(Shelf):
        clock_counts_calls = True

    shelf = Calls(clock="_step")
    shelf.put("a", {**curves(), "trainer/global_step": {1: 50.0}})
    found = RunImport(shelf).mapped
    assert found.step == "trainer/global_step"
    assert "--step _step" in found.guess.reasons["step"]
    assert RunImport(shelf, Choices(step="_step")).mapped.step is None


def test_the_trackers_own_knowledge_comes_before_the_guess_and_after_the_user():
    shelf = Shelf()
    shelf.roles = {"metric": "value", "direction": "max"}
    shelf.put("a", {**curves(), "value": {1: 1.0}})
    found = RunImport(shelf).mapped.guess
    assert (found["metric"], found.direction) == ("value", Direction.MAX)
    stated = RunImport(shelf, Choices(metric="loss", loss="loss")).mapped.guess
    assert (stated["metric"], stated.direction) == ("loss", Direction.MIN)


def test_the_task_may_come_from_the_config(tmp_path):
    shelf = Shelf()
    shelf.put("a", curves(), group="exp-1", config={"dataset": "digits"})
    store = RunStore(tmp_path / "s")
    for choices, expected in ((Choices(task="dataset"), "digits"), (Choices(task="mine"), "mine"), (None, "exp-1")):
        import_runs(shelf, store, choices)
        assert store.read()[0].facts.task == expected


@given(
    st.permutations(["loss", "val_acc", "lr", "train_acc", "grad_norm", "epoch", "val_loss"]),
    st.lists(st.sampled_from(["foo", "time/step", "system/cpu", "test_bar"]), unique=True),
)
def test_the_order_of_names_and_strangers_among_them_change_nothing(names, strangers):
    found = mapped(" ".join([*strangers, *names])).mapped.guess
    assert (found["loss"], found["metric"], found["lr"]) == ("loss", "val_acc", "lr")


def test_a_file_states_the_mapping_and_flags_come_first(tmp_path):
    file = tmp_path / "mapping.toml"
    file.write_text('loss = "a"\nmetric = "b"\ndirection = "min"\ntotal = 500\nrebuild_lr = false\n')
    stated = Choices(metric="c").over(read_mapping(file))
    assert stated == Choices(loss="a", metric="c", direction="min", total="500", rebuild_lr=False)


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ('loss = "a"\nmetirc = "b"\n', "line 2: 'metirc' is no key of a mapping. Fix: use loss, metric"),
        ("\n\nloss = 3\n", "line 3: loss must be a text, got 3"),
        ('direction = "up"\n', 'line 1: direction must be "max" or "min"'),
        ('rebuild_lr = "no"\n', "rebuild_lr must be true or false"),
        ("loss = \n", r"is not TOML: .*line 1"),
        ('[roles]\nloss = "a"\n', "line 1: 'roles' is no key"),
    ],
)
def test_a_bad_file_names_the_line(tmp_path, text, error):
    file = tmp_path / "mapping.toml"
    file.write_text(text)
    with pytest.raises(TrackerError, match=error):
        read_mapping(file)


def test_a_missing_file_says_so(tmp_path):
    with pytest.raises(TrackerError, match="there is no mapping file"):
        read_mapping(tmp_path / "none.toml")
