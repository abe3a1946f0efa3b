# Each target sets up its own virtual environment (.venv) first; nothing outside this folder is touched.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready
LIGHT  := $(VENV)/.light

LOWEST := $(VENV)/lowest

.PHONY: help demo test lowest lint bench docs pictures clean
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

# Old versions warn of new ones, so a warning is no error here. Left out: what needs trackers, a browser or a cluster.
lowest:          ## the tests of the product with the lowest versions that pyproject.toml allows (downloads them)
	$(PYTHON) -m venv --clear $(LOWEST)
	$(LOWEST)/bin/pip install --quiet --disable-pip-version-check uv
	$(LOWEST)/bin/uv pip install --quiet --python $(LOWEST)/bin/python --resolution lowest-direct --editable '.[fit,watch,remote]'
	$(LOWEST)/bin/uv pip install --quiet --python $(LOWEST)/bin/python 'pytest>=8' pytest-xdist hypothesis safetensors httpx
	$(LOWEST)/bin/python -m pytest -o filterwarnings=default tests/cli tests/report tests/runs tests/evaluate tests/forecaster \
		tests/fitting tests/doctor tests/schedules tests/scheduler tests/watch tests/test_extras.py \
		--ignore=tests/report/html/test_browser.py --ignore=tests/watch/test_browser.py \
		--ignore=tests/cli/test_import_trackers.py --ignore=tests/runs/test_store_addresses.py

lint: $(READY)   ## ruff and pyright only
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright

bench: $(READY)  ## the figures in the docs: speed
	$(BIN)/python -m benchmarks

docs: $(READY)   ## write the reference of the commands anew, and build the site into site/
	$(BIN)/python docs/commands.py docs/reference/cli.md
	$(BIN)/python docs/commands.py docs/bench/cli.md bench
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo "Open site/index.html"

pictures: $(READY) ## draw the pictures of the docs anew, from a real run (needs chromium for the screenshots)
	$(BIN)/python docs/pictures.py
	PYTHONPATH=. $(BIN)/python docs/rates_picture.py
	$(BIN)/python docs/pruned_trial.py

clean:           ## remove the virtual environment and caches
	rm -rf $(VENV) .pytest_cache .ruff_cache .hypothesis demo site
