# What all rules share: the configuration, where files live, and which code a rule runs.

import atexit
import functools
import hashlib
import inspect
import os
import re
import sys
from pathlib import Path

from snakemake.exceptions import WorkflowError
from snakemake.logging import logger

from kerhrm.errors import KerhrmError
from kerhrm.jobs.digests import Digests
from kerhrm.jobs.fingerprint import fingerprint
from kerhrm.jobs.lost import lost_files
from kerhrm.jobs.recover import hold
from kerhrm.jobs.scheduler import check_scheduler
from kerhrm.jobs.surroundings import check_writable, import_from, reuse_memory

# This checkout, wherever Snakemake was started and whether or not as a module.
ROOT = Path(inspect.currentframe().f_code.co_filename).resolve().parents[2]

try:
    # Here, for a method of another package may be at fault.
    from kerhrm.algorithm.penalties import PENALTIES
    from kerhrm.config.fresh import MORE
    from kerhrm.config.names import folder_of, setting_in
    from kerhrm.config.resolve import resolve
    from kerhrm.config.sharing import Sharing
    from kerhrm.costs.benchmarks import measured
    from kerhrm.costs.predict import PREDICTED, Job, predict, told
    from kerhrm.costs.reference import stored
    from kerhrm.costs.remaining import Remaining, TimeLeft
    from kerhrm.costs.schedule import ways
    from kerhrm.costs.sizes import size_of
    from kerhrm.data.registry import DATA_SETS, RAW, file_of, source_of, task_of
    from kerhrm.methods.registry import METHODS, tunable
    from kerhrm.reporting.titles import title_of
    from kerhrm.sections import suggest

    CONFIG = resolve(config, ROOT / "config", workflow.configfiles)
    check_writable(CONFIG.results)
except KerhrmError as error:
    raise WorkflowError(str(error))

# Used with --sdm conda; without it rules run in the environment at hand.  Either way jobs
# import the package of this checkout.
ENVIRONMENT = str(ROOT / "envs" / "environment.yml")
import_from(ROOT / "src")
reuse_memory()

RUN = f"{CONFIG.results}/{CONFIG.preset}"
ONE_SETTING = "{experiment}/{setting}"
SETTING = f"{RUN}/{ONE_SETTING}"  # everything of one setting
ITERATION = f"{SETTING}/iterations/{{t}}"
LOGS = f"{RUN}/logs"
BENCHMARKS = f"{RUN}/benchmarks"
EXPERIMENTS = CONFIG.experiments  # what tables and figures show
PLAIN = CONFIG.plain()  # all of it, as a parameter of rules
IN_ALL = [name for name, e in EXPERIMENTS.items() if e.in_all]
TUNINGS = {n: e.for_tuning() for n, e in EXPERIMENTS.items() if e.tuning}
SETUPS = EXPERIMENTS | {f"tune-{n}": e for n, e in TUNINGS.items()}  # all that can run
SHARED = Sharing(SETUPS)  # which setting's files a setting uses
BY_LANDMARKS = [name for name, e in SETUPS.items() if e.features]
TUNED = f"{RUN}/tuned"
PAPER_VALUES = os.path.relpath(ROOT / "config" / "paper_values.yaml")
TABLES = sorted({e.table for e in EXPERIMENTS.values()})
FIGURES = sorted({e.table for e in EXPERIMENTS.values() if e.notebook != "table"})
VARIED = sorted({e.table for e in EXPERIMENTS.values() if e.notebook == "figure3"})
DATASETS = {e.table: n for n, e in EXPERIMENTS.items() if e.notebook == "dataset"}
CHECKED = f"{RUN}/checked.txt"
REFERENCE = os.path.relpath(ROOT / "results/reference")
# Made by an earlier run and gone since: a run that failed while it replaced them.
LOST = lost_files(RUN)

# Rules that can use a GPU ask for one, unless the configuration forbids it.  Locally this
# limits nothing; a cluster profile turns it into a request.
GPU = 0 if CONFIG.device == "cpu" else 1
THREADS = CONFIG.threads


def any_of(names):
    """A wildcard's constraint; without names one that nothing meets."""
    return "|".join(sorted(map(re.escape, names))) or "(?!)"


wildcard_constraints:
    experiment=any_of(SETUPS),
    # Any: with all of their names each of some two hundred patterns took 10 ms to compile.
    setting=r"[\w.=+-]+",
    table=any_of(TABLES),
    raw=any_of(RAW),
    t=r"\d+",


DIGESTS = Digests(Path(".snakemake/kerhrm/digests.json"))
atexit.register(DIGESTS.keep)


@functools.cache
def code(script, *entries):
    """Fingerprint of a script and of all code that it runs, loaded by name or imported.

    As a parameter of the rule it makes Snakemake rerun exactly the rules whose code has
    changed; by itself Snakemake would look at the script alone.
    """
    return fingerprint(
        ROOT / "workflow" / "scripts" / f"{script}.py", *entries, known=DIGESTS
    )


# Memory (MB) and wall time (minutes) on a cluster; on one machine nothing is limited by
# them.  A job that is started again gets as much again of both: most likely it was stopped for
# want of one.  Inside a job group the input does not exist at submission, so that the
# first number counts; it holds at the paper's sizes.  Light rules have the profile's default.
TIMES_INPUT = 5  # measured at most 4.7, in reduce_ntf


def memory(mb):
    """Memory of a job: the larger of ``mb`` and its input's, times the attempt."""

    def mem_mb(wildcards, input, attempt):
        sizes = (os.path.getsize(f) for f in input if os.path.exists(f))
        return attempt * max(mb, TIMES_INPUT * sum(sizes) // 10**6)

    return mem_mb


def minutes(number):
    """Wall time of a job, times the attempt."""

    def runtime(wildcards, attempt):
        return attempt * number

    return runtime


# A cluster that cannot take the jobs is told before the first is submitted.
onstart:
    try:
        hold(RUN)
        check_scheduler()
    except KerhrmError as error:
        raise WorkflowError(str(error))
    prediction = predicted(workflow.dag)
    tell_while_it_runs(prediction)
    longest_first(prediction)
    if workflow.local_exec:
        # With a limit of jobs per second, which no machine reaches by itself, every pass over the
        # ready jobs starts a timer that starts another pass: a quarter of a core and more.
        workflow.scheduler.job_rate_limiter = None
