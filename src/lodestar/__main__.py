"""`python -m lodestar`."""

from lodestar.cli import main

main()
