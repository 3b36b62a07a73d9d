# Two commands do everything on a fresh machine with Python 3.11: `make demo` and `make test`.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin

# What one process compiles of the sources, those that tests and demo start later find, whatever the environment says.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: demo test soak test-aarch64 test-opencl test-cluster lint docs notebooks bench clean

$(VENV)/.ready: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "einloom needs Python 3.11 or newer")'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "setting up $(VENV)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	@touch $@

$(VENV)/.ready-test: $(VENV)/.ready
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[test]'
	@touch $@

$(VENV)/.ready-lint: $(VENV)/.ready
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[lint]'
	@touch $@

$(VENV)/.ready-docs: $(VENV)/.ready
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[docs]'
	@touch $@

$(VENV)/.ready-notebooks: $(VENV)/.ready
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[notebooks]'
	@touch $@

demo: $(VENV)/.ready
	@$(BIN)/einloom demo

test: $(VENV)/.ready-test
	$(BIN)/python -m pytest -n auto

# Full counts of the tests that try random cases, each in a process of its own (tests/soak.py): an hour or more.
soak: $(VENV)/.ready-test
	$(BIN)/python -m tests.soak $(SOAK)

# The package under an emulated arm64 CPython, which is fetched into a cache folder (docs/how-to/test-on-aarch64.md).
test-aarch64: $(VENV)/.ready
	$(BIN)/python tests/aarch64/emulator.py test $(AARCH64)

# einsum on OpenCL, which PoCL runs on this processor; it is fetched into a cache folder (docs/how-to/run-on-a-gpu.md).
test-opencl: $(VENV)/.ready-test
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[opencl,test]'
	$(BIN)/python tests/opencl/pocl.py test --optional

# einloom.cluster with Dask and MPI, in an environment of its own in build/cluster (docs/how-to/use-a-cluster.md).
test-cluster:
	$(PYTHON) tests/cluster/environment.py --optional $(CLUSTER)

lint: $(VENV)/.ready-lint $(VENV)/.ready-test
	$(BIN)/ruff check src tests benchmarks
	$(BIN)/ruff format --check src tests benchmarks
	$(BIN)/pyright

# The site, in build/site. A link that leads nowhere is an error (but not under --quiet, which hides what is counted).
docs: $(VENV)/.ready-docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

# Runs every notebook whose libraries are installed, and names the others.
notebooks: $(VENV)/.ready-notebooks
	$(BIN)/python notebooks/run.py

bench: $(VENV)/.ready
	$(BIN)/einloom bench tensor_operations --peers numpy

clean:
	rm -rf $(VENV) dist build .pytest_cache .hypothesis .ruff_cache
