# What all rules share: the configuration, its parameters, and inputs whose number depends on it.

import functools
import os
import re
import sys
from pathlib import Path

from snakemake.exceptions import WorkflowError

# This checkout, wherever Snakemake was started and whether or not as a module.
ROOT = Path(str(workflow.current_basedir)).parents[1]
SOURCE = str(ROOT / "src")
sys.path.insert(0, SOURCE)
os.environ["PYTHONPATH"] = os.pathsep.join(
    dict.fromkeys(filter(None, [SOURCE, *os.environ.get("PYTHONPATH", "").split(":")]))
)
# A freed array's memory serves the next one: glibc's fresh, zeroed pages take half of the time.
os.environ.setdefault("MALLOC_MMAP_THRESHOLD_", str(32 * 2**20))
os.environ.setdefault("MALLOC_TRIM_THRESHOLD_", str(4 * 2**30))

from kerhrm.errors import KerhrmError
from kerhrm.paper.config import load_config
from kerhrm.paper.config.run_folder import no_folder
from kerhrm.paper.config.strict_yaml import read_overrides
from kerhrm.paper.runs import provenance
from kerhrm.paper.runs.code_hash import code_hash, keep
from kerhrm.paper.runs.locks import hold_run


def own(name):
    """Path of a file of this checkout; relative in it, so that copies of both stay up to date."""
    return name if Path.cwd() == ROOT else str(ROOT / name)


def checked(function, *arguments, **options):
    """Call something that may raise an error of one line."""
    try:
        return function(*arguments, **options)
    except KerhrmError as error:
        raise WorkflowError(str(error))


# The command, where Snakemake was started by one and not by Python, nor for a job.
COMMAND = None
program = Path(sys.argv[0])
started = "snakemake" in (program.name, program.parent.name)
main = workflow.modifier.is_main_snakefile() and workflow.is_main_process
if started and main:
    from snakemake.cli import get_argument_parser, get_profile_dir

    from kerhrm.paper.config.command_line import CommandLine

    COMMAND = CommandLine(sys.argv[1:], get_argument_parser())
    checked(COMMAND.check_options)
    checked(COMMAND.check_profiles, ROOT, get_profile_dir)

# The command line as it was typed: Snakemake takes a file called 007 for a number.
if workflow.modifier.is_main_snakefile():
    overrides = checked(read_overrides, workflow.config_settings.config_args or [])
    CONFIG = checked(load_config, overrides, workflow.configfiles, ROOT)
else:
    CONFIG = checked(load_config, config, [], ROOT)
if (raw := os.environ.get("KERHRM_RAW_DIR")) and (wrong := no_folder(raw)):
    raise WorkflowError(f"KERHRM_RAW_DIR={raw} {wrong}, or unset KERHRM_RAW_DIR")
RUN = str(CONFIG.run)
TABLES = CONFIG.tables
IN_ALL = [name for name, table in TABLES.items() if table.in_all]
THREADS = CONFIG.threads
# Locally this limits nothing; a cluster profile turns it into a request.
GPU = 0 if CONFIG.device == "cpu" else 1


pathvars:
    run=RUN,


def any_of(names):
    """A wildcard's constraint; without names one that nothing meets."""
    return "|".join(sorted(map(re.escape, names))) or "(?!)"


wildcard_constraints:
    data=r"[^/]+",
    setting=r"[^/]+",
    learner=r"[^/]+",
    table=any_of(TABLES),
    t=r"\d+",


onstart:
    checked(hold_run, RUN)


@functools.cache
def parameters(data, setting, learner=None):
    """Parameters of a setting, or of a learner in it."""
    return checked(CONFIG.params, data, setting, learner)


def of(key):
    """Parameter function: one of the parameters of a job's wildcards."""
    return lambda wildcards: parameters(**at(wildcards))[key]


def at(wildcards):
    """Data, setting and learner of a job, as far as it has them."""
    names = ("data", "setting", "learner")
    return {name: wildcards[name] for name in names if name in wildcards.keys()}


@functools.cache
def code(script, *modules):
    """Hash of all code that a script runs: as a parameter it makes an edit rerun the job."""
    return checked(code_hash, ROOT / "workflow" / "scripts" / f"{script}.py", *modules)


def code_of(script, *keys):
    """Parameter function: :func:`code` with what the configuration names by module."""

    def value(wildcards):
        found = parameters(**at(wildcards))
        names = [name for key in keys for name in found[key].values()]
        return code(script, *filter(None, [*names, found["network"].get("module")]))

    return value


def memory(mb):
    """Memory of a job in MB: at least five times its input, times the attempt."""

    def mem_mb(wildcards, input, attempt):
        sizes = (os.path.getsize(file) for file in input if os.path.exists(file))
        return attempt * max(mb, 5 * sum(sizes) // 10**6)

    return mem_mb


def minutes(number):
    """Wall time of a job in minutes, times the attempt."""
    return lambda wildcards, attempt: attempt * number


def raw_of(wildcards):
    """The raw file that a setting's data are made from, if any."""
    raw = parameters(wildcards.data, wildcards.setting)["raw"]
    return f"<run>/raw/{raw}.npz" if raw else []


def iterations(name, first, last):
    """Input function: a file of some iterations; ``last`` is a function of the wildcards."""
    path = f"<run>/{{data}}/{{setting}}/{{learner}}/iterations/{{t}}/{name}.npz"
    return lambda wildcards: [
        path.format(t=t, **at(wildcards)) for t in range(first, last(wildcards) + 1)
    ]
