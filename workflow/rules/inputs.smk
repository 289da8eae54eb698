# What all rules share: the configuration, its parameters, and inputs whose number depends on it.

import functools
import os
import re
import shutil
import sys
import tempfile
from pathlib import Path

from snakemake.exceptions import WorkflowError
from snakemake.sourcecache import HostingProviderFile, LocalGitFile, LocalSourceFile


def checkout_of(source):
    """Root of this checkout; a module's commit of a git server is unpacked into a cache.

    All files of the workflow are read below this folder, and Snakemake by itself gets
    only snakefiles and scripts of a commit.
    """
    if isinstance(source, LocalSourceFile):
        return Path(str(source)).parents[1]
    if isinstance(source, HostingProviderFile):
        repository = source.hosted_repo.repo
    elif isinstance(source, LocalGitFile):
        import git  # needs the program

        repository = git.Repo(source.repo_path)
    else:
        raise WorkflowError(
            f"{source} has no folder; use github(...), gitlab(...) or a clone"
        )
    commit = repository.commit(source.ref).hexsha
    folder = Path(workflow.sourcecache.cache_path, "kerhrm", commit)
    if folder.exists():
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as temporary:
        archive = Path(temporary, "commit.tar")
        with archive.open("wb") as file:
            repository.archive(file, commit)
        unpacked = Path(temporary, "commit")
        shutil.unpack_archive(archive, unpacked)
        try:
            unpacked.rename(folder)
        except OSError:
            if not folder.exists():  # else another process was quicker
                raise
    return folder


# Wherever Snakemake was started and whether or not as a module.
ROOT = checkout_of(workflow.current_basedir)
SOURCE = str(ROOT / "src")
sys.path.insert(0, SOURCE)
os.environ["PYTHONPATH"] = os.pathsep.join(
    dict.fromkeys(filter(None, [SOURCE, *os.environ.get("PYTHONPATH", "").split(":")]))
)
# A random.py in the working folder hides Python's from no process that a job starts; scripts of a
# workflow that uses this one as a module may need their folder.
if workflow.modifier.is_main_snakefile():
    os.environ["PYTHONSAFEPATH"] = "1"
# A freed array's memory serves the next one: glibc's fresh, zeroed pages take half of the time.
os.environ.setdefault("MALLOC_MMAP_THRESHOLD_", str(32 * 2**20))
os.environ.setdefault("MALLOC_TRIM_THRESHOLD_", str(4 * 2**30))

from kerhrm.errors import KerhrmError
from kerhrm.files import visible_files
from kerhrm_paper.config.command_checks import check_number
from kerhrm_paper.config.config import load_config
from kerhrm_paper.config.layout import reserved
from kerhrm_paper.config.run_folder import no_folder
from kerhrm_paper.config.strict_yaml import read_overrides
from kerhrm_paper.config.targets import (
    check_cell_file,
    check_made,
    check_planned,
    check_search,
    check_unchanged,
    names_data,
)
from kerhrm_paper.runs import provenance
from kerhrm_paper.runs.cluster import check_gpus, check_threads
from kerhrm_paper.runs.code_facts import keep
from kerhrm_paper.runs.code_hash import code_hash
from kerhrm_paper.runs.locks import hold_run
from kerhrm_paper.runs.planned import planned_code
from kerhrm_paper.runs.timers import cancel_timers


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

    from kerhrm_paper.config.command_checks import (
        check_options,
        check_profiles,
        check_targets,
    )
    from kerhrm_paper.config.command_line import CommandLine
    from kerhrm_paper.config.written_files import check_written

    COMMAND = CommandLine(sys.argv[1:], get_argument_parser())
    checked(check_options, COMMAND)
    checked(check_profiles, COMMAND, ROOT, get_profile_dir)

# The command line as it was typed: Snakemake takes a file called 007 for a number.
if workflow.modifier.is_main_snakefile():
    overrides = checked(read_overrides, workflow.config_settings.config_args or [])
    CONFIG = checked(load_config, overrides, workflow.configfiles, ROOT)
else:
    CONFIG = checked(load_config, config, [], ROOT)
if (raw := os.environ.get("KERHRM_RAW_DIR")) and (wrong := no_folder(raw)):
    raise WorkflowError(f"KERHRM_RAW_DIR={raw} {wrong}, or unset KERHRM_RAW_DIR")
RUN = str(CONFIG.run)
if COMMAND is not None:
    checked(check_written, COMMAND, ROOT, RUN)
TABLES = CONFIG.tables
IN_ALL = [name for name, table in TABLES.items() if table.in_all]
THREADS = CONFIG.threads
# Locally this limits nothing; a cluster profile turns it into a request.
GPU = 0 if CONFIG.device == "cpu" else 1


#: rules that train several learners, by name; without wildcards they win over `train`
TOGETHER = {group.rule: group for group in CONFIG.groups}
# What a command or a profile says of the resources of `train` is said of these, too: before the
# first rule, at which Snakemake reads it.
for overwritten in (
    workflow.resource_settings.overwrite_resources,
    workflow.resource_settings.overwrite_threads,
):
    if "train" in overwritten:
        overwritten.update(dict.fromkeys(TOGETHER, overwritten["train"]))


pathvars:
    run=RUN,


def any_of(names):
    """A wildcard's constraint; without names one that nothing meets."""
    return "|".join(sorted(map(re.escape, names))) or "(?!)"


#: names of a run's own folders and files
RESERVED = reserved(ROOT)


wildcard_constraints:
    data=rf"(?!(?:{RESERVED.pattern})/)[^/]+",
    learner=r"[^/]+",
    table=any_of(TABLES),
    t=r"[1-9]\d*",


onstart:
    if workflow.local_exec:
        checked(check_number, "--cores", workflow.resource_settings.cores)
    else:
        checked(check_number, "--jobs", workflow.resource_settings.nodes)
        checked(check_threads, THREADS, workflow.resource_settings.cores)
        checked(
            check_gpus,
            CONFIG.device,
            workflow.resource_settings.overwrite_resources,
        )
    if CONFIG.device.startswith("cuda") and workflow.local_exec:
        # before any work; a cluster's head node may have no GPU, where its jobs have one
        from kerhrm.networks.base import resolve_device

        checked(resolve_device, CONFIG.device)
    checked(hold_run, RUN)


def data_of(wildcards):
    """The data of a job, by their name."""
    return checked(CONFIG.data, wildcards.data)


def learner_of(wildcards):
    """The learner of a job, by its name and that of the data."""
    return checked(CONFIG.learner, wildcards.data, wildcards.learner)


def replication(wildcards):
    """Parameter function: task, network, features and seeds of the data."""
    return data_of(wildcards).replication.params()


def shown(path, caption, category, **labels):
    """A file that ``snakemake --report`` shows, with a caption of workflow/report."""
    caption = f"../report/{caption}.rst"
    return report(path, caption=caption, category=category, labels=labels)


@functools.cache
def code(script, *modules):
    """Hash of all code that a script runs: as a parameter it makes an edit rerun the job."""
    return checked(planned_code, script, *modules, root=ROOT)


def code_of_data(script):
    """Parameter function: :func:`code` with the generator and the network of the data."""

    def value(wildcards):
        data = data_of(wildcards)
        return code(script, *data.entries.values(), *module_of(data))

    return value


def code_of_learners(script, learners_of):
    """Parameter function: :func:`code` with the methods and the network of a job."""

    def value(wildcards):
        modules = [m for one in learners_of(wildcards) for m in one.entries.values()]
        return code(script, *dict.fromkeys(modules), *module_of(data_of(wildcards)))

    return value


def module_of(data):
    """Module of a network that is no multilayer perceptron, in a list."""
    return list(filter(None, [data.network.module]))


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
    """The raw file that data are made from, if any."""
    raw = data_of(wildcards).raw
    return f"<run>/raw/{raw}.npz" if raw else []


def iterations(name, first, last):
    """Input function: a file of some iterations; ``last`` is a function of the wildcards."""
    path = f"<run>/{{data}}/{{learner}}/iterations/{{t}}/{name}.npz"
    return lambda wildcards: [
        path.format(t=t, data=wildcards.data, learner=wildcards.learner)
        for t in range(first, last(wildcards) + 1)
    ]


def scored_table(wildcards):
    """The table of a job that scores."""
    return TABLES[wildcards.table]


def search_of(wildcards):
    """The search of a job that selects."""
    return CONFIG.searches[wildcards.data]


def files_of_data(view_of, name):
    """Input function: a file of each data of a table, or of a search."""
    return lambda wildcards: [
        f"<run>/{data}/data/{name}.npz" for data in view_of(wildcards).data
    ]


def predictions_of_cells(view_of):
    """Input function: predictions of every cell of a table, or of a search."""
    return lambda wildcards: [
        f"<run>/{data}/{learner}/predictions.npz"
        for data, learner in view_of(wildcards).cells
    ]
