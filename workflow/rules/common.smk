# What all rules share: the configuration, where files live, and which code a rule runs.

import re
from pathlib import Path

from snakemake.exceptions import WorkflowError

from kerhrm.config.resolve import resolve
from kerhrm.errors import KerhrmError
from kerhrm.workflow.dependencies import fingerprint
from kerhrm.workflow.folders import check_writable

ROOT = Path(workflow.basedir)

try:
    CONFIG = resolve(config, ROOT / "config")
    check_writable(CONFIG.results)
except KerhrmError as error:
    raise WorkflowError(str(error))

RESULTS = f"{CONFIG.results}/{CONFIG.preset}"
SETTING = RESULTS + "/{experiment}/{setting}"  # everything of one setting
LOGS = RESULTS + "/logs/"
BENCHMARKS = RESULTS + "/benchmarks/"
EXPERIMENTS = CONFIG.experiments

# Rules that can use a GPU ask for one, unless the configuration forbids it.  Locally this
# limits nothing; a cluster profile turns it into a request.
GPU = 0 if CONFIG.device == "cpu" else 1
THREADS = CONFIG.threads


wildcard_constraints:
    experiment="|".join(EXPERIMENTS),
    setting="|".join({re.escape(s) for e in EXPERIMENTS.values() for s in e.settings}),
    t=r"\d+",


def code(name):
    """Fingerprint of a script and of every module that it imports.

    As a parameter of the rule it makes Snakemake rerun exactly the rules whose code has
    changed; by itself Snakemake would look at the script alone.
    """
    return fingerprint(ROOT / "workflow" / "scripts" / f"{name}.py")


def experiment_of(wildcards):
    return EXPERIMENTS[wildcards.experiment]


def setting_of(wildcards):
    return experiment_of(wildcards).settings[wildcards.setting]


def kerhrm_of(wildcards):
    return setting_of(wildcards).methods.kerhrm


def seeds_of(wildcards):
    return experiment_of(wildcards).seeds


def hidden_of(wildcards):
    return list(experiment_of(wildcards).hidden)


def settings_with(experiment, method):
    return [s for s, o in EXPERIMENTS[experiment].settings.items() if method in o.run]


def of_table(table):
    """Experiments that a table shows."""
    return [name for name, e in EXPERIMENTS.items() if e.table == table]
