"""The commands `lodestar bench ...`, which join the command `lodestar` through an entry point."""

from lodestar_bench.cli.bench import register as register
