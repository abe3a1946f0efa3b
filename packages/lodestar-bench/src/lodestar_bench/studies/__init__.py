"""Studies: smaller questions than a table, each a file and a command: `python -m lodestar_bench.studies.NAME`.

`python -m lodestar_bench.studies` lists them. Their answers stand in LOG.md and in the documentation. Speed is measured
elsewhere, in the repository's `benchmarks/`.
"""
