# What all rules share: the configuration, where files live, and which code a rule runs.

import os
import re
from pathlib import Path

from snakemake.exceptions import WorkflowError

from kerhrm.config.resolve import resolve
from kerhrm.config.schema import TUNABLE
from kerhrm.errors import KerhrmError
from kerhrm.workflow.cluster import check_scheduler
from kerhrm.workflow.dependencies import fingerprint
from kerhrm.workflow.folders import (
    check_writable,
    folder_of,
    import_from,
    reuse_memory,
    setting_in,
)
from kerhrm.workflow.replaced import (
    forget_replaced,
    make_lost_files_again,
    note_replaced,
)

ROOT = Path(workflow.basedir)

try:
    CONFIG = resolve(config, ROOT / "config")
    check_writable(CONFIG.results)
except KerhrmError as error:
    raise WorkflowError(str(error))

# Used with --sdm conda; without it rules run in the environment at hand.  Either way jobs
# import the package of this checkout.
ENVIRONMENT = str(ROOT / "envs" / "environment.yml")
import_from(ROOT / "src")
reuse_memory()

RESULTS = f"{CONFIG.results}/{CONFIG.preset}"
ONE_SETTING = "{experiment}/{setting}"
SETTING = f"{RESULTS}/{ONE_SETTING}"  # everything of one setting
ITERATION = f"{SETTING}/iterations/{{t}}"
LOGS = f"{RESULTS}/logs"
BENCHMARKS = f"{RESULTS}/benchmarks"
EXPERIMENTS = CONFIG.experiments  # what tables and figures show
TUNINGS = {n: e.for_tuning() for n, e in EXPERIMENTS.items() if e.tuning}
SETUPS = EXPERIMENTS | {f"tune-{n}": e for n, e in TUNINGS.items()}  # all that can run
# Only a search at the paper's sizes writes what later runs use.
TUNED = (
    f"{RESULTS}/tuned"
    if CONFIG.preset != "paper"
    else os.path.relpath(ROOT / "config/tuned")
)
PAPER_VALUES = os.path.relpath(ROOT / "config" / "paper_values.yaml")
TABLES = sorted({e.table for e in EXPERIMENTS.values()})
FIGURES = [t for t in TABLES if t.startswith("figure")]
CHECKED = f"{RESULTS}/checked.txt"
REFERENCE = os.path.relpath(ROOT / "results/reference")
# Only a run at the paper's sizes writes its numbers into the README.
README_STAMP = [f"{RESULTS}/readme.md"] if CONFIG.preset == "paper" else []

# Rules that can use a GPU ask for one, unless the configuration forbids it.  Locally this
# limits nothing; a cluster profile turns it into a request.
GPU = 0 if CONFIG.device == "cpu" else 1
THREADS = CONFIG.threads


wildcard_constraints:
    experiment="|".join(SETUPS),
    setting="|".join(
        sorted({re.escape(folder_of(s)) for e in SETUPS.values() for s in e.settings})
    ),
    table="|".join(TABLES),
    t=r"\d+",


def code(name):
    """Fingerprint of a script and of every module that it imports.

    As a parameter of the rule it makes Snakemake rerun exactly the rules whose code has
    changed; by itself Snakemake would look at the script alone.
    """
    return fingerprint(ROOT / "workflow" / "scripts" / f"{name}.py")


# A cluster that cannot take the jobs is told before the first is submitted.
onstart:
    try:
        check_scheduler(workflow)
    except KerhrmError as error:
        raise WorkflowError(str(error))
    note_replaced(workflow)


onsuccess:
    forget_replaced()
