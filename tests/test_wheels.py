"""Both wheels build, install into a clean environment and work there: what a user has who is not us.

Needs a package index, as `make test` itself does: NumPy and the `cli` extra are installed from it.
"""

import os
import subprocess
import sys
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FILES = ROOT / "tests" / "release_one" / "files"
STEERED_LOOP = """
import sys
from lodestar.adapters.loop import SteeredLoop
loop = SteeredLoop(sys.argv[1], 300, log="decisions.jsonl", state="state.json")
for step, lr in loop:
    assert lr >= 0
    loop.observe(loss=2 - step / 300, metric=step / 600 if step % 10 == 0 else None)
loop.save()
assert not {"scipy", "jax", "pyarrow"} & set(sys.modules)
print("steered", step)
"""


def run(*words: object, cwd: Path) -> str:
    """What a command prints, in an environment that knows nothing of this one."""
    clean = {
        name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "LODESTAR", "VIRTUAL_ENV"))
    }
    done = subprocess.run([str(word) for word in words], cwd=cwd, env=clean, capture_output=True, text=True)
    assert done.returncode == 0, f"{words}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def wheels(tmp_path_factory) -> dict[str, Path]:
    """Name of each distribution to its wheel, built from the source tree as it is."""
    out = tmp_path_factory.mktemp("wheels")
    for source in (ROOT, ROOT / "packages" / "lodestar-bench"):
        words = ("-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", out, source)
        run(sys.executable, *words, cwd=out)
    return {path.name.split("-")[0]: path for path in out.glob("*.whl")}


@pytest.fixture(scope="module")
def clean(tmp_path_factory) -> Path:
    """The scripts' folder of a new virtual environment, empty: our own pip fills it."""
    home = tmp_path_factory.mktemp("clean")
    venv.create(home, with_pip=False)
    return home / ("Scripts" if os.name == "nt" else "bin")


def install(clean: Path, *words: object) -> None:
    run(*pip(clean), "install", "--quiet", "--no-compile", *words, cwd=clean)


def pip(clean: Path) -> tuple[object, ...]:
    return sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", clean / "python"


def test_a_job_needs_numpy_only_then_the_commands_and_the_bench_join(wheels, clean, tmp_path):
    """One test, since each step builds on the environment before."""
    install(clean, wheels["lodestar_lr"])
    listed = run(*pip(clean), "list", "--format=freeze", cwd=tmp_path)
    assert {line.split("==")[0] for line in listed.split()} == {"lodestar-lr", "numpy"}
    script = tmp_path / "job.py"
    script.write_text(STEERED_LOOP)
    assert "steered 300" in run(clean / "python", script, FILES / "forecaster.lodestar", cwd=tmp_path)
    without = subprocess.run([clean / "lodestar", "--help"], capture_output=True, text=True)
    assert without.returncode == 1
    assert "pip install" in without.stderr
    assert "Traceback" not in without.stderr

    install(clean, f"{wheels['lodestar_lr']}[cli]")
    assert "doctor" in run(clean / "lodestar", "--help", cwd=tmp_path)
    assert "bench" not in run(clean / "python", "-m", "lodestar", "--help", cwd=tmp_path)
    assert run(clean / "lodestar", "--version", cwd=tmp_path).strip() == wheels["lodestar_lr"].name.split("-")[1]
    told = run(
        "bash", "-c", f"'{clean / 'lodestar'}' --show-completion bash; true", cwd=tmp_path
    )  # by whom it was called
    assert "_lodestar_completion" in told
    run(clean / "lodestar", "report", FILES / "store", "--log", "decisions.jsonl", "-o", "page.html", cwd=tmp_path)
    assert "cosine-0.003-0" in (tmp_path / "page.html").read_text()

    install(clean, "--no-deps", wheels["lodestar_bench"])
    assert "bench" in run(clean / "lodestar", "--help", cwd=tmp_path)
