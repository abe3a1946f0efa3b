"""Tasks: a file each. `names()` lists them."""
