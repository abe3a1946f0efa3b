"""No cycle of imports: not among modules, not among the rooms of the house."""

import ast
import graphlib
from collections.abc import Iterator
from pathlib import Path

import pytest

import lodestar
import lodestar_bench

ROOTS = {package.__name__: Path(str(package.__file__)).parent for package in (lodestar, lodestar_bench)}


def modules(package: str) -> dict[str, Path]:
    """Dotted name to file."""
    root = ROOTS[package]
    names = {}
    for path in root.rglob("*.py"):
        parts = [package, *path.relative_to(root).with_suffix("").parts]
        names[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return names


def imported(tree: ast.AST, *, lazily: bool) -> Iterator[tuple[str, str]]:
    """(module, name) for each import; those for the type checker alone are left out, those in functions if told so."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            continue
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) and not lazily:
            continue
        if isinstance(node, ast.ImportFrom) and node.module:
            yield from ((node.module, alias.name) for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from ((alias.name, "") for alias in node.names)
        else:
            yield from imported(node, lazily=lazily)


def graph(package: str, *, lazily: bool) -> dict[str, set[str]]:
    """Which modules of the package each module imports by name."""
    known = modules(package)
    edges: dict[str, set[str]] = {}
    for name, path in known.items():
        found = imported(ast.parse(path.read_text()), lazily=lazily)
        targets = {f"{module}.{item}" if f"{module}.{item}" in known else module for module, item in found}
        edges[name] = {target for target in targets if target in known} - {name}
    return edges


def room(name: str) -> str:
    return ".".join(name.split(".")[:2])


@pytest.mark.parametrize("package", ROOTS)
def test_no_module_is_imported_by_what_it_imports(package):
    graphlib.TopologicalSorter(graph(package, lazily=False)).prepare()  # raises CycleError, which shows the cycle


def test_no_room_is_imported_by_a_room_it_imports():
    """Imports within functions count: a room that needs another to work depends on it. `lodestar` is the door."""
    rooms: dict[str, set[str]] = {}
    for name, targets in graph("lodestar", lazily=True).items():
        rooms.setdefault(room(name), set()).update(room(target) for target in targets)
    door = {"lodestar", "lodestar.__main__"}
    edges = {name: targets - {name} - door for name, targets in rooms.items() if name not in door}
    graphlib.TopologicalSorter(edges).prepare()


def test_a_cycle_would_be_seen(tmp_path, monkeypatch):
    (tmp_path / "__init__.py").write_text("")
    (tmp_path / "a.py").write_text("from loop.b import x\n")
    (tmp_path / "b.py").write_text("import loop.a\n")
    monkeypatch.setitem(ROOTS, "loop", tmp_path)
    with pytest.raises(graphlib.CycleError):
        test_no_module_is_imported_by_what_it_imports("loop")
