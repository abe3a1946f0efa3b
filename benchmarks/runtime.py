"""What a training job pays for the forecaster: import and load, a decode, a forecast.

    python -m benchmarks.runtime

Import and load are timed in fresh processes; decoding 31 latents at 1,200 points is what one decision of the paper's
scheduler needs for a run of 600 points.
"""

import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from lodestar.forecaster import Architecture
from lodestar.testing import random_forecaster

DEFAULT = Architecture()
_LOAD = (
    "import time; began = time.perf_counter()\n"
    "import lodestar, sys\n"
    "lodestar.load(sys.argv[1])\n"
    "print(time.perf_counter() - began, 'jax' in sys.modules)\n"
)


def _milliseconds(call, repeats: int = 50) -> dict[str, float]:
    call()
    took = []
    for _ in range(repeats):
        began = time.perf_counter()
        call()
        took.append(1e3 * (time.perf_counter() - began))
    return {"median_ms": round(statistics.median(took), 2), "best_ms": round(min(took), 2)}


def _import_and_load(path: Path, repeats: int = 7) -> dict[str, Any]:
    took, jax = [], False
    for _ in range(repeats):
        done = subprocess.run([sys.executable, "-c", _LOAD, str(path)], capture_output=True, text=True, check=True)
        seconds, seen = done.stdout.split()
        took.append(float(seconds))
        jax |= seen == "True"
    return {"median_s": round(statistics.median(took), 3), "best_s": round(min(took), 3), "jax_imported": jax}


def run() -> dict[str, Any]:
    """All figures."""
    forecaster = random_forecaster(seed=0, points=600, shape=DEFAULT, references=32, dtype=np.float32)
    latents = np.random.default_rng(0).normal(size=(1, 31, DEFAULT.latent))
    times = np.arange(1, 1201) / 1200
    context = forecaster.references.context(0, 0, 30)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "f.lodestar"
        forecaster.save(path)
        loaded = _import_and_load(path)
    return {
        "import and load (bar: 0.4 s, no JAX)": loaded,
        "decode 31 latents x 1,200 points (bar: 10 ms)": _milliseconds(lambda: forecaster.decode(latents, times)),
        "encode a window of 30 points": _milliseconds(lambda: forecaster.encode(context)),
        "forecast a run of 600 points with intervals": _milliseconds(lambda: forecaster.forecast(context)),
    }


def main() -> None:
    """Print the figures."""
    for name, value in run().items():
        print(f"{name}: {value}")


if __name__ == "__main__":
    main()
