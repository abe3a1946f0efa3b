"""Forecasters that tests share: fitted once for all workers and sessions, and kept under a hash of what made them.

The files lie in .pytest_cache. Any change to the product, to the packages it fits with, to the module that makes the
fit or to those beside this one makes a new file, so a test never sees a forecaster of older code.
"""

import contextlib
import fcntl
import functools
import hashlib
import os
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path

import lodestar
from lodestar.forecaster import Forecaster, load

FOLDER = Path(__file__).parent.parent / ".pytest_cache" / "lodestar"


def fitted_once(maker: Path, name: str, make: Callable[[], Forecaster]) -> Forecaster:
    """What `make` gives, from a file if there is one; `maker` is the module it stands in, `name` says which."""
    key = hashlib.sha256(f"{_code()} {name}".encode() + maker.read_bytes()).hexdigest()[:20]
    path = FOLDER / f"{maker.stem}-{key}.lodestar"
    with _alone(path):
        if not path.exists():
            make().save(path)
        return load(path)


@functools.cache
def _code() -> str:
    digest = hashlib.sha256()
    for path in sorted([*Path(lodestar.__file__).parent.rglob("*.py"), *Path(__file__).parent.glob("*.py")]):
        digest.update(path.read_bytes())
    versions = [version(package) for package in ("numpy", "scipy", "jax", "jaxlib", "equinox", "diffrax", "optax")]
    return " ".join([digest.hexdigest(), *versions])


@contextlib.contextmanager
def _alone(path: Path) -> Iterator[None]:
    """One worker fits, the others wait for its file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lock = os.open(path.with_suffix(".lock"), os.O_CREAT | os.O_RDWR, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)
