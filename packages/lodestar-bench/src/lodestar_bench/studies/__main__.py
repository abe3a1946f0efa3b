"""`python -m lodestar_bench.studies`: what there is, a line each."""

import ast
import pkgutil
from pathlib import Path


def main() -> None:
    """Print each study with the first line of its docstring. None is imported: some take JAX to start."""
    folder = Path(__file__).parent
    for module in pkgutil.iter_modules([str(folder)]):
        if module.name != "__main__":
            told = ast.get_docstring(ast.parse((folder / f"{module.name}.py").read_text(encoding="utf-8"))) or ""
            print(f"python -m lodestar_bench.studies.{module.name:12} {told.splitlines()[0]}")


if __name__ == "__main__":
    main()
