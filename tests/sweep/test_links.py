"""Trial logs and the sweep's lock are files of ours by their very names: a symbolic link leads nowhere."""

import subprocess
import sys

import pytest

from lodestar._errors import StoreError
from lodestar.sweep.journal import held

PRINT = """
import sys
from pathlib import Path
from lodestar.sweep.executors.output import CappedLog
log = CappedLog()
log.lead_to(Path(sys.argv[1]))
print("of the trial", flush=True)
"""


def test_a_trial_s_log_does_not_overwrite_what_a_link_leads_to(tmp_path):
    (tmp_path / "precious").write_text("mine")
    (tmp_path / "trial.log").symlink_to(tmp_path / "precious")
    subprocess.run([sys.executable, "-c", PRINT, tmp_path / "trial.log"], check=True)
    assert (tmp_path / "precious").read_text() == "mine"
    assert not (tmp_path / "trial.log").is_symlink()
    assert (tmp_path / "trial.log").read_text() == "of the trial\n"


def test_the_sweep_s_lock_is_not_sought_behind_a_link(tmp_path):
    (tmp_path / "precious").write_text("mine")
    (tmp_path / "lock").symlink_to(tmp_path / "precious")
    with pytest.raises(StoreError, match=r"symbolic link.*Fix: remove the link"), held(tmp_path):
        pass
    assert (tmp_path / "precious").read_text() == "mine"
    (tmp_path / "lock").unlink()
    with held(tmp_path):
        pass
