"""What the runs say of their job comes with the prepared runs, and so into the forecaster's file."""

from tests.curves import toy_runs

from lodestar.fitting import prepare
from lodestar.runs import Facts


def test_facts_are_gathered_under_the_names_people_use():
    spellings = [
        {"optimizer": "AdamW", "batch_size": 128},
        {"config/optim": "SGD", "train.trainBatchSize": "256", "n_params": 5e4},
    ]
    runs = [
        run.replace(facts=Facts(task=f"task-{i % 2}", extra=spellings[i % 2]))
        for i, run in enumerate(toy_runs(seeds=1))
    ]
    job = prepare(runs).job
    assert job == {
        "tasks": ["task-0", "task-1"],
        "metric_names": ["accuracy"],
        "optimizers": {"AdamW": len(runs) / 2, "SGD": len(runs) / 2},
        "batch_sizes": [128.0, 256.0],
        "parameters": [5e4, 5e4],
    }


def test_what_no_run_says_is_left_out():
    runs = [run.replace(facts=Facts(extra={"batch_size": "many", "optimizer": 3})) for run in toy_runs(seeds=1)]
    assert prepare(runs).job == {"metric_names": ["accuracy"]}
