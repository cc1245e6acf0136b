# Everything below needs only Python 3.11 or newer and make. PYTHON chooses the interpreter.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# One worker more than there are cores, since tests wait for the disk.
JOBS ?= $(shell expr $$(getconf _NPROCESSORS_ONLN) + 1)
GENERATORS := $(sort $(wildcard scripts/generate_*.py))
SOURCES := $(shell find src -type f -not -name '*.pyc') pyproject.toml README.md

# Compiled tests are kept: each of the workers compiles them anew otherwise.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: run test test-fast check check-types check-style check-generated test-slow test-again torture torture-short bench generate format clean help

help:  ## list the targets
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 14

run: $(VENV)/.run  ## watch a small agent work, get killed and resume; then see its story on a page, until Ctrl-C
	@$(BIN)/memoranda demo --ui

# The type checker needs one core only, so the tests run beside the checks.
test: $(VENV)/.test  ## check style, types, layers and generated files, and run every fast test on the built wheel
	@$(MAKE) --no-print-directory --jobs=2 check-style check-types check-generated test-fast

test-fast: $(VENV)/.test
	$(BIN)/python -m pytest -n $(JOBS) --dist worksteal -m "not slow"

test-slow: $(VENV)/.test  ## run the tests that take minutes; SEED=n draws other kills and faults, WHOLE=1 runs campaigns in full
	$(if $(WHOLE),MEMORANDA_TEST_WHOLE=1) $(BIN)/python -m pytest -n $(JOBS) --dist worksteal -m slow
	@$(MAKE) --no-print-directory torture-short

test-again: check  ## run the tests that failed in the last run once more, one after the other
	$(BIN)/python -m pytest --last-failed --last-failed-no-failures none

torture-short: $(VENV)/.test
	$(BIN)/python -m tests.torture --seed $(or $(SEED),1) --kills 200 --power-loss 200 --faults 100 --interrupts 2000 --tamperings 300 --contests 1 --fuzz 8000 --server-kills 20

torture: $(VENV)/.test  ## run thousands of kills, power losses and tamperings; SEED=n repeats a run
	$(BIN)/python -m tests.torture $(if $(SEED),--seed $(SEED))

bench: $(VENV)/.test  ## measure speed, each figure beside its limit; ENGINE=postgres beside pgbench
	$(BIN)/python -m benchmarks $(if $(ENGINE),--engine $(ENGINE))

check: $(VENV)/.test
	@$(MAKE) --no-print-directory --jobs=2 check-types check-style check-generated

check-types: $(VENV)/.test
	$(BIN)/mypy

check-style: $(VENV)/.test
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/lint-imports

check-generated: $(VENV)/.test
	set -e; for generator in $(GENERATORS); do $(BIN)/python $$generator --check; done

generate: $(VENV)/.test  ## regenerate the generated files
	set -e; for generator in $(GENERATORS); do $(BIN)/python $$generator; done

format: $(VENV)/.test  ## format with ruff
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

clean:  ## remove build products
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit("Memoranda needs Python 3.11 or newer; this is " + sys.version.split()[0] + ". Try: make PYTHON=python3.12 ...")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade 'pip>=25.1'

# The package is installed as a wheel, not linked: what is tested is what is shipped.
$(VENV)/.run: $(BIN)/python $(SOURCES) constraints.txt
	@echo "setting up ..."
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt '.[cli,server]'
	@touch $@

$(VENV)/.test: $(VENV)/.run
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --group dev
	@touch $@
