# Each target sets up its own virtual environment (.venv) first; nothing outside this folder is touched.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready
LIGHT  := $(VENV)/.light

.PHONY: help demo test lint bench docs pictures clean
help:            ## show this list
	@grep -E '^[a-z]+: .*##|^[a-z]+: *##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/'

$(READY): pyproject.toml packages/lodestar-bench/pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check --editable '.[dev]' --editable packages/lodestar-bench
	@touch $(READY)

# What the demo needs is a tenth of what the tests do.
$(LIGHT): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check --editable '.[fit]' 'scikit-learn>=1.5'
	@touch $(LIGHT)

demo: $(LIGHT)   ## the whole way on real runs made on the spot: sweep, fit, forecast, evaluate, steer, report
	$(BIN)/python examples/demo.py

test: $(READY)   ## lint, types, then every test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright
	$(BIN)/python -m pytest

lint: $(READY)   ## ruff and pyright only
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright

bench: $(READY)  ## the figures in the docs: speed
	$(BIN)/python -m benchmarks

docs: $(READY)   ## write the reference of the commands anew, and build the site into site/
	$(BIN)/python -m lodestar.cli.reference docs/reference/cli.md
	$(BIN)/python -m lodestar.cli.reference docs/bench/cli.md bench
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo "Open site/index.html"

pictures: $(READY) ## draw the pictures of the docs anew, from a real run (needs chromium for the screenshots)
	$(BIN)/python docs/pictures.py

clean:           ## remove the virtual environment and caches
	rm -rf $(VENV) .pytest_cache .ruff_cache .hypothesis demo site
