"""Writes the examples into the README, between its markers, so that what is shown is what is tested.

python docs/embed_examples.py            writes; with --check only tells whether the README is up to date
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SHOWN = {
    "PyTorch": "torch_loop.py",
    "PyTorch with averaged weights": "torch_averaged.py",
    "Lightning": "lightning_module.py",
    "Transformers": "transformers_trainer.py",
    "JAX and Optax": "optax_loop.py",
    "Keras 3": "keras_fit.py",
    "Plain loop": "plain_loop.py",
    "A function to sweep": "sweep_job.py",
}
START, END = "<!-- examples -->", "<!-- end of examples -->"


def embedded(readme: str) -> str:
    """The README with the examples as they are now."""
    blocks = [
        f"<details><summary>{title}: examples/{name}</summary>\n\n```python\n"
        f"{(ROOT / 'examples' / name).read_text().strip()}\n```\n\n</details>"
        for title, name in SHOWN.items()
    ]
    whole = f"{START}\n\n" + "\n\n".join(blocks) + f"\n\n{END}"
    return re.sub(re.escape(START) + ".*?" + re.escape(END), lambda _: whole, readme, flags=re.S)


def main() -> None:
    """Write, or check."""
    path = ROOT / "README.md"
    before = path.read_text()
    after = embedded(before)
    if "--check" in sys.argv:
        sys.exit(0 if before == after else "the README's examples are stale: run make docs")
    path.write_text(after)


if __name__ == "__main__":
    main()
