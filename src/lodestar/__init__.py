"""Lodestar steers the learning rate of a training job towards the best final result."""
