"""The graph encoder of Xiong et al. 2022 in PyTorch, for stable-baselines3: layers in, one vector out.

Comes in: the kinds of the layers; then batches of what `Layers` sees. Goes out: features for actor and critic. The same
sums as `policy.graph_features`, which a test holds it to. Needs torch and stable-baselines3, so it is imported late.
"""

import gymnasium
import torch
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
from torch import nn

from lodestar_bench.rl.layers import GLOBALS, KINDS, STATISTICS, adjacency

WIDTH = 16
EMBEDDING = 4


class GraphEncoder(BaseFeaturesExtractor):
    """An embedding of each layer's kind, two graph convolutions, the mean over layers."""

    def __init__(self, observation_space: gymnasium.spaces.Box, kinds: tuple[int, ...]):
        super().__init__(observation_space, features_dim=WIDTH + len(GLOBALS))
        self.embedding = nn.Embedding(len(KINDS), EMBEDDING)
        self.convolution0 = nn.Linear(len(STATISTICS) + EMBEDDING, WIDTH)
        self.convolution1 = nn.Linear(WIDTH, WIDTH)
        self.register_buffer("kinds", torch.tensor(kinds, dtype=torch.long))
        self.register_buffer("edges", torch.from_numpy(adjacency(len(kinds))))

    def forward(self, observations: torch.Tensor) -> torch.Tensor:
        """One vector a row."""
        kinds, edges = self.get_buffer("kinds"), self.get_buffer("edges")
        nodes = observations[:, : -len(GLOBALS)].reshape(len(observations), -1, len(STATISTICS))
        marks = self.embedding(kinds).expand(len(observations), -1, -1)
        hidden = torch.cat([nodes, marks], dim=-1)
        hidden = torch.relu(self.convolution0(edges @ hidden))
        hidden = torch.relu(self.convolution1(edges @ hidden))
        return torch.cat([hidden.mean(dim=1), observations[:, -len(GLOBALS) :]], dim=-1)
