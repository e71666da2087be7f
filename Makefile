# Each target is complete: it installs what is missing, builds what changed, then does its work.

VENV := .venv
PY := $(VENV)/bin/python
SOURCES := python tests benchmarks examples scripts
PYTHON_SOURCES = $(wildcard $(SOURCES))

export PATH := $(PATH):$(HOME)/.cargo/bin
# Where llvm-config has no version in its name, tell the build script.
ifndef LLVM_CONFIG
LLVM_ENV = $(shell command -v llvm-config-22 >/dev/null || \
	{ llvm-config --version 2>/dev/null | grep -q '^22\.' && echo LLVM_CONFIG=llvm-config; })
endif
CARGO = $(LLVM_ENV) cargo

# The IR is verified after each pass, and an OpenCL device must be there; only CUDA tests may skip.
TEST_ENV := WEFT_VERIFY=1 WEFT_VERIFY_LLVM=1 WEFT_REQUIRE_OPENCL=1 WEFT_OPENCL_DIR=$(CURDIR)/$(VENV)/lib

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help demo test wheel promises bench fuzz plant fmt lint clean setup build test-rust test-python

help: ## This list
	@sed -nE 's/^([a-z-]+):.*## (.*)/  make \1|\2/p' Makefile | awk -F'|' '{ printf "%-20s %s\n", $$1, $$2 }'

demo: setup build ## One function, one kernel, one tensor expression on every device found, beside NumPy
	@WEFT_OPENCL_DIR=$(CURDIR)/$(VENV)/lib $(PY) examples/demo.py target/demo

test: setup lint test-rust build test-python ## Everything a change must pass

wheel: setup ## A self-contained wheel in dist/, checked for size and for what it links
	rm -rf dist
	$(LLVM_ENV) $(VENV)/bin/maturin build --profile wheel --out dist
	$(PY) scripts/pack_wheel.py dist/*.whl
	$(PY) scripts/check_wheel.py dist/*.whl

promises: ## The promises of docs/spec.md that are not kept, or in part, and what is missing
	@python3 scripts/promises.py

bench: build ## Benchmarks, as ratios against peers in one run, to target/bench/
	scripts/setup bench
	$(PY) benchmarks/run.py --json target/bench/results.json
	$(PY) benchmarks/kernels.py --json target/bench/kernels.json --picture target/bench/kernels.svg
	$(PY) benchmarks/spellings.py --json target/bench/spellings.json --table target/bench/spellings.txt

fuzz: build ## Random programs against CPython, array expressions against NumPy, IR at every stage, SECONDS=60 each
	$(TEST_ENV) $(PY) tests/fuzz.py --seconds $(or $(SECONDS),60)
	$(TEST_ENV) WEFT_STRESS_SECONDS=3600 $(PY) -m pytest -q tests/runtime/test_stress.py -k million
	$(TEST_ENV) WEFT_FUZZ_SECONDS=$(or $(SECONDS),60) $(CARGO) test --release -p weft-opt --test differential -- --nocapture

plant: build ## Bugs planted in the compiler, and how many random programs it takes to find each
	$(PY) tests/programs/plant.py

fmt: setup ## Format Rust and Python
	$(CARGO) fmt --all
	$(VENV)/bin/ruff check --quiet --fix --select I $(PYTHON_SOURCES)
	$(VENV)/bin/ruff format $(PYTHON_SOURCES)

lint: setup ## Formatting, clippy, ruff, mypy, and that tests name the promises that are kept
	$(CARGO) fmt --all --check
	$(CARGO) clippy --release --workspace --all-targets -- -D warnings
	$(VENV)/bin/ruff check $(PYTHON_SOURCES)
	$(VENV)/bin/ruff format --check $(PYTHON_SOURCES)
	$(VENV)/bin/mypy
	$(PY) scripts/promises.py --check

setup: ## System packages and .venv; does nothing where nothing is missing
	@scripts/setup

build: setup ## Build the extension into python/weft and put python/ on the path of .venv
	@$(LLVM_ENV) $(PY) scripts/build.py

test-rust: setup ## The tests of the crates, filetests included
	$(TEST_ENV) $(CARGO) test --release --workspace

test-python: build ## The tests under tests/
	$(TEST_ENV) $(PY) -m pytest

clean: ## Remove what was built; .venv stays
	rm -rf target dist .pytest_cache .mypy_cache .ruff_cache python/weft/_core*.so
