"""How `lodestar` starts: as a module, with its version, with help at once, with completion in the shell."""

import os
import subprocess
import sys

import pytest

import lodestar


def run(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "lodestar", *words],
        capture_output=True,
        text=True,
        env={**os.environ, "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1", **environment},
    )


def test_the_version_is_the_packages():
    done = run("--version")
    assert (done.returncode, done.stdout.strip()) == (0, lodestar.__version__)


def test_help_lists_the_commands_and_imports_nothing_heavy():
    code = (
        "import sys, runpy; sys.argv = ['lodestar', '--help']\n"
        "try: runpy.run_module('lodestar', run_name='__main__')\n"
        "except SystemExit as end: assert not end.code\n"
        "print('heavy:', {'numpy', 'scipy', 'jax', 'matplotlib', 'pyarrow', 'torch'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert all(f"\n  {name}" in done.stdout for name in ("import", "sweep", "fit", "evaluate", "explain", "report"))
    assert "heavy: set()" in done.stdout


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_script_for_the_shell_is_shown(shell):
    done = run("--show-completion", shell)
    assert done.returncode == 0, done.stderr
    assert "COMPLETE" in done.stdout


@pytest.mark.parametrize(
    ("line", "told"),
    [("lodestar ev", "evaluate"), ("lodestar import ml", "mlflow"), ("lodestar fit --pre", "--preset")],
)
def test_the_shell_completes_commands_and_options(line, told):
    script = "import sys; sys.argv = ['lodestar']; from lodestar.cli import main; main()"
    environment = {"_LODESTAR_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": str(line.count(" "))}
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, env={**os.environ, **environment}
    )
    assert told in done.stdout.split(), done.stderr
