"""Optuna: the contract on an SQLite study and on a journal, made by Optuna; and what is Optuna's own."""

import logging
import warnings

import pytest

from lodestar._errors import TrackerError
from lodestar.importers import Choices, import_runs
from lodestar.importers.readers.optuna import OptunaReader
from lodestar.runs import Direction, RunStore, Status
from lodestar.testing import ReaderContract

optuna = pytest.importorskip("optuna")
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")


@pytest.fixture(autouse=True)
def quiet():
    optuna.logging.set_verbosity(logging.WARNING)


def study_at(storage, name="digits", direction="maximize"):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return optuna.create_study(study_name=name, storage=storage, direction=direction, load_if_exists=True)


def journal(path):
    return optuna.storages.JournalStorage(optuna.storages.journal.JournalFileBackend(str(path)))


def add(study, *, reported=None, params=None, state="COMPLETE", attributes=None, **more):
    """A trial as a finished job leaves it."""
    done = {"value": 1.0} if state == "COMPLETE" else {}
    study.add_trial(
        optuna.trial.create_trial(
            state=getattr(optuna.trial.TrialState, state),
            params=params or {},
            distributions={name: optuna.distributions.FloatDistribution(0, 100) for name in params or {}},
            user_attrs={**(attributes or {}), **more},
            intermediate_values=reported or {},
            **done,
        )
    )


class OptunaContract(ReaderContract):
    metric = "value"
    names_are_mine = False

    def storage(self, place):
        raise NotImplementedError

    def make(self, place, runs):
        study = study_at(self.storage(place))
        for run in runs:
            curves = {name: dict(curve) for name, curve in run.curves.items() if name != "value"}
            seed = {"seed": float(run.config["seed"])}
            add(study, reported=dict(run.curves["value"]), params=seed, attributes={"batch_size": 32, **curves})

    def nowhere(self, place):
        return OptunaReader(str(place))


class TestSqliteStudy(OptunaContract):
    def storage(self, place):
        return f"sqlite:///{place / 'study.db'}"

    def open(self, place):
        return OptunaReader(f"sqlite:///{place / 'study.db'}")


class TestJournal(OptunaContract):
    def storage(self, place):
        return journal(place / "journal.log")

    def open(self, place):
        return OptunaReader(str(place / "journal.log"))


@pytest.fixture
def place(tmp_path):
    return tmp_path / "journal.log"


@pytest.fixture
def store(tmp_path):
    return RunStore(tmp_path / "store")


def test_the_studys_direction_is_the_metrics(place, store):
    add(study_at(journal(place), direction="minimize"), reported={1: 0.5, 2: 0.4}, loss=[2.0, 1.0])
    import_runs(OptunaReader(str(place)), store)
    assert store.read()[0].direction is Direction.MIN and store.read()[0].facts.task == "digits"


def test_a_pruned_trial_is_cut_short(place, store):
    add(study_at(journal(place)), reported={1: 0.5, 2: 0.4}, loss=[2.0, 1.0], state="PRUNED")
    import_runs(OptunaReader(str(place)), store)
    assert store.read()[0].status is Status.CUT_SHORT


@pytest.mark.parametrize(
    ("loss", "steps"),
    [
        ([3.0, 2.0], [5, 10]),
        ([float(n) for n in range(10)], list(range(1, 11))),
        ([float(n) for n in range(11)], list(range(11))),
        ([[4, 1.0], [8, 0.5]], [4, 8]),
        ({"4": 1.0, "10": 0.5}, [4, 10]),
    ],
)
def test_lists_pairs_and_mappings_are_curves(place, store, loss, steps):
    add(study_at(journal(place)), reported={5: 0.5, 10: 0.6}, loss=loss)
    import_runs(OptunaReader(str(place)), store)
    assert store.read()[0].loss.steps.tolist() == steps


def test_a_list_of_an_odd_length_is_not_guessed(place, store):
    add(study_at(journal(place)), reported={5: 0.5, 10: 0.6}, loss=[1.0, 2.0, 3.0])
    report = import_runs(OptunaReader(str(place)), store)
    assert "a list of 3 values" in report.left_out[0][1] and "{step: value}" in report.left_out[0][1]


def test_a_study_without_a_loss_says_so_and_the_values_may_stand_in(place, store):
    add(study_at(journal(place)), reported={1: 0.5, 2: 0.6}, note="plain text", tags=["a", "b"])
    with pytest.raises(TrackerError, match=r"reads like the training loss. They logged: 'value' \(1 run\)"):
        import_runs(OptunaReader(str(place)), store)
    report = import_runs(OptunaReader(str(place)), store, Choices(loss="value"))
    run = store.read()[0]
    assert run.loss == run.metric and run.facts.extra["note"] == "plain text"
    assert any("no learning rate was logged" in note for _, note in report.notes)


def test_studies_are_chosen_by_name(place, store):
    for name in ("one", "two"):
        add(study_at(journal(place), name), reported={1: 0.5}, loss=[1.0])
    assert import_runs(OptunaReader(str(place), study=["two"]), store).imported == ["two-0"]
    assert import_runs(OptunaReader(str(place)), store).imported == ["one-0"]
    with pytest.raises(TrackerError, match=r"no study 'three'. It has: 'one', 'two'"):
        OptunaReader(str(place), study=["three"])


def test_a_file_of_something_else_is_not_touched(tmp_path):
    import sqlite3

    other = tmp_path / "other.db"
    sqlite3.connect(other).execute("CREATE TABLE a (b)").connection.close()
    before = other.read_bytes()
    with pytest.raises(TrackerError, match="holds no Optuna studies"):
        OptunaReader(str(other))
    assert other.read_bytes() == before
    (tmp_path / "text.log").write_text("hello\n")
    with pytest.raises(TrackerError, match="neither an SQLite database nor an Optuna journal"):
        OptunaReader(str(tmp_path / "text.log"))
