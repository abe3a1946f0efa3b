"""Notes: a text for people, a kind for code; both survive the store, and notes of release one are known again."""

import pickle

import pytest

from lodestar.runs import Direction, Note, NoteKind, Run, RunStore, Series, segment
from lodestar.runs.note import note_of_release_one


def run_with(*notes):
    return Run("r", Series([1], [1.0]), Series([1], [0.5]), Series([1], [0.1]), Direction.MAX, notes=notes)


def test_a_note_is_its_text():
    note = Note("3 rows were left out", NoteKind.LEFT_OUT)
    assert note == "3 rows were left out" and note.kind is NoteKind.LEFT_OUT


def test_a_plain_text_on_a_run_is_a_note_of_no_kind():
    assert [note.kind for note in run_with("my own words: rows left out").notes] == [NoteKind.OTHER]


def test_the_kind_survives_a_store(tmp_path):
    store = RunStore(tmp_path / "s")
    store.add(run_with(Note("a", NoteKind.FILLER), "b"))
    for notes in (store.read()[0].notes, store.list()[0].notes):
        assert [(str(note), note.kind) for note in notes] == [("a", NoteKind.FILLER), ("b", NoteKind.OTHER)]


def test_the_kind_survives_a_pickle():
    assert pickle.loads(pickle.dumps(Note("a", NoteKind.SORTED))).kind is NoteKind.SORTED


def test_a_kind_that_a_newer_lodestar_wrote_is_another_one():
    assert Note("a", "gilded").kind is NoteKind.OTHER


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (
            "loss, lr: steps 2-3 logged more than once (the run was resumed); the last value of each was kept",
            "repeated steps",
        ),
        ("metric: 18 NaN were taken as 'not logged there'", "filler"),
        ("1 rows have no step and were left out", "left out"),
        ("planned length '5' was set aside: steps go up to 9", "excluded"),
        ("column 'seed' has several values, the first was kept", "several values"),
        ("steps are epochs", "other"),
    ],
)
def test_notes_of_release_one_are_told_by_their_words(text, kind):
    assert note_of_release_one(text).kind == kind


def test_a_segment_of_release_one_has_no_kinds(monkeypatch):
    written = segment._listed
    monkeypatch.setattr(segment, "_listed", lambda run, when: {**written(run, when), "note_kinds": None})
    data = bytes(segment.encode([run_with("loss: steps 2-3 logged more than once")], {"r": 1}))
    [run] = segment.decode(data, ["r"])
    assert run.notes[0].kind is NoteKind.REPEATED_STEPS
