"""Lodestar inside other tools that search: `integrations.optuna`, `integrations.ray_tune`. Import the one you use."""
