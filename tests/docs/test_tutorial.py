"""The tutorial's history: what its script leaves in MLflow, Lodestar imports without a word of help."""

import subprocess
import sys

from tests.docs.pages import ROOT

from lodestar import RunStore
from lodestar.importers import import_runs, open_reader

FEWER = {"(1e-3, 3e-3, 1e-2, 3e-2)": "(1e-2,)", "range(3)": "range(1)"}  # 5 runs in place of 60


def test_the_history_is_imported_as_it_is(tmp_path):
    source = (ROOT / "examples" / "mlflow_history.py").read_text()
    for whole, part in FEWER.items():
        assert source.count(whole) == 1
        source = source.replace(whole, part)
    address = f"sqlite:///{tmp_path}/mlflow.db"
    (tmp_path / "history.py").write_text(source)
    done = subprocess.run([sys.executable, "history.py", address], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    import_runs(open_reader("mlflow", address), RunStore(tmp_path / "runs"))
    runs = RunStore(tmp_path / "runs").read()
    assert {run.facts.schedule for run in runs} == {"constant", "cosine", "linear", "wsd", "step"}
    for run in runs:
        assert (run.total_steps, len(run.loss), len(run.lr), len(run.metric)) == (400, 400, 400, 20)
        assert run.metric.values[-1] > 0.85
