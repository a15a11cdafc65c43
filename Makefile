# `make ablation` and `make test` are the two to know; each sets the project up if it has to.

.PHONY: setup ablation test test-all test-slurm test-sky test-page lint docs bench-gpu constraints

BIN := .venv/bin
# `make setup EXTRA=cuda` installs JAX for GPUs, EXTRA=tpu for TPUs; later calls stay with it.
EXTRA ?= $(patsubst .venv/.ready-%,%,$(wildcard .venv/.ready-*))
READY := .venv/.ready-$(EXTRA)

setup: $(READY)

$(READY): pyproject.toml constraints.txt
	sh launch/setup.sh "$(EXTRA)"
	@touch $@

ablation: $(READY)
	$(BIN)/attnjax run scaling_and_heads --jobs auto

# The tests of a file share what they train and compile, so one process runs them.
test: lint
	$(BIN)/pytest -q -n 2 --dist loadfile

test-all: lint
	JAX_DISABLE_MOST_OPTIMIZATIONS=0 $(BIN)/pytest -q -n 2 -m ''

# Starts SLURM on this machine, and ends it again; root on Debian gets SLURM installed first.
test-slurm: $(READY)
	sh tests/launch/slurm/install.sh
	$(BIN)/pytest -q -m '' tests/launch/slurm/test_cluster.py

# SkyPilot's own parser reads our tasks; SkyPilot is installed beside, in .venv/skypilot.
test-sky: $(READY)
	$(BIN)/pytest -q -m '' -rs tests/launch/test_sky.py

# The page in a browser; root on Debian gets chromium installed first.
test-page: $(READY)
	sh tests/reporting/install_chromium.sh
	$(BIN)/pytest -q -m '' tests/reporting/test_browser.py

lint: $(READY)
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/pyright

# The top of the report of `make ablation`, by chromium.
docs/report.png: runs/scaling_and_heads/report.html
	chromium --headless --no-sandbox --hide-scrollbars --window-size=1100,1250 --screenshot=$@ $<

# The pages that are made of records and docstrings, and the site, in site/; a dead link fails.
docs: $(READY)
	$(BIN)/python docs/programs/equations.py > docs/equations.md.tmp
	mv docs/equations.md.tmp docs/equations.md
	$(BIN)/python docs/programs/measures.py > docs/measures.md.tmp
	mv docs/measures.md.tmp docs/measures.md
	$(BIN)/python docs/programs/results.py
	$(BIN)/python docs/programs/arena.py > docs/arena.md.tmp
	mv docs/arena.md.tmp docs/arena.md
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

# On a machine with a GPU; PYTHON may be any that has JAX for it, PEER one that has PyTorch.
PYTHON := $(BIN)/python
bench-gpu:
	$(PYTHON) -m benchmarks gpu $(addprefix --peer ,$(PEER)) > bench-gpu.json.tmp
	mv bench-gpu.json.tmp bench-gpu.json

# Newest versions that fit together, on every system; installed by the next `make setup`.
constraints: $(READY)
	$(BIN)/uv pip compile --quiet --upgrade --universal --python-version 3.12 --extra dev --extra docs \
		--no-header --no-annotate --output-file constraints.txt pyproject.toml
