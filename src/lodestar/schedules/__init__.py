"""Schedules: the learning rate of every update; families: drawn, recognised, reconstructed, parsed."""
