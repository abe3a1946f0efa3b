"""Checkpoints of a fit: everything a member needs to go on after a kill, to the same result.

Comes in: a member's `Progress`. Goes out: one file a member in a folder, written whole or not at all. A fingerprint of
data, settings and seed refuses a checkpoint of another fit.
"""

import hashlib
import json
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from lodestar._errors import FitError
from lodestar.fitting.train import Progress, Trainer
from lodestar.forecaster import file


def fingerprint(values: NDArray, mask: NDArray, facts: dict[str, object]) -> str:
    """A short text that differs whenever data, settings or seed do."""
    digest = hashlib.sha256(json.dumps(facts, sort_keys=True, default=str).encode())
    for start in range(0, len(values), 256):
        digest.update(np.ascontiguousarray(values[start : start + 256]).tobytes())
        digest.update(np.packbits(mask[start : start + 256]).tobytes())
    return digest.hexdigest()


class Checkpoint:
    """One member's file."""

    def __init__(self, folder: Path, member: int, mark: str):
        self.path = folder / f"member-{member}.ckpt"
        self._mark = mark

    def save(self, progress: Progress) -> None:
        """Write where the member stands."""
        leaves = jax.tree.leaves((progress.params, progress.opt_state, progress.best, progress.averaged))
        header = {
            "fingerprint": self._mark,
            "update": progress.update,
            "best_error": progress.best_error,
            "best_update": progress.best_update,
            "done": progress.done,
            "history": [[u, e, None if np.isnan(h) else h] for u, e, h in progress.history],
        }
        tensors = {f"leaf.{i:04d}": np.asarray(leaf) for i, leaf in enumerate(leaves)}
        file.write(self.path, tensors, header, kind=file.CHECKPOINT)

    def restore(self, trainer: Trainer) -> Progress | None:
        """The saved progress, or None where there is none yet."""
        if not self.path.exists():
            return None
        tensors, header = file.read(self.path, kind=file.CHECKPOINT)
        if header["fingerprint"] != self._mark:
            raise FitError(
                f"the checkpoint {self.path} belongs to a fit with other runs, settings or seed. "
                "Fix: use another checkpoint folder, or remove this one to start afresh"
            )
        fresh = trainer.begin(jax.random.key(0))
        tree = jax.tree.structure((fresh.params, fresh.opt_state, fresh.best, fresh.averaged))
        leaves = [jnp.asarray(tensors[name]) for name in sorted(tensors)]
        params, opt_state, best, averaged = jax.tree.unflatten(tree, leaves)
        return Progress(
            params=params,
            opt_state=opt_state,
            best=best,
            averaged=averaged,
            update=header["update"],
            best_error=header["best_error"],
            best_update=header["best_update"],
            done=header["done"],
            history=[(u, e, float("nan") if h is None else h) for u, e, h in header["history"]],
        )
