# Everything a newcomer needs. `make` alone lists the targets.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip --disable-pip-version-check --quiet
CODE   := $(wildcard src tests tools bench)
ARGS   ?=

.DEFAULT_GOAL := help
.PHONY: help install demo test test-long test-page check size bench ablation docs pictures dist lock clean

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

install: $(VENV)/.installed ## Create .venv with memfolio in it

demo: install ## Show what memfolio does, in a throw-away home
	$(BIN)/memfolio demo
	@echo "To look at such a home in the browser: make install, then $(BIN)/memfolio demo --open"

test: check ## Check the code, then run the tests
	$(BIN)/python tools/run_tests.py $(ARGS)

test-long: $(VENV)/.installed-dev ## Run the long tests at their full counts
	$(BIN)/python -m pytest -m long --hypothesis-profile=long $(ARGS)

test-page: $(VENV)/.installed-dev ## Run the tests of the page in a browser, and fail where there is none
	MEMFOLIO_TEST_PAGE=1 $(BIN)/python -m pytest tests/serve/page $(ARGS)

check: $(VENV)/.installed-dev ## Lint, formatting and types
	$(BIN)/ruff check $(CODE)
	$(BIN)/ruff format --check $(CODE)
	$(BIN)/mypy $(CODE)

size: install ## Measure the weight of the code, and hold it to its limits
	$(BIN)/python -m tools.size

bench: $(VENV)/.installed-dev ## Measure speed and size, each figure beside its floor
	$(BIN)/python -m bench.vault
	$(BIN)/python -m bench.verbs
	$(BIN)/python -m bench.life
	$(BIN)/python -m bench.reflect
	$(BIN)/python -m bench.facts
	$(BIN)/python -m bench.inference
	$(BIN)/python -m bench.heartbeat
	$(BIN)/python -m bench.imports
	$(BIN)/python -m bench.mcp
	$(BIN)/python -m bench.http
	$(BIN)/python -m bench.hooks
	$(BIN)/python -m bench.homes
	$(BIN)/python -m bench.page
	$(BIN)/python -m bench.postgres

ablation: install ## Write what each strategy is worth into docs/recall.md: make ablation FILES="…"
	$(BIN)/python -m tools.ablation $(FILES)

docs: $(VENV)/.installed-dev ## Check that the documentation is complete, linked and runs
	$(BIN)/python -m pytest tests/test_docs.py tests/test_surface.py $(ARGS)

pictures: $(VENV)/.installed-dev ## Make the pictures of README and docs from the real program
	$(BIN)/python -m tools.terminal
	$(BIN)/python -m tools.screenshots

dist: $(VENV)/.installed-dev ## Build the wheel and the source distribution into dist/
	rm -rf dist build/lib
	$(BIN)/python -m tools.dist dist

lock: ## Resolve the dependencies again and pin them
	$(PYTHON) -m venv build/lock
	build/lock/bin/python -m pip --disable-pip-version-check --quiet install uv
	build/lock/bin/python tools/lock.py

clean: ## Remove everything that make created
	rm -rf $(VENV) build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis src/*.egg-info
	find $(CODE) -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/.python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "memfolio needs Python 3.11 or later; say make PYTHON=python3.12")'
	$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/.installed: $(VENV)/.python requirements.lock pyproject.toml
	$(PIP) install -r requirements.lock
	$(PIP) install --no-deps --no-build-isolation -e .
	$(BIN)/python -m compileall -q src/memfolio
	@touch $@

$(VENV)/.installed-dev: $(VENV)/.installed requirements-dev.lock
	$(PIP) install -r requirements-dev.lock
	@touch $@
