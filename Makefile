# The whole project in a few words; `make` lists them.
#
# PYTHON        the interpreter (3.11 or newer) that .venv is made with
# TORCH         which PyTorch; torch==2.13.0+cpu chooses the CPU build where the package
#               index has one (TORCH_INDEX: address of an index that does, see pytorch.org)
# CORES         how many cores to use (default: all)
# CONFIG        recover, report: configuration of the run, KEY=VALUE ...
# TARGET        recover: its targets (default: all)
# PROFILE       recover: its profile, as in profiles/slurm (default: on this machine)
# WORKFLOW_TESTS  test: folders of tests that run Snakemake (default: tests/dag)
# FAULTS        test-faults: how many faults (default: 5)
# FAULT_SEED    test-faults: which ones, and when (default: 0)
# BENCH         bench: sizes, full or quick (default: full)
# MACHINE       bench: folder of a run beside that of the reference machine (default: none)
# REPOSITORY    site: address below which the repository's files are (default: this checkout)

PYTHON ?= python3
TORCH ?= $(shell cat envs/torch.txt)
TORCH_INDEX ?=
CORES ?= all
WORKFLOW_TESTS ?= tests/dag
BENCH ?= full
REPOSITORY ?=
BENCH_ENV = BENCH=$(BENCH) BENCH_RESULTS=results/bench$(if $(filter full,$(BENCH)),,-$(BENCH))$(if $(MACHINE),/$(MACHINE))
# Not ?=, lest a variable of the environment is taken for them.
CONFIG =
MACHINE =
TARGET = all
PROFILE =

BIN := .venv/bin
SNAKEMAKE := $(BIN)/snakemake --cores $(CORES)
OPTIONS = $(TARGET) $(if $(PROFILE),--workflow-profile $(PROFILE)) $(if $(CONFIG),--config $(CONFIG))
WITH = $(if $(CONFIG),--config $(CONFIG))
# folder of the run of CONFIG
REPORTED = $(or $(patsubst results=%,%,$(filter results=%,$(CONFIG))),results)/$(or $(patsubst preset=%,%,$(filter preset=%,$(CONFIG))),paper)
# where the interrupted run wrote
WRITTEN = $(wildcard $(or $(patsubst results=%,%,$(filter results=%,$(CONFIG))),results)/*)

.PHONY: help env reproduce smoke recover test lint unit dag-test test-cluster test-faults lock dag docs \
  site report bench bench-peers clean

help:
	@echo "make reproduce   every table from raw data, at the paper's sizes"
	@echo "make smoke       the whole DAG on tiny sizes, a minute or two"
	@echo "make recover     after any interruption: clear up and go on where the run was;"
	@echo "                 after make smoke: make recover CONFIG=preset=smoke"
	@echo "make test        static checks, unit tests, the whole DAG"
	@echo "make test-cluster  the whole DAG on a Slurm of its own, on this machine"
	@echo "make test-faults runs that are killed, starved and interrupted; FAULTS=20 for more"
	@echo "make env         only the environment .venv"
	@echo "make lock        renew envs/requirements.lock"
	@echo "make dag         renew the picture of the DAG in docs/workflow.md"
	@echo "make docs        renew what is written in docs/ by the code"
	@echo "make site        the documentation as a site, in build/site; REPOSITORY=https://... makes"
	@echo "                 links to other files of the repository go there"
	@echo "make report      the page of results/paper, results/paper/report.html, and Snakemake's own"
	@echo "                 report beside it; make report CONFIG=preset=smoke: of that run"
	@echo "make bench       how fast it is: results/bench and docs/speed.md, some 12 minutes;"
	@echo "                 BENCH=quick: two minutes, in results/bench-quick"
	@echo "make clean       remove results/paper, results/fresh and results/smoke"

env: .venv/installed

.venv/installed: envs/requirements.lock envs/torch.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "$(PYTHON) is older than 3.11; run: make PYTHON=python3.11 $(MAKECMDGOALS)"; exit 1; }
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade pip setuptools
	$(BIN)/python -m pip install --quiet --require-hashes -r envs/requirements.lock
	$(if $(TORCH_INDEX),PIP_EXTRA_INDEX_URL=$(TORCH_INDEX)) $(BIN)/python -m pip install --quiet $(TORCH)
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --editable .
	$(BIN)/python -m pip check
	touch $@

reproduce: env
	$(SNAKEMAKE) all

smoke: env
	$(SNAKEMAKE) all --config preset=smoke

recover: env
	$(BIN)/python -m kerhrm.jobs.recover $(WRITTEN)
	$(SNAKEMAKE) --unlock $(OPTIONS)
	$(if $(PROFILE),$(BIN)/snakemake,$(SNAKEMAKE)) --rerun-incomplete $(OPTIONS)
	$(SNAKEMAKE) --delete-temp-output $(OPTIONS)
	$(BIN)/python -m kerhrm.jobs.recover --finished $(WRITTEN)

test: lint unit dag-test

lint: env
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/snakefmt --check Snakefile workflow
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	$(BIN)/snakemake --lint --config preset=smoke

unit: env
	$(BIN)/python -m pytest -n auto tests/unit tests/site

dag-test: env
	$(BIN)/python -m pytest -n 2 --dist loadfile $(WORKFLOW_TESTS)

test-cluster: env
	./tests/cluster/install.sh
	$(BIN)/python -m pytest tests/cluster

test-faults: env
	FAULTS=$(FAULTS) FAULT_SEED=$(FAULT_SEED) $(BIN)/python -m pytest tests/faults

lock: env
	PATH="$(CURDIR)/$(BIN):$$PATH" ./envs/lock.sh

dag: env
	$(BIN)/snakemake --rulegraph mermaid-js all | $(BIN)/python -m kerhrm.reporting.readme dag docs/workflow.md

docs: env
	$(BIN)/python -m kerhrm.config.documentation
	$(BIN)/python -m kerhrm.reporting.ambiguities_page
	$(BIN)/python -m kerhrm.reporting.option_sets_page
	$(BIN)/python -m kerhrm.config.fresh
	$(BIN)/python -m kerhrm.reporting.development
	$(BIN)/python -m kerhrm.reporting.results_page
	$(BIN)/python -m kerhrm.claims.page
	-$(BIN)/python -m kerhrm.reporting.reruns results/paper  # if there is such a run
	$(BIN)/python -m kerhrm.reporting.page

site: env
	REPOSITORY=$(REPOSITORY) $(BIN)/sphinx-build -W --keep-going -n -b html -d build/doctrees docs build/site
	@echo "open build/site/index.html"

report: env
	$(SNAKEMAKE) report $(WITH)
	$(SNAKEMAKE) report $(WITH) --report $(REPORTED)/snakemake_report.html
	@echo "open $(REPORTED)/report.html and $(REPORTED)/snakemake_report.html"

bench: env bench-peers
	-$(BENCH_ENV) $(BIN)/python -m pytest -c benchmarks/pytest.ini benchmarks
	$(BENCH_ENV) $(BIN)/python -m benchmarks.limits
	$(if $(filter full,$(BENCH)),$(BIN)/python -m benchmarks.page)

bench-peers: benchmarks/.venv/installed

# without it their cases are told as not run
benchmarks/.venv/installed: envs/peers.txt
	-$(PYTHON) -m venv benchmarks/.venv && \
	  benchmarks/.venv/bin/python -m pip install --quiet --no-deps -r envs/peers.txt && touch $@

clean:
	rm -rf results/paper results/fresh results/smoke
