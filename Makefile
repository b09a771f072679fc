# make demo   set everything up and watch a perceptron learn
# make test   set everything up and run the tests
# make check  lint, types, import order
# make docs   build the documentation into docs/_build/html
# make bench  print the speed ratios against the peers

PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check

.PHONY: demo test check docs bench clean

demo: .venv/core
	$(BIN)/rosenblatt demo

test: .venv/dev
	$(BIN)/python -m pytest -n 2 --dist worksteal

check: .venv/dev
	$(BIN)/ruff check src tests benchmarks docs
	$(BIN)/ruff format --check src tests benchmarks docs
	$(BIN)/mypy
	$(BIN)/lint-imports

docs: .venv/dev
	$(BIN)/sphinx-build -W --keep-going -b html docs docs/_build/html

bench: .venv/dev
	$(PIP) -e ".[bench]"
	for file in benchmarks/bench_*.py; do $(BIN)/python $$file || exit 1; done

clean:
	rm -rf .venv docs/_build docs/gallery docs/reference/generated

.venv/bin/python:
	$(PYTHON) -m venv .venv

.venv/core: .venv/bin/python pyproject.toml
	$(PIP) -e .
	touch $@

.venv/dev: .venv/bin/python pyproject.toml
	$(PIP) -e ".[dev]"
	touch $@ .venv/core
