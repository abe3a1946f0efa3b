"""A learned policy: what is seen goes in, an action comes out. NumPy alone; the file it is kept in holds no pickle.

The file is an .npz of arrays and one JSON text ("about": format, version, kind, first rate, what the training was).
Arrays: `mean` and `std` of each number seen; `weight0`, `bias0`, ... of the dense layers, tanh between them; for the
graph kind also `embedding`, `convolution0`, `convolution1` (see `graph_features`). Knows nothing of training runs.
"""

import dataclasses
import io
import json
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lodestar._disk import write_whole
from lodestar._extras import update_line
from lodestar_bench._errors import BenchError
from lodestar_bench.rl.layers import GLOBALS, STATISTICS, adjacency

FORMAT = "lodestar-policy"
VERSION = 1
CLIP = 10.0  # of what is seen, in standard deviations


@dataclasses.dataclass(frozen=True, eq=False)
class Policy:
    """The mean action of a trained actor."""

    about: Mapping[str, Any]
    arrays: Mapping[str, NDArray]

    def action(self, seen: NDArray) -> float:
        """A number in [-1, 1]."""
        if seen.shape != self.arrays["mean"].shape:
            raise BenchError(
                f"the policy sees {self.arrays['mean'].size} numbers, this task shows {seen.size}: it was learned on "
                f"{self.about.get('task')!r}. Fix: learn on this task"
            )
        x = np.clip((seen - self.arrays["mean"]) / self.arrays["std"], -CLIP, CLIP)
        if self.about["kind"] == "graph":
            x = graph_features(self.arrays, x)
        depth = sum(name.startswith("weight") for name in self.arrays)
        for place in range(depth):
            x = self.arrays[f"weight{place}"] @ x + self.arrays[f"bias{place}"]
            x = np.tanh(x) if place < depth - 1 else x
        return float(np.clip(x[0], -1, 1))

    def save(self, path: Path) -> None:
        """Write the file whole."""
        about = {"format": FORMAT, "version": VERSION, **self.about}
        held = io.BytesIO()
        arrays: dict[str, Any] = {"about": np.array(json.dumps(about, allow_nan=False)), **self.arrays}
        np.savez(held, **arrays)
        write_whole(path, held.getvalue())


def load(path: Path) -> Policy:
    """Read a policy's file."""
    try:
        with np.load(io.BytesIO(path.read_bytes()), allow_pickle=False) as held:
            arrays = {name: held[name] for name in held.files}
        about = json.loads(str(arrays.pop("about")))
        assert about["format"] == FORMAT
    except FileNotFoundError:
        raise BenchError(f"there is no policy at {path}. Fix: learn one first") from None
    except (OSError, ValueError, KeyError, TypeError, AssertionError, EOFError, zipfile.BadZipFile) as error:
        raise BenchError(f"{path} is not a policy of the bench, or damaged: {error!r}. Fix: learn it again") from error
    if about["version"] > VERSION:
        raise BenchError(
            f"{path} has policy version {about['version']}, this Lodestar reads up to {VERSION}. Fix: {update_line()}"
        )
    return Policy(about, arrays)


def graph_features(arrays: Mapping[str, NDArray], x: NDArray) -> NDArray:
    """Two graph convolutions H <- relu(A H W + b) over the layers, their mean, and what holds for the whole run.

    H begins as each layer's statistics beside the embedding of its kind.
    """
    nodes = x[: -len(GLOBALS)].reshape(-1, len(STATISTICS))
    edges = adjacency(len(nodes))
    hidden = np.concatenate([nodes, arrays["embedding"][arrays["kinds"]]], axis=1)
    for place in range(2):
        hidden = edges @ hidden @ arrays[f"convolution{place}"] + arrays[f"convolution_bias{place}"]
        hidden = np.maximum(hidden, 0)
    return np.concatenate([hidden.mean(axis=0), x[-len(GLOBALS) :]])
