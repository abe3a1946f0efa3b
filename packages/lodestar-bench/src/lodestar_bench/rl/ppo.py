"""Learns a policy by PPO (stable-baselines3) within an allowance of training runs, and hands it over as NumPy arrays.

Comes in: an environment of training runs. Goes out: a `Policy`. Observations and rewards are normalised by running
figures, as in the public implementation of Xu et al.; gamma 0.99, lambda 0.95, clip 0.2. The policy is updated after
every run, or as many as make 36 decisions: of 25 runs, larger batches learned less. One thread; the same seed learns
the same policy. Torch's threads and the global generators are put back after.
"""

import contextlib
import math
import random
from collections.abc import Iterator
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.vec_env import DummyVecEnv, VecNormalize
from torch import nn

from lodestar_bench.rl.episodes import Episodes
from lodestar_bench.rl.graph_net import GraphEncoder
from lodestar_bench.rl.policy import CLIP

Kind = Literal["summary", "graph"]
LEAST_ROWS = 36  # decisions an update of the policy is made from
HIDDEN = [32, 32]


class _Allowance(BaseCallback):
    """Ends the learning when the allowed runs are used up."""

    def __init__(self, episodes: Episodes, rows: int):
        super().__init__()
        self._episodes, self._rows = episodes, rows

    def _on_step(self) -> bool:
        """Whether to go on. The last row of a batch never says no: the batch is still to be learned from."""
        return len(self._episodes.done) < self._episodes.allowed or self.num_timesteps % self._rows == 0


def learn(episodes: Episodes, *, kind: Kind, kinds: tuple[int, ...] = (), seed: int) -> dict[str, NDArray]:
    """Train an actor on the episodes; its weights, and the running figures of what it saw."""
    with _alone():
        world = VecNormalize(DummyVecEnv([lambda: episodes]), clip_obs=CLIP, gamma=0.99)
        together = min(math.ceil(LEAST_ROWS / max(1, episodes.decisions)), episodes.allowed)
        rows = max(2, together * episodes.decisions)
        model = PPO(
            "MlpPolicy",
            world,
            learning_rate=3e-3,
            n_steps=rows,
            batch_size=rows,
            n_epochs=20,
            gamma=0.99,
            gae_lambda=0.95,
            clip_range=0.2,
            policy_kwargs=_nets(kind, kinds),
            seed=seed,
            device="cpu",
        )
        model.learn(rows * (episodes.allowed // together), callback=_Allowance(episodes, rows))
        return _arrays(model, world, kind)


def _nets(kind: Kind, kinds: tuple[int, ...]) -> dict[str, Any]:
    nets: dict[str, Any] = {"net_arch": HIDDEN, "activation_fn": nn.Tanh, "log_std_init": -0.5}
    if kind == "graph":
        nets |= {"features_extractor_class": GraphEncoder, "features_extractor_kwargs": {"kinds": kinds}}
    return nets


def _arrays(model: PPO, world: VecNormalize, kind: Kind) -> dict[str, NDArray]:
    """The actor's part of the model, in the names of `policy.py`."""
    figures: Any = world.obs_rms
    arrays = {"mean": figures.mean, "std": np.sqrt(figures.var + world.epsilon)}
    actor: Any = model.policy
    dense = [layer for layer in actor.mlp_extractor.policy_net if isinstance(layer, nn.Linear)]
    for place, layer in enumerate([*dense, actor.action_net]):
        arrays |= {f"weight{place}": _numpy(layer.weight), f"bias{place}": _numpy(layer.bias)}
    if kind == "graph":
        encoder = actor.features_extractor
        arrays |= {"embedding": _numpy(encoder.embedding.weight), "kinds": _numpy(encoder.kinds)}
        for place, layer in enumerate([encoder.convolution0, encoder.convolution1]):
            arrays |= {
                f"convolution{place}": _numpy(layer.weight).T.copy(),
                f"convolution_bias{place}": _numpy(layer.bias),
            }
    return arrays


def _numpy(tensor: torch.Tensor) -> NDArray:
    return tensor.detach().cpu().numpy().copy()


@contextlib.contextmanager
def _alone() -> Iterator[None]:
    """One thread, and the process's own random generators as they were: the learner seeds them all."""
    threads, held = torch.get_num_threads(), (random.getstate(), np.random.get_state(), torch.get_rng_state())  # noqa: NPY002
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)
        random.setstate(held[0])
        np.random.set_state(held[1])  # noqa: NPY002
        torch.set_rng_state(held[2])
