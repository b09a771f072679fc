# make demo   set everything up and watch a perceptron learn
# make test   set everything up and run the tests, the same examples every time
# make test-random   the property tests with newly drawn examples (nightly)
# make test-lowest   the tests on the oldest dependencies that pyproject.toml allows
# make test-gpu   the tests that need a CUDA device; without one they are skipped
# make check  lint, types, import order
# make pins   raise the pinned versions of the linters and the type checker to the newest
# make docs   build the documentation into docs/_build/html
# make release-check   build the archives, install the wheel into an empty environment, and use it there
# make bench  print the speed ratios against the peers
# make house  print the size and shape of the code: frames from fit to kernel, lines per package

PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check

.PHONY: demo test test-gpu test-random test-lowest check pins docs release-check bench house clean

demo: .venv/core
	$(BIN)/rosenblatt demo

test: .venv/dev
	$(BIN)/python -m pytest -n 2 --dist worksteal

# PYTHON=python3 runs them in another environment, one that has CuPy.
test-gpu:
	PYTHONPATH=src $(PYTHON) -m pytest -q -rs tests/gpu

# New examples each time; a failure prints the @reproduce_failure line that repeats it.
test-random: .venv/dev
	HYPOTHESIS_PROFILE=random $(BIN)/python -m pytest -n 2 --dist worksteal tests

# TESTS=tests/kernels runs a part of them.
test-lowest: .venv-lowest/dev
	ROSENBLATT_CACHE_DIR=$(CURDIR)/.venv-lowest/kernels \
		.venv-lowest/bin/python -m pytest -n 2 --dist worksteal $(TESTS)

check: .venv/dev
	$(BIN)/ruff check src tests benchmarks docs
	$(BIN)/ruff format --check src tests benchmarks docs
	$(BIN)/mypy
	$(BIN)/lint-imports

pins: .venv/dev
	$(PIP) --upgrade ruff mypy import-linter
	$(BIN)/python -c "$$PINS"
	$(MAKE) check

docs: .venv/dev
	$(BIN)/sphinx-build -W --keep-going -b html docs docs/_build/html

release-check: .venv/dev
	.ci/release-check $(BIN)/python

bench: .venv/dev
	$(PIP) -e ".[bench]"
	for file in benchmarks/bench_*.py; do $(BIN)/python $$file || exit 1; done

house: .venv/dev
	$(BIN)/python benchmarks/house.py

clean:
	rm -rf .venv .venv-lowest docs/_build docs/gallery docs/reference/generated

.venv/bin/python:
	$(PYTHON) -m venv .venv

.venv/core: .venv/bin/python pyproject.toml
	$(PIP) -e .
	touch $@

.venv/dev: .venv/bin/python pyproject.toml
	$(PIP) -e ".[dev]"
	touch $@ .venv/core

# Each requirement of the library, its extras and its tests, at exactly its lower bound.
.venv-lowest/dev: pyproject.toml
	$(PYTHON) -m venv .venv-lowest
	$(PYTHON) -c "$$LOWEST" > .venv-lowest/requirements.txt
	.venv-lowest/bin/python -m pip install --quiet --disable-pip-version-check \
		-r .venv-lowest/requirements.txt
	.venv-lowest/bin/python -m pip install --quiet --disable-pip-version-check --no-deps -e .
	touch $@

define PINS
import pathlib, re
from importlib.metadata import version
file = pathlib.Path("pyproject.toml")
pinned = re.compile(r'"(ruff|mypy|import-linter)==[^"]+"')
file.write_text(pinned.sub(lambda tool: f'"{tool[1]}=={version(tool[1])}"', file.read_text()))
endef
export PINS

define LOWEST
import tomllib
project = tomllib.load(open("pyproject.toml", "rb"))["project"]
extras = project["optional-dependencies"]
tools = ("ruff", "mypy", "import-linter", "pre-commit", "sphinx", "myst", "pydata", "numpydoc", "build")
wanted = project["dependencies"] + [one for name in ("plot", "lab", "onnx", "cluster", "course", "dev") for one in extras[name]]
print("\n".join(one.replace(">=", "==") for one in wanted if not one.startswith(("rosenblatt", *tools))))
endef
export LOWEST
