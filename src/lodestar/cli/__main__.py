"""`python -m lodestar.cli` does what `lodestar` does."""

from lodestar.cli import main

main()
