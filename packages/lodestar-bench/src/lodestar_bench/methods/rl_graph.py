"""The graph controller of Xiong et al. 2022: the network's layers as a graph, within 10 % of a base schedule.

Each layer is a node with the statistics of its weights and their last update, and an embedding of its kind; two graph
convolutions and a mean over the nodes give what actor and critic see. The action moves the rate by at most 10 % from a
cosine to zero; the reward is the fall of the validation loss; PPO with gamma 0.99, lambda 0.95, clip 0.2.
"""

from lodestar_bench.methods.learned import LearnedMethod
from lodestar_bench.rl.law import Nudge
from lodestar_bench.rl.layers import Layers

METHOD = LearnedMethod("rl-graph", "graph RL controller (Xiong 2022)", "graph", Layers, Nudge, "decrease")
