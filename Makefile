# make run    the environment, and a first question
# make test   the tests
# make check  format, lint, types, tests, the real-tree stage: what CI runs
# make bench  times as ratios, on the real tree
#
# The real tree is the folder PYTORCH_SRC; the measured truth, for some of its tests, the folder PYTRACE_ORACLE.

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin

.PHONY: compiled run test check format lint types unit real bench wheel clean

# pyproject.toml decides what is installed; a changed one installs again.
$(VENV)/.ready: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	touch $@

# Byte code for the sources as they are: pip does this for a wheel, but not for a checkout, and where the environment
# says PYTHONDONTWRITEBYTECODE every question would compile all modules that it imports.
compiled: $(VENV)/.ready
	@$(BIN)/python -m compileall -q pytrace

run: compiled
	@if [ -n "$$PYTORCH_SRC" ]; then tree="$$PYTORCH_SRC"; from="PYTORCH_SRC"; \
	else tree=$$($(BIN)/python -c 'from pytrace.checkout import fetched_trees; print(*fetched_trees()[:1])'); \
	  from="fetched before"; \
	  if [ -z "$$tree" ]; then tree=fixtures/minitorch; \
	    from="the miniature tree; name a real one with PYTORCH_SRC, or get one: $(BIN)/pytrace fetch v2.6.0"; fi; fi; \
	echo "pytrace op lstm --root $$tree    ($$from)" >&2; \
	$(BIN)/pytrace op lstm --root "$$tree"

test: $(VENV)/.ready
	$(BIN)/python -m pytest $(ARGS)

check: format lint types unit real

format: $(VENV)/.ready
	$(BIN)/ruff format --check .

lint: $(VENV)/.ready
	$(BIN)/ruff check .

types: $(VENV)/.ready
	$(BIN)/mypy

unit: $(VENV)/.ready
	$(BIN)/python -m pytest --ignore=tests/real $(ARGS)

real: $(VENV)/.ready
	@if [ -n "$$PYTORCH_SRC" ]; then $(BIN)/python -m pytest tests/real $(ARGS); \
	else echo "*** THE REAL-TREE STAGE WAS SKIPPED: PYTORCH_SRC names no tree. ***" >&2; fi

bench: compiled
	$(BIN)/python benchmarks/run.py $(ARGS)
	$(BIN)/python benchmarks/reports.py $(ARGS)

# A wheel, installed alone in an empty environment, must work from any folder.
wheel: $(VENV)/.ready
	rm -rf dist build/wheel-check
	$(BIN)/python -m build --wheel --outdir dist . >/dev/null
	$(PYTHON) -m venv build/wheel-check
	build/wheel-check/bin/python -m pip install --quiet --disable-pip-version-check dist/*.whl
	tree="$$PWD/fixtures/minitorch"; bin="$$PWD/build/wheel-check/bin"; cd / && \
	  PYTRACE_CACHE=$$(mktemp -d) "$$bin/pytrace" index "$$tree" && "$$bin/pytrace" --version

clean:
	rm -rf .venv dist build .mypy_cache .ruff_cache .pytest_cache
