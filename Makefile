# Dawr from a fresh clone: `make demo` to look at it, `make install` to run it, `make test` to check it.

PYTHON ?= python3
PORT ?= 8787
JOBS ?= 5
# The commit that `make bench-gate` compares with, named in docs/performance.md too, the least ratio, and how often both take turns.
REV ?= c036407
BAR ?= 0.97
ROTATIONS ?= 40

BIN := .venv/bin
PIP := $(BIN)/python -m pip install -qq --disable-pip-version-check --constraint constraints.txt
PYTEST := $(BIN)/python -m pytest
# Tests of one file share servers, so they stay together.
AT_ONCE := -n $(JOBS) --dist loadfile --no-loadscope-reorder

# Whatever says that Python should not keep what it has compiled makes every process of a test compile all again.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help install setup demo quick test test-slow check bench bench-gate prove screenshots clean programs
.SILENT:
.SUFFIXES:
.DELETE_ON_ERROR:

help: ## Say what each target does
	awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-11s %s\n", $$1, $$2 }' Makefile

install: .venv/.runtime ## Make .venv with what the service needs, and nothing else (EXTRAS=archive,otel)
	$(if $(EXTRAS),$(PIP) --no-build-isolation --editable '.[$(EXTRAS)]')
	echo "Installed: $(BIN)/dawr ($$($(BIN)/dawr --version))"

setup: .venv/.installed ## The same with what the tests need

demo: .venv/.runtime ## Start the sample venues on 127.0.0.1:8787 (PORT=)
	exec $(BIN)/dawr demo --port $(PORT)

quick: .venv/.installed ## Run what needs no server and no process of its own: within a minute, on SQLite
	# What is ignored would be left out by its marks, but to read it takes longer than many tests.
	$(PYTEST) -q -m "not servers and not slow and not prove" -n $(JOBS) --dist worksteal \
		-p no:schemathesis --hypothesis-profile quick \
		--ignore tests/api --ignore tests/browser --ignore tests/stories --ignore tests/upgrade --ignore tests/test_servers.py

test: .venv/.installed programs ## Run the tests, on both stores (COVERAGE=1 measures what they reach)
	# Measuring takes half as long again: do it before a release, and when you like.
	$(PYTEST) -q -m "not slow and not prove" $(AT_ONCE) --ignore tests/api/test_schemathesis_often.py \
		-p tests.browser.scripts --scripts 85 $(if $(COVERAGE),--cov --cov-report=term-missing:skip-covered)

test-slow: .venv/.installed programs ## Run crash loops, crowds, long fuzzing, and several real processes
	$(PYTEST) -q -m "slow and not prove" $(AT_ONCE) --timeout 300

check: .venv/.installed ## Lint, format and types
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

bench: .venv/.installed programs ## Measure the engine, the edge, journeys, timers, the kit, the restaurant's rush, streams, statistics, and pages
	$(BIN)/python -m benchmarks.engine
	$(BIN)/python -m benchmarks.http
	$(BIN)/python -m benchmarks.desks
	$(BIN)/python -m benchmarks.advances
	$(BIN)/python -m benchmarks.timers
	$(BIN)/python -m benchmarks.restaurant
	$(BIN)/python -m benchmarks.streams
	$(BIN)/python -m benchmarks.status_cache
	$(BIN)/python -m benchmarks.relay
	$(BIN)/python -m benchmarks.instruments
	$(BIN)/python -m benchmarks.kit_idempotency
	$(BIN)/python -m benchmarks.kit_limits
	$(BIN)/python -m benchmarks.kit_cache
	$(BIN)/python -m benchmarks.moving
	$(BIN)/python -m benchmarks.traffic
	$(BIN)/python -m benchmarks.pages

bench-gate: .venv/.installed ## Compare the speed of `enter` with that of a fixed commit (REV=, BAR=, ROTATIONS=)
	$(BIN)/python -m benchmarks.gate --rev $(REV) --fail-under $(BAR) --rotations $(ROTATIONS)

screenshots: .venv/.installed programs ## Take a picture of every page in every state (into build/screenshots)
	$(BIN)/python -m tests.browser.screenshots

prove: .venv/.installed programs ## Run the long tests: load, and kill -9 under load
	$(PYTEST) -q -m prove --timeout 3600 tests

# Chromium, nginx, strace and the like, where they are missing and can be got.
programs: .venv/.installed
	$(BIN)/python -m tests.machine

clean: ## Remove everything that make has made; data stays
	rm -rf .venv .coverage .coverage.* .hypothesis .mypy_cache .pytest_cache .ruff_cache build dist htmlcov
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# What the service needs, and nothing for its development.
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
