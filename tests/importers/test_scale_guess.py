"""Which settings of imported runs tell their scale: guessed, shown, and as the user says."""

import pytest
from tests.importers.shelf import Shelf, curves

from lodestar._errors import TrackerError
from lodestar.importers import Choices, import_runs
from lodestar.importers.mapping_file import read_mapping
from lodestar.runs import RunStore
from lodestar.runs.scale import contradictions, scale_of


@pytest.fixture
def shelf():
    shelf = Shelf()
    for number, width in enumerate((64, 16, 32)):
        shelf.put(f"r{number}", curves(), config={"hidden_size": width, "image_width": 8 * width, "batch_size": "64"})
    return shelf


@pytest.fixture
def store(tmp_path):
    return RunStore(tmp_path / "store")


def test_the_guess_is_one_line(shelf, store):
    assert import_runs(shelf, store).scale.line == "size: hidden_size (16, 32, 64), batch: batch_size (64)"
    assert {scale_of(run).width for run in store.read()} == {16, 32, 64}


def test_a_fact_that_some_runs_lack_says_how_many_have_it(shelf, store):
    shelf.put("bare", curves())
    assert "hidden_size (16, 32, 64; 3 of 4 runs)" in import_runs(shelf, store).scale.line


def test_the_user_names_another_key_and_says_that_there_is_none(shelf, store):
    import_runs(shelf, store)
    said = Choices(facts={"width": "image_width", "batch_size": "none"})
    report = import_runs(shelf, store, said)
    assert report.replaced == ["r0", "r1", "r2"]  # what was stored before is read anew
    assert report.scale.line == "size: image_width (128, 256, 512)"
    assert {scale_of(run).width for run in store.read()} == {128, 256, 512}
    assert {scale_of(run).batch_size for run in store.read()} == {None}


def test_a_number_holds_for_all_runs(shelf, store):
    import_runs(shelf, store, Choices(facts={"batch_size": "128"}))
    assert {scale_of(run).batch_size for run in store.read()} == {128}


def test_a_key_that_no_run_has_is_an_error_with_the_nearest(shelf, store):
    with pytest.raises(TrackerError, match=r"'hiddensize'.*Did you mean 'hidden_size'"):
        import_runs(shelf, store, Choices(facts={"width": "hiddensize"}))
    with pytest.raises(ValueError, match="'widht' is no fact"):
        Choices(facts={"widht": "hidden_size"})


def test_what_contradicts_itself_is_said_until_the_user_settles_it(shelf, store):
    shelf.put("odd", curves(), config={"hidden_size": 16, "d_model": 32, "batch_size": 64})
    report = import_runs(shelf, store)
    (sentence,) = report.scale.unclear
    assert "d_model = 32 and hidden_size = 16" in sentence and report.scale.unclear[sentence] == 1
    assert contradictions(store.read(["odd"])[0]) == [sentence]
    assert not import_runs(shelf, store, Choices(facts={"width": "hidden_size"})).scale.unclear
    assert scale_of(store.read(["odd"])[0]).width == 16


def test_a_mapping_file_may_say_so_too_and_flags_come_first(tmp_path):
    file = tmp_path / "mapping.toml"
    file.write_text('facts = {width = "dim", batch_size = 64}\n')
    assert read_mapping(file).facts == {"width": "dim", "batch_size": "64"}
    assert Choices(facts={"width": "other"}).over(read_mapping(file)).facts == {"width": "other", "batch_size": "64"}
    file.write_text('[facts]\nwidht = "dim"\n')
    with pytest.raises(TrackerError, match="line 1: 'widht' is no fact"):
        read_mapping(file)
