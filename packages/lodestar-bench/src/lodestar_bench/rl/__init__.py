"""Controllers that learn by reinforcement: an episode is one training run, PPO learns, a NumPy policy steers."""
