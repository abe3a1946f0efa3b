"""The controller of Xu et al. 2019, "Learning an adaptive learning rate schedule": a scale on the running rate.

Seven numbers are seen (`rl/senses.py`), the action halves to doubles the rate, the reward is minus the validation loss
at every decision, actor and critic have two hidden layers of 32, and PPO learns. Decisions come every 2.5 % of the run.
"""

from lodestar_bench.methods.learned import LearnedMethod
from lodestar_bench.rl.law import Scale
from lodestar_bench.rl.senses import Summary

METHOD = LearnedMethod("rl-xu", "RL controller (Xu 2019)", "summary", Summary, Scale, "level")
