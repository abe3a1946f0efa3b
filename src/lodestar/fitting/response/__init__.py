"""Fits the response of training to known schedules: laws, kernels, past stands, and how far to trust each."""
