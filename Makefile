# Two commands do everything: `make reproduce` and `make test`.
# Without make: python3 -m venv .venv; .venv/bin/pip install -r requirements.lock -e '.[suite]';
# .venv/bin/snakemake --cores all. The recipes below are these lines and little else.
PYTHON ?= python3
CORES ?= all
CASES ?= 50000
BIN := .venv/bin
LAUNCH := $(BIN)/python -m pauc_core.suite.launch
STAMP := .venv/.complete
.DEFAULT_GOAL := help
# Where the home folder cannot be written, what is kept between runs goes into this one.
ifeq ($(shell test -w "$$HOME" && echo yes),)
export XDG_CACHE_HOME := $(CURDIR)/.snakemake/caches
export MPLCONFIGDIR := $(CURDIR)/.snakemake/caches
endif
# In a C locale Python would read and write ASCII.
export PYTHONUTF8 := 1
.PHONY: help setup reproduce run smoke test test-all lint fuzz bench bench-peers readme published targets explain check-baseline reliability test-slurm clean

help:
	@echo "make reproduce    every table, figure and the report page, on generated and embedded data"
	@echo "make run SCALE=open [CONFIG='mirror=...'] [ARGS='-n']    any scale, settings and arguments of Snakemake"
	@echo "make smoke [MIRROR=...]    all datasets and methods of the scale open on a few hundred rows: does it run?"
	@echo "make test         lint, tests and one smoke run of the workflow"
	@echo "make test-all     what is slow: browser, cluster, kills, long fuzzing"
	@echo "make bench        speed as ratios, written to benchmarks/latest.csv"
	@echo "make bench-peers  LibAUC, installed beside into build/peers, against ours; writes docs/peers.md"
	@echo "make explain RUN=experiment/dataset/method[/seed] [SCALE=open]    where a number comes from"
	@echo "make check-baseline USE=module:Class [IN=folder]    the contract tests on a method of your own"
	@echo "make docs         the documentation as a site, below build/site"
	@echo
	@echo "make setup        .venv with the exact versions of requirements.lock"
	@echo "make lint         format, style, types, the workflow's own linter"
	@echo "make fuzz [CASES=50000]    new bad inputs for every reader"
	@echo "make test-slurm   the workflow on an emulated cluster"
	@echo "make reliability  kills, faults and bad input, counted in docs/reliability.md"
	@echo "make published    tables, figures and page of results/published, from its frames"
	@echo "make readme       the README's findings and docs/results.md, from results/published"
	@echo "make targets [SCALE=open]    the league's targets, from reference runs"
	@echo "make clean        what make reproduce and the tools left behind; .venv stays"

setup: $(STAMP)

# The stamp is written last: a half-made .venv never passes for a whole one.
$(STAMP): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Python 3.11 or newer is needed; this is $$($(PYTHON) --version 2>&1): install it or name it with make PYTHON=..." >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { echo "Python's venv is missing: install it (on Debian: apt-get install python3-venv)." >&2; exit 1; }
	@command -v cc >/dev/null || command -v gcc >/dev/null || { echo "A C compiler is missing: install one (on Debian: apt-get install gcc python3-dev)." >&2; exit 1; }
	rm -f $(STAMP)
	$(PYTHON) -m venv --clear .venv
	$(BIN)/pip install --quiet -r requirements.lock -e '.[suite,dev]'
	touch $(STAMP)

reproduce: $(STAMP)
	$(LAUNCH) --cores $(CORES)
	@echo "Done. Open results/default/report/index.html"

# Any scale and target through the launcher, which clears up after a killed run; ARGS are
# Snakemake's, as in make run SCALE=open ARGS='-n -- linear'.
run: $(STAMP)
	$(LAUNCH) --cores $(CORES) --config scale=$(or $(SCALE),default) $(CONFIG) $(ARGS)

# Everything of the scale open on a few hundred rows. MIRROR is a folder or an address; without one,
# what npm and PyPI do not have is generated.
smoke: $(STAMP)
	$(LAUNCH) --cores $(CORES) --config scale=smoke $(if $(MIRROR),mirror=$(MIRROR)) $(CONFIG) $(ARGS)
	@echo "Done. Open results/smoke/report/index.html"

lint: $(STAMP)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/snakefmt --check Snakefile workflow
	$(BIN)/snakemake --lint

test: $(STAMP) lint
	$(BIN)/pytest -n 2 --dist loadfile -m "not slow"

test-all: $(STAMP)
	@echo "On Linux as root the test of the cluster installs slurm-wlm and munge with apt-get, if missing; what is skipped says why." >&2
	$(BIN)/pytest -n 2 --dist loadfile -rs -m slow

bench: $(STAMP)
	$(BIN)/python -m benchmarks.run

# LibAUC goes into a folder of its own and is no dependency; PEERS names another folder.
bench-peers: $(STAMP)
	OMP_NUM_THREADS=1 $(BIN)/python -m benchmarks.peers $(or $(PEERS),build/peers) docs/peers.md

explain: $(STAMP)
	$(BIN)/python -m pauc_core.suite.explain '$(RUN)' $(if $(SCALE),--scale $(SCALE))

clean:
	rm -rf results/default .snakemake .pytest_cache .mypy_cache .ruff_cache

# The contract tests on a method that lies outside the tree, in the folder IN; PARAMS is JSON.
check-baseline: $(STAMP)
	@export PYTHONPATH='$(IN)'"$${PYTHONPATH:+:$$PYTHONPATH}" USE='$(USE)' PARAMS='$(PARAMS)'; \
	$(BIN)/python -m pauc_core.suite.named_code "$$USE" "$$PARAMS" && $(BIN)/pytest tests/test_contract.py

# Tables, figures and page of the published runs, from their collected frames alone.
published: $(STAMP)
	$(BIN)/python -m pauc_core.suite.publish results/published

# The league's targets from the reference runs of a scale, added to config/targets/ for a person to
# commit; those that are there stay.
targets: $(STAMP)
	$(BIN)/python -m pauc_core.suite.targets results/$(or $(SCALE),default)

readme: $(STAMP)
	$(BIN)/python -m pauc_core.report.readme README.md docs/results.md results/published

# The tools have a venv of their own: they would move versions that requirements.lock pins.
.PHONY: docs
docs: $(STAMP)
	$(BIN)/pytest tests/test_docs.py
	test -e .venv-docs/.complete || { $(PYTHON) -m venv --clear .venv-docs && $(BIN)/python -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["project"]["optional-dependencies"]["docs"], sep="\n")' | .venv-docs/bin/pip install --quiet -r /dev/stdin && touch .venv-docs/.complete; }
	NO_MKDOCS_2_WARNING=1 .venv-docs/bin/mkdocs build --quiet --strict
	@echo "Done. Open build/site/index.html"

# New cases every time; `make test` has 2,000 fixed ones.
fuzz: $(STAMP)
	FUZZ_CASES=$(CASES) $(BIN)/pytest tests/test_fuzz.py -k every_case

# Skipped with a sentence where an emulated cluster cannot be had.
test-slurm: $(STAMP)
	@echo "On Linux as root this installs slurm-wlm and munge with apt-get, if missing." >&2
	$(BIN)/pytest -rs tests/test_slurm.py

# What was measured is kept in results/reliability; PARTS='guests settings' measures these (again).
reliability: $(STAMP)
	$(BIN)/python -m tests.reliability docs/reliability.md README.md $(if $(PARTS),--parts $(PARTS))
