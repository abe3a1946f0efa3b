"""Ray Tune: the contract on its own JSON logger, and the folder of a real Tune experiment on a small local cluster."""

import types

import pytest

from lodestar._errors import TrackerError
from lodestar.importers import Choices, import_runs
from lodestar.importers.readers.ray_tune import RayTuneReader
from lodestar.runs import RunStore, Status
from lodestar.testing import ReaderContract

pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


class TestJsonLogger(ReaderContract):
    def make(self, place, runs):
        from ray.tune.logger import JsonLoggerCallback

        for run in runs:
            folder = place / "results" / run.name
            folder.mkdir(parents=True)
            trial = types.SimpleNamespace(config=dict(run.config), local_path=str(folder), checkpoint=None)
            trial.init_local_path = lambda: None
            log = JsonLoggerCallback()
            log._trial_files = log._trial_configs = _ByIdentity()  # pyright: ignore
            steps = sorted({step for curve in run.curves.values() for step in curve})
            for step in steps:
                values = {name: curve[step] for name, curve in run.curves.items() if step in curve}
                log.log_trial_result(step, trial, {**values, "training_iteration": step, "config": trial.config})  # pyright: ignore
            log.log_trial_end(trial)  # pyright: ignore

    def open(self, place):
        return RayTuneReader(place / "results")

    def nowhere(self, place):
        return RayTuneReader(place)


@pytest.fixture(scope="module")
def experiment(tmp_path_factory):
    """Two real trials, one of which fails."""
    import ray
    from ray import tune

    folder = tmp_path_factory.mktemp("ray")

    def train(config):
        for step in range(1, 7):
            values = {"loss": config["lr"] / step, "eval": {"acc": 0.1 * step}, "lr": config["lr"]}
            tune.report({**values, "global_step": 10 * step})
            if config["lr"] > 0.15 and step == 3:
                raise RuntimeError("out of luck")

    ray.init(
        address="local",  # not the cluster that another test may have started on this machine
        num_cpus=1,
        _node_ip_address="127.0.0.1",
        include_dashboard=False,
        log_to_driver=False,
        configure_logging=False,
        object_store_memory=100_000_000,
    )
    try:
        space = {"lr": tune.grid_search([0.1, 0.2]), "model": {"width": 4}}
        settings = tune.RunConfig(storage_path=str(folder), name="digits", verbose=0)
        tune.Tuner(train, param_space=space, run_config=settings).fit()
    finally:
        ray.shutdown()
    return folder


def test_real_trials_with_their_states_and_params(experiment):
    tracker = RayTuneReader(experiment)
    good, bad = sorted(tracker.list(), key=lambda run: run.config["lr"])
    assert (good.state, bad.state) == ("TERMINATED", "ERROR") and good.group == "digits"
    assert good.config == {"lr": 0.1, "model.width": 4}
    assert set(good.quantities) == {"loss", "eval/acc", "lr", "global_step"}
    found = tracker.fetch(bad, ["loss", "eval/acc"])
    assert found["loss"].steps.tolist() == [1, 2, 3] and found["eval/acc"].values[1] == pytest.approx(0.2)


def test_a_failed_trial_is_cut_short_and_the_step_may_be_named(experiment, tmp_path):
    import_runs(RayTuneReader(experiment), RunStore(tmp_path), Choices(step="global_step", metric="eval/acc"))
    runs = sorted(RunStore(tmp_path).read(), key=lambda run: run.peak_lr)
    assert [run.status for run in runs] == [Status.FINISHED, Status.CUT_SHORT]
    assert runs[0].loss.steps.tolist() == [10, 20, 30, 40, 50, 60] and runs[0].facts.task == "digits"


def test_an_older_folder_with_a_csv_alone(tmp_path):
    (tmp_path / "trial").mkdir()
    (tmp_path / "trial" / "progress.csv").write_text(
        "loss,training_iteration,pid,config/lr,trial_id\n0.5,1,77,0.1,a\n0.25,2,77,0.1,a\n"
    )
    tracker = RayTuneReader(tmp_path)
    (run,) = tracker.list()
    assert run.quantities == ("loss",) and tracker.fetch(run, ["loss"])["loss"].values.tolist() == [0.5, 0.25]


def test_a_half_line_is_left_out_and_told(tmp_path):
    (tmp_path / "result.json").write_text('{"loss": 1.0, "training_iteration": 1}\n{"loss": 0.5, "trai')
    tracker = RayTuneReader(tmp_path)
    (run,) = tracker.list()
    found = tracker.fetch(run, ["loss"])["loss"]
    assert found.steps.tolist() == [1] and "line 2" in found.notes[0]


def test_a_folder_without_trials_is_told(tmp_path):
    with pytest.raises(TrackerError, match=r"result\.json"):
        RayTuneReader(tmp_path)


class _ByIdentity(dict):
    """Ray keys these by trial, which a plain object is not fit for."""

    def __setitem__(self, key, value):
        super().__setitem__(id(key), value)

    def __getitem__(self, key):
        return super().__getitem__(id(key))

    def __delitem__(self, key):
        super().__delitem__(id(key))

    def __contains__(self, key):
        return super().__contains__(id(key))
