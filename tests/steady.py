"""What keeps one test from failing by chance, or by another's doing: the same examples every time, and no left-overs.

Hypothesis's default fails an example that takes longer than 0.2 s, and draws new examples in every run: on a busy
machine, or on an unlucky day, a red test that says nothing about a change. To look for new counterexamples:
`pytest --hypothesis-profile=default`.

What JAX compiles is kept in .pytest_cache for all workers, subprocesses and sessions: most of a small fit is compiling.
An entry that another process is just writing, or was killed at, is compiled anew: JAX's warning of it is no error.
"""

import gc
import os
from collections.abc import Generator
from pathlib import Path

import pytest
from hypothesis import settings

COMPILED = Path(__file__).parent.parent / ".pytest_cache" / "jax"
os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(COMPILED))  # read when JAX is imported
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0.01")
settings.load_profile("ci")  # Hypothesis's own: derandomised, no deadline, no database


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> Generator[None, object, object]:
    """Some packages leave files open: collected at the end of a file that expects it, not in some later test."""
    result = yield
    marks = item.iter_markers("filterwarnings")
    if (nextitem is None or nextitem.path != item.path) and any("ResourceWarning" in mark.args[0] for mark in marks):
        gc.collect()
    return result
