import ast
import subprocess
import sys
from pathlib import Path

import pytest

import lodestar.adapters
from lodestar._extras import install_line

FOLDER = Path(lodestar.adapters.__file__).parent
ADAPTERS = ("torch", "lightning", "transformers", "optax", "keras", "loop")
SHARED = {"_source", "_state_file", "_steered", "_step_argument", "_param_groups", "_lr_scheduler", "ranks"}
FRAMEWORKS = (
    "torch",
    "lightning",
    "transformers",
    "accelerate",
    "keras",
    "optax",
    "jax",
    "pyarrow",
    "pydantic",
    "pytest",
)


def imported_by(path: Path) -> set[str]:
    """The names of all modules a file imports, anywhere in it."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module}
    return found


def loaded_after(code: str) -> set[str]:
    """Which frameworks a fresh Python has loaded after `code`."""
    command = f"{code}\nimport sys; print(*(name for name in {FRAMEWORKS!r} if name in sys.modules))"
    return set(printed_by(command).split())


def printed_by(code: str) -> str:
    """What a fresh Python prints."""
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("name", sorted(SHARED))
def test_what_adapters_share_knows_no_adapter(name):
    assert not imported_by(FOLDER / f"{name}.py") & {f"lodestar.adapters.{other}" for other in ADAPTERS}


def test_every_adapter_is_in_the_table_of_contents():
    named = lodestar.adapters.__doc__ or ""
    files = {path.stem for path in FOLDER.glob("*.py") if not path.stem.startswith("_")}
    assert files == {*ADAPTERS, "ranks"}
    assert all(f"lodestar.adapters.{name}" in named for name in files)


def test_the_package_and_the_plain_loop_bring_no_framework():
    assert loaded_after("import lodestar.adapters, lodestar.adapters.loop, lodestar.testing") == set()


def test_a_steered_torch_job_brings_torch_alone():
    assert loaded_after("import lodestar.adapters.torch") == {"torch"}


@pytest.mark.parametrize("name", ["torch", "lightning", "transformers", "optax", "keras"])
def test_a_missing_framework_is_named_with_the_line_to_type(name):
    missing = "torch" if name in ("lightning", "transformers") else name  # these stand on torch
    code = (
        f"import sys; sys.modules[{missing!r}] = None\n"
        f"try:\n    import lodestar.adapters.{name}\n"
        "except ImportError as error:\n    print(type(error).__name__, error)"
    )
    printed = printed_by(code)
    assert printed.startswith(f"MissingExtra '{missing}' is not installed")
    assert f"Fix: {install_line(missing)}" in printed
