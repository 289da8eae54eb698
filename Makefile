# PYTHON   interpreter (3.11 or newer) of .venv         CORES    number of cores (default: all)
# TORCH    build of torch: cpu (default; cuda where the package index has no CPU build) or cuda
# CONFIG   recover, report: configuration of the run, KEY=VALUE ...
# TARGET   recover: targets (default: all)              PROFILE  recover: as in profiles/slurm
# WORKFLOW_TESTS  test: the tests that run Snakemake

PYTHON ?= python3
CORES ?= all
TORCH ?= cpu
WORKFLOW_TESTS ?= tests/faults tests/cluster tests/dag -m 'not slow'
CONFIG =
TARGET = all
PROFILE =

BIN := .venv/bin
PIP := $(BIN)/python -m pip install --quiet --no-deps
SNAKEMAKE = $(BIN)/snakemake $(if $(PROFILE),--workflow-profile $(PROFILE),--cores $(CORES))
WITH = $(if $(CONFIG),--config $(CONFIG))
# config/config.yaml may name another preset or folder; asked once, by the targets that need it
# (make -n on a bare machine has nobody to ask)
FOLDER = $(shell if test -x $(BIN)/python; \
  then $(BIN)/python -m kerhrm_paper.config.folder $(CONFIG); \
  else echo "the folder of the run"; fi)
RUN = $(eval RUN := $(or $(FOLDER),$(error correct CONFIG or config/config.yaml)))$(RUN)

# What a target does not take would be lost without a word.
OF_smoke = CORES PROFILE
OF_reproduce = CORES PROFILE
OF_recover = CORES PROFILE CONFIG TARGET
OF_report = CORES PROFILE CONFIG
OF_test = WORKFLOW_TESTS
OF_dag = WORKFLOW_TESTS
OF_axe = AXE AXE_OPTIONS
GOALS := $(or $(MAKECMDGOALS),help)
GIVEN := $(foreach name,$(.VARIABLES),$(if $(filter command,$(firstword $(origin $(name)))),$(name)))
LOST := $(filter-out PYTHON TORCH BIN $(foreach goal,$(GOALS),$(OF_$(goal))),$(GIVEN))
$(if $(LOST),$(error make $(GOALS) does not take $(LOST); `make help` lists what it takes))

.PHONY: help env smoke reproduce recover test lint unit dag lock site axe report bench clean
help:  ## this list
	@sed -n 's/^\([a-z]*\):.*## /  make \1\t/p' $(MAKEFILE_LIST) | expand -t 18
	@echo '  targets first, keys after one --config:'
	@echo '    snakemake --cores 2 table1 -R score --config preset=smoke device=cpu'

env: .venv/installed  ## the environment .venv from the hashed locks in envs/

.venv/installed: envs/requirements.lock envs/cpu.lock envs/cuda.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "run: make PYTHON=python3.11")'
	$(PYTHON) -m venv .venv
	$(PIP) --require-hashes -r envs/requirements.lock
	$(PIP) --require-hashes -r envs/$(TORCH).lock || $(PIP) --require-hashes -r envs/cuda.lock
	$(PIP) --no-build-isolation --editable .
	$(BIN)/python -m pip check
	touch $@

smoke: env  ## tables and figures at tiny sizes, compared with ours, 4 minutes with env: results/smoke
	$(SNAKEMAKE) all verify --config preset=smoke
	@echo "open results/smoke/report.html"

reproduce: env  ## tables and figures from raw data, on the published seeds, compared with ours: results/fresh
	$(SNAKEMAKE) all verify --config preset=fresh
	@echo "open results/fresh/report.html"

recover: env  ## continue an interrupted run: CONFIG=preset=smoke, TARGET=..., PROFILE=...
	$(BIN)/python -m kerhrm_paper.runs.recover "$(RUN)"
	$(SNAKEMAKE) --rerun-incomplete $(TARGET) $(WITH)
	@test ! -e "$(RUN)/report.html" || echo "open $(RUN)/report.html"

report: env  ## report.html of a run, and what it lacks (CONFIG=preset=smoke: of that run)
	$(SNAKEMAKE) report $(WITH)
	@echo "open $(RUN)/report.html"

test: lint unit dag  ## static checks, unit tests, the workflow at tiny sizes

lint: env  ## ruff, snakefmt, mypy, import-linter
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/snakefmt --check Snakefile workflow
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
unit: env build/oracles/installed build/encoder/installed  ## unit tests and the examples in docstrings
	$(BIN)/python -m pytest -n auto tests/unit
	$(BIN)/python -m pytest -n auto --doctest-modules src
# Without a network there are none, and the tests that need them are skipped.
build/%/installed: envs/%.lock | env
	@($(PIP) --require-hashes --retries 1 --timeout 15 --upgrade --target build/$* \
	    -r envs/$*.lock && touch $@) 2>/dev/null || true

dag: env  ## tests that run Snakemake (WORKFLOW_TESTS)
	$(BIN)/python -m pytest -n 3 --dist loadfile --no-loadscope-reorder $(WORKFLOW_TESTS)
lock: env  ## renew the locks in envs/ (needs uv)
	./envs/lock.sh
site: env  ## the documentation as a site: build/site
	rm -rf docs/generated  # pages of names that are gone
	$(BIN)/sphinx-build -W --keep-going -b html -d build/doctrees docs build/site
	@echo "open build/site/index.html"

# In a container Chrome needs AXE_OPTIONS='--chrome-options=no-sandbox'.
AXE := npx --yes @axe-core/cli@4.13.0
AXE_PAGES := index tutorial findings python own_data protocol algorithm api gallery/index
AXE_PAGES += choices peers studies workflow extending interruptions embeddings configuration
AXE_PAGES += gallery/plot_1_hidden_environments generated/kerhrm.KerHRMRegressor
axe: site  ## rules of accessibility on the site and the published page (npx, Chrome, chromedriver)
	@set -e; cp results/reference/report.html build/site/report.html; \
	  $(BIN)/python -m http.server 8765 --bind 127.0.0.1 --directory build/site >/dev/null 2>&1 & \
	  server=$$!; trap "kill $$server" EXIT; sleep 2; \
	  $(AXE) --exit $(AXE_OPTIONS) \
	    $(patsubst %,http://127.0.0.1:8765/%.html,report $(AXE_PAGES))

bench: env benchmarks/.venv/installed  ## speed: results/bench, eight minutes
	@$(BIN)/python -m benchmarks

# Without a network there is none, and the benchmarks say so.
benchmarks/.venv/installed: envs/peers.lock
	@($(PYTHON) -m venv benchmarks/.venv && \
	  benchmarks/.venv/bin/python -m pip install --quiet --no-deps --require-hashes \
	    --retries 1 --timeout 15 -r envs/peers.lock && touch $@) 2>/dev/null || true

clean:  ## remove results/paper, results/fresh, results/tuning and results/smoke
	rm -rf results/paper results/fresh results/tuning results/smoke
