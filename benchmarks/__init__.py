"""Benchmarks: figures and ratios, each from one command. Not tests: nothing here passes or fails."""
