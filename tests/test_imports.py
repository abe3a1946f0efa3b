"""The direction of imports, and the walls between the rooms of the house."""

import ast
import functools
from pathlib import Path

import pytest

import lodestar

ROOT = Path(lodestar.__file__).parent
BASE = {"_credentials", "_disk", "_errors", "_extras", "_keys", "_plain", "__version__"}
LOW = {*BASE, "runs", "schedules"}
MAY_IMPORT = {
    "runs": BASE,
    "schedules": BASE,
    "schedule_free": BASE,
    "doctor": LOW,
    "forecaster": LOW,
    "fitting": {*LOW, "doctor", "forecaster"},
    "planning": {*LOW, "forecaster"},
    "pruning": {*LOW, "doctor", "forecaster", "fitting"},
    "integrations": {*LOW, "fitting", "pruning"},
    "scheduler": {*LOW, "forecaster", "planning"},
    "adapters": {*LOW, "forecaster", "planning", "scheduler"},
    "importers": {*LOW, "doctor"},
    "exporters": LOW,
    "sweep": {*LOW, "doctor", "exporters", "pruning", "scheduler"},
    "tuning": {*LOW, "forecaster", "fitting", "planning", "pruning", "sweep"},
    "testing": {*LOW, "forecaster", "scheduler", "adapters", "importers"},
    "evaluate": {*LOW, "doctor", "forecaster", "fitting", "planning", "scheduler"},
    "report": {*LOW, "doctor", "forecaster", "fitting", "planning", "scheduler", "evaluate"},
}
MAY_IMPORT |= {"watch": {*LOW, "forecaster", "planning", "scheduler", "report"}}
MAY_IMPORT |= {"cli": {*LOW, *(name for name in MAY_IMPORT if name != "testing")}}
JAX = {"jax", "equinox", "diffrax", "optax", "jaxtyping"}
LIVE = ("runs/run.py", "runs/runset.py", "forecaster", "planning", "scheduler")
ALLOWED_LIVE = {"numpy", "scipy", "lodestar"}


@functools.cache
def imports(path: Path, *, inside_functions: bool) -> frozenset[str]:
    """Dotted names imported by a file; those within functions (lazy ones) only if asked for."""
    tree = ast.parse(path.read_text())
    skipped: set[ast.AST] = set()
    for node in ast.walk(tree):
        lazy = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not inside_functions
        typing_only = isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        if lazy or typing_only:
            skipped.update(ast.walk(node))
    found: set[str] = set()
    for node in ast.walk(tree):
        if node in skipped:
            continue
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return frozenset(found)


def files(folder: str) -> list[Path]:
    path = ROOT / folder
    return [path] if path.suffix else sorted(path.rglob("*.py"))


@pytest.mark.parametrize("folder", sorted(p.name for p in ROOT.iterdir() if p.is_dir() and p.name != "__pycache__"))
def test_a_room_imports_only_the_rooms_below_it(folder):
    assert folder in MAY_IMPORT, f"say in this test what {folder} may import"
    for path in files(folder):
        for name in imports(path, inside_functions=True):
            parts = name.split(".")
            if parts[0] == "lodestar" and len(parts) > 1:
                fine = {*MAY_IMPORT[folder], folder}
                assert parts[1] in fine, f"{path.relative_to(ROOT)} imports {name}"


@pytest.mark.parametrize("folder", LIVE)
def test_what_a_live_job_loads_needs_numpy_and_scipy_alone(folder):
    import sys

    for path in files(folder):
        for name in imports(path, inside_functions=False):
            top = name.split(".")[0]
            assert top in ALLOWED_LIVE or top in sys.stdlib_module_names, f"{path.relative_to(ROOT)} imports {name}"


def test_jax_lives_in_fitting_only():
    for path in ROOT.rglob("*.py"):
        if path.relative_to(ROOT).parts[0] in ("fitting", "adapters", "schedule_free", "schedules"):
            continue
        found = {name.split(".")[0] for name in imports(path, inside_functions=True)} & JAX
        assert not found, f"{path.relative_to(ROOT)} imports {found}"


def test_adapters_do_not_import_one_another():
    public = {path.stem for path in files("adapters") if not path.stem.startswith("_")}
    for path in files("adapters"):
        if path.stem.startswith("_"):
            continue
        for name in imports(path, inside_functions=True):
            parts = name.split(".")
            if parts[:2] == ["lodestar", "adapters"] and len(parts) > 2:
                assert parts[2] not in public - {path.stem}, f"{path.name} imports {name}"


def test_no_pickle_anywhere():
    for path in ROOT.rglob("*.py"):
        found = {name.split(".")[0] for name in imports(path, inside_functions=True)}
        assert not found & {"pickle", "cloudpickle", "dill", "joblib"}, path


def test_every_exported_name_is_there():
    for name in lodestar.__all__:
        assert getattr(lodestar, name) is not None


def test_no_exported_name_is_a_folder_too():
    """A folder, once imported, would take the name's place."""
    assert not {p.name for p in ROOT.iterdir() if p.is_dir()} & set(lodestar.__all__)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'nope'"):
        _ = lodestar.nope  # pyright: ignore[reportAttributeAccessIssue]


def test_every_module_says_what_it_is():
    for path in ROOT.rglob("*.py"):
        doc = ast.get_docstring(ast.parse(path.read_text()))
        assert doc, f"{path.relative_to(ROOT)} has no docstring"


def test_no_folder_of_tests_takes_the_name_of_one_at_the_top():
    """A package of tests is imported by its bare name: `docs` would hide the folder of that name."""
    tests = Path(__file__).parent
    assert not {p.parent.name for p in tests.glob("*/__init__.py")} & {p.name for p in tests.parent.iterdir()}
