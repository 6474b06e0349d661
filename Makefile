# Dawr from a fresh clone: `make demo` to look at it, `make test` to check it.

PYTHON ?= python3
PORT ?= 8787
JOBS ?= 3

FUZZING := tests/api/test_schemathesis.py

BIN := .venv/bin
PIP := $(BIN)/python -m pip install -qq --disable-pip-version-check --constraint constraints.txt
PYTEST := $(BIN)/python -m pytest

.DEFAULT_GOAL := help
.PHONY: help setup demo test check bench prove clean
.SILENT:
.SUFFIXES:
.DELETE_ON_ERROR:

help: ## Say what each target does
	awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-6s %s\n", $$1, $$2 }' Makefile

setup: .venv/.installed ## Make .venv and install everything into it

demo: .venv/.runtime ## Start the sample venues on 127.0.0.1:8787 (PORT=)
	exec $(BIN)/dawr demo --port $(PORT)

test: .venv/.installed ## Run every test but the long ones
	# The fuzzing first and alone: its tests share one name each, and would be run once only by several processes.
	$(PYTEST) -q $(FUZZING) --cov --cov-report= --cov-fail-under=0
	$(PYTEST) -q -m "not prove" -n $(JOBS) --dist loadfile --no-loadscope-reorder --ignore $(FUZZING) \
		--cov --cov-append --cov-report=term-missing:skip-covered

check: .venv/.installed ## Lint, format and types
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

bench: .venv/.installed ## Measure the engine, the edge, the kit, the restaurant's rush, and event streams
	$(BIN)/python -m benchmarks.engine
	$(BIN)/python -m benchmarks.http
	$(BIN)/python -m benchmarks.restaurant
	$(BIN)/python -m benchmarks.streams
	$(BIN)/python -m benchmarks.status_cache
	$(BIN)/python -m benchmarks.relay
	$(BIN)/python -m benchmarks.instruments
	$(BIN)/python -m benchmarks.kit_idempotency
	$(BIN)/python -m benchmarks.kit_limits
	$(BIN)/python -m benchmarks.kit_cache
	$(BIN)/python -m benchmarks.moving

prove: .venv/.installed ## Run the long tests: load, and kill -9 under load
	$(PYTEST) -q -m prove --timeout 3600 tests

clean: ## Remove everything that make has made; data stays
	rm -rf .venv .coverage .coverage.* .hypothesis .mypy_cache .pytest_cache .ruff_cache build dist htmlcov
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# What the service needs, and nothing for its development: the quick way to the demo.
.venv/.runtime: pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Dawr needs Python 3.11 or newer: name one with 'make PYTHON=/path/to/python3.11'." >&2; exit 1; }
	echo "Installing into .venv ..."
	$(PYTHON) -m venv .venv
	$(PIP) hatchling editables
	$(PIP) --no-build-isolation --editable .
	touch $@

.venv/.installed: .venv/.runtime
	$(PIP) --no-build-isolation --editable '.[dev]'
	touch $@
