"""The same examples every time, however slow the machine: Hypothesis's own profile. JAX compiles once for all."""

import os
from pathlib import Path

from hypothesis import settings

settings.load_profile("ci")
COMPILED = Path(__file__).parents[3] / ".pytest_cache" / "jax"
os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(COMPILED))  # read when JAX is imported
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0.01")
