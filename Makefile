# Each target sets up its own virtual environment (.venv) first; nothing outside this folder is touched.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready
LIGHT  := $(VENV)/.light

.PHONY: help demo test lint bench docs clean
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

bench: $(READY)  ## the figures in the README: speed, accuracy, store
	$(BIN)/python -m benchmarks

docs: $(READY)   ## write docs/cli.md and the README's examples anew
	$(BIN)/python -m lodestar.cli.reference docs/cli.md
	$(BIN)/python -m lodestar.cli.reference docs/bench_cli.md bench
	$(BIN)/python docs/embed_examples.py

clean:           ## remove the virtual environment and caches
	rm -rf $(VENV) .pytest_cache .ruff_cache .hypothesis demo
