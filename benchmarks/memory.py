"""Memory of a fit: it must grow with the batch, not with the store.

    python -m benchmarks.memory

The same short fit (500 updates, 600 points) on a store of 500 and of 10,000 runs, each in a process of its own. The
figure is the most anonymous memory the process held, sampled 50 times a second: what it needs, without the pages of
mapped files, which the system takes back when it must.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.store import made
from lodestar.runs import RunStore

_FIT = """
import json, re, sys, threading, time
from pathlib import Path
import lodestar
from lodestar.fitting.dataset import prepare
from lodestar.runs import RunStore
peak, done = [0.0, 0.0], threading.Event()
def held():
    text = Path("/proc/self/status").read_text()
    return float(re.search(r"RssAnon:\\s+(\\d+)", text).group(1)) / 1e3
def watch():
    while not done.wait(0.02):
        peak[0] = max(peak[0], held())
thread = threading.Thread(target=watch)
thread.start()
began = time.perf_counter()
data = prepare(RunStore.open(sys.argv[1]), points=600)
prepared, peak_prepare = time.perf_counter() - began, peak[0]
lodestar.fit(data, seed=0, updates=500)
done.set()
thread.join()
told = {"prepare_seconds": round(prepared, 1), "prepare_peak_mb": round(peak_prepare), "peak_mb": round(peak[0])}
print(json.dumps(told))
"""


def run(counts: tuple[int, ...] = (500, 10_000)) -> dict[str, Any]:
    """Peak memory for each size of store."""
    found: dict[str, Any] = {}
    for count in counts:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "runs"
            RunStore(path).add_many(made(count, 600))
            done = subprocess.run([sys.executable, "-c", _FIT, str(path)], capture_output=True, text=True, check=True)
            found[f"{count} runs"] = json.loads(done.stdout)
    first, last = (found[f"{count} runs"]["peak_mb"] for count in (counts[0], counts[-1]))
    found["growth"] = f"{counts[-1] / counts[0]:.0f} times the runs, {last / first:.2f} times the memory"
    return found


def main() -> None:
    """Print the figures."""
    for name, value in run().items():
        print(f"{name}: {value}")


if __name__ == "__main__":
    main()
