# Everything from a fresh checkout: `make demo` and `make test` set up what they need.
PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/.from-lock
DEMO_LAKE ?= demo-lake

# Python keeps compiled modules, else each command that a test starts compiles all of them again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: setup demo test test-full bench lint format

setup: $(STAMP)

# --no-deps: the lock is whole; torch comes as the CPU build where a package index offers one.
# The links show mypy the top-level folders under the names that they are installed by.
$(STAMP): infra/requirements.lock pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --requirement infra/requirements.lock
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	mkdir -p .venv/links/judgelake
	ln -sfn ../../../flows/public/__init__.py .venv/links/judgelake/__init__.py
	ln -sfn ../../../flows/public/py.typed .venv/links/judgelake/py.typed
	for folder in flows schemas sql tasks; do ln -sfn ../../../$$folder .venv/links/judgelake/$$folder; done
	touch $@

demo: setup
	$(BIN)/judgelake run infra/suites/demo.yaml --lake $(DEMO_LAKE)

test: setup
	$(BIN)/python -m pytest -m "not full" -n 2 --dist loadfile --no-loadscope-reorder

test-full: setup
	$(BIN)/python -m pytest -m full -n 3 --dist load

BENCHES := readers vqa_accuracy ngram_metrics meteor model_metrics metrics_lake correlation agreement family rankings coverage checks bias_reports matchups api local forced collection training gpu whole_run memory plan compact lake report page bucket command small_run sql_functions ingest

bench: setup
	set -e; for name in $(BENCHES); do $(BIN)/python -m tests.bench.bench_$$name; done

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/sqlfluff lint --disable-progress-bar --quiet sql

format: setup
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/sqlfluff fix --quiet sql
