"""Lodestar inside other tools that search: `integrations.optuna`. Import the one you use."""
