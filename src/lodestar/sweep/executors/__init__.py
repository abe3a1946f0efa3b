"""Executors: where trials run, this machine's cores or a Ray cluster."""
