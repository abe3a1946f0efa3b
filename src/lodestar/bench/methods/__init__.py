"""Methods under test: a file each. `names()` lists them."""
