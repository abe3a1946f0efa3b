"""`python -m benchmarks` (or `make bench`): every benchmark in turn, figures to the screen. About half an hour.

python -m benchmarks store fit     only these
"""

import importlib
import json
import sys
import time

ALL = (
    *("runtime", "decision", "overhead", "store", "memory", "fit"),
    *("trackers_mlflow", "trackers_tensorboard", "sweep", "kills", "ray", "report", "watch", "troubled", "pruner"),
)


def main(names: tuple[str, ...]) -> None:
    """Run the benchmarks named, or all."""
    unknown = [name for name in names if name not in ALL]
    if unknown:
        sys.exit(f"there is no benchmark {unknown[0]!r}. The benchmarks are: {', '.join(ALL)}")
    for name in names or ALL:
        began = time.monotonic()
        print(f"== {name}", flush=True)
        found = importlib.import_module(f"benchmarks.{name}").run()
        print(json.dumps(found, indent=2, default=str))
        print(f"   ({time.monotonic() - began:.0f} s)", flush=True)


if __name__ == "__main__":
    main(tuple(sys.argv[1:]))
