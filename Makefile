# One command per need; "make check" runs what CI runs, and more.
.DEFAULT_GOAL := help
.PHONY: help setup run test quick check static format-check lint types imports sizes format bench coverage footprint lock clean
MAKEFLAGS += --no-print-directory

BIN := .venv/bin
PYTHONS := src tests scripts $(wildcard benchmarks examples)

help: ## list the targets
	@sed -nE 's/^([a-z]+):.*## (.*)/  make \1|\2/p' $(firstword $(MAKEFILE_LIST)) | awk -F'|' '{ printf "%-18s %s\n", $$1, $$2 }'

setup: ## make .venv with every extra and the development tools (fast when nothing changed)
	@PYTHON="$(PYTHON)" sh scripts/setup.sh

run: setup ## serve console, HTTP API and MCP on 127.0.0.1:8700, with the configuration in examples/serve, until Ctrl-C
	@cd examples/serve && exec ../../$(BIN)/callgate serve $(ARGS)

test: setup ## run all tests, the slow ones included
	@$(BIN)/python -m pytest -n auto $(ARGS)

quick: setup ## run the tests that are neither slow nor crash tests
	@$(BIN)/python -m pytest -m "not slow and not crash" $(ARGS)

check: static coverage footprint ## run everything: static checks, all tests with coverage, footprint

static: format-check lint types imports sizes ## run the checks that need no test

format-check: setup
	$(BIN)/ruff format --check $(PYTHONS)

lint: setup
	$(BIN)/ruff check $(PYTHONS)

types: setup
	$(BIN)/basedpyright --warnings

imports: setup
	$(BIN)/lint-imports --no-cache

sizes: setup
	$(BIN)/python scripts/check_sizes.py

format: setup ## format the code and fix what can be fixed
	$(BIN)/ruff check --fix-only --quiet $(PYTHONS)
	$(BIN)/ruff format $(PYTHONS)

bench: setup ## run the benchmarks; only some with ARGS="reads gateway", their names with ARGS=--help
	@$(BIN)/python -m benchmarks $(ARGS)

coverage: setup ## run the tests with branch coverage and hold the rooms to their limits
	@$(BIN)/python -m pytest -n auto --cov --cov-report= --cov-fail-under=0 $(ARGS)
	@$(BIN)/coverage report --skip-covered; total=$$?; $(BIN)/python scripts/coverage_rooms.py && exit $$total

footprint: setup ## measure a fresh installation of the core dependencies against its limit
	@$(BIN)/python scripts/check_footprint.py

lock: setup ## write the lock files again from pyproject.toml (UPGRADE=1 for newer versions)
	@UPGRADE="$(UPGRADE)" sh scripts/lock.sh
	@$(BIN)/python scripts/check_footprint.py

clean: ## remove .venv, caches and build results
	rm -rf .venv .pytest_cache .ruff_cache .import_linter_cache .hypothesis .coverage .coverage.* build dist
	find src tests scripts -name __pycache__ -type d -prune -exec rm -rf {} +
