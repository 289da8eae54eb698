"""What jobs of the workflow took, and which jobs targets need.

Costs are tables of :data:`COLUMNS`: a rule, the ``DATA/LEARNER`` of its job as far as
it has them, and what the job took.
"""

import io
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path, PurePath

import pandas as pd

from kerhrm.errors import KerhrmError, shown
from kerhrm.files import visible_files
from kerhrm_paper.runs import TOGETHER, provenance
from kerhrm_paper.runs.arrays import reading, restoring

FILE = "costs.tsv"  #: in results/reference
COLUMNS = ["rule", "place", "seconds", "memory_mb"]
#: where Snakemake looks for a workflow
SNAKEFILES = (
    "Snakefile",
    "snakefile",
    "workflow/Snakefile",
    "workflow/snakefile",
)
#: Snakemake reads a job's CPU time every so many seconds
LOOK_SECONDS = 30
#: a finished run lists its jobs here
BENCHMARKS = "benchmarks"
#: rules of a single job, which has no place
SINGLE = (
    "check_claims",
    "check_results",
    "measure_band",
    "measure_choices",
    "render_report",
    "test_endpoints",
    "write_configuration",
)


def measured(run: Path) -> pd.DataFrame:
    """Costs of the jobs of a run, from Snakemake's benchmarks.

    A job that was suspended, or shared its core, took longer by the clock than it
    computed.  So a job's seconds are at most its CPU seconds and the interval in which
    Snakemake looks at them.  The benchmark of an earlier job, whose file a job of
    several learners has made again, does not count.
    """
    rows = []
    folder = run / BENCHMARKS
    with reading(folder):
        paths = visible_files(folder, "**/*.tsv")
    for path in paths:
        relative = path.relative_to(folder)
        name = relative.with_suffix("")
        rule, *place = name.parts
        if rule == "train" and _is_outdated(run, place):
            continue
        job = pd.read_csv(path, sep="\t")
        elapsed = job["s"].sum()
        computed = pd.to_numeric(job["cpu_time"], errors="coerce")
        computed = computed.fillna(0.0).sum()
        seconds = min(elapsed, computed + LOOK_SECONDS)
        # a job may end too soon for Snakemake to know its memory
        memory = pd.to_numeric(job["max_rss"], errors="coerce")
        memory = memory.fillna(0.0).max()
        where = "/".join(place)
        row = (rule, where, seconds, memory)
        rows.append(row)
    return pd.DataFrame(rows, columns=COLUMNS)


def _is_outdated(run: Path, place: Sequence[str]) -> bool:
    """Whether another job than that of the place, whose benchmark is elsewhere, has
    made its predictions since."""
    file = "/".join([*place, "predictions.npz"])
    record = provenance.read(run, file)
    learners = record.get("params", {}).get("learners") if record else None
    if not learners:
        return False
    first, *_ = learners
    return bool(first["name"] != place[-1])


def stored(path: Path) -> pd.DataFrame:
    """Costs that ``kerhrm publish`` has written; none where there is no such file.

    Raises KerhrmError for a file of other columns.
    """
    with reading(path, restoring(path)):
        if not path.exists():
            return pd.DataFrame(columns=COLUMNS)
        costs = pd.read_csv(path, sep="\t", keep_default_na=False)
        if [*costs] != COLUMNS:
            problem = f"its columns must be {', '.join(COLUMNS)}"
            raise ValueError(f"{problem}; got {shown(', '.join(costs))}")
        return costs.astype({"seconds": float, "memory_mb": float})


def planned(
    targets: Sequence[str],
    config: Sequence[str] = (),
    configfiles: Sequence[Path] = (),
) -> list[tuple[str, str]]:
    """Jobs that Snakemake would run for targets: the pending files of its summary."""
    is_checkout = any(Path(name).is_file() for name in SNAKEFILES)
    if not is_checkout:
        problem = f"{Path.cwd()} is not a checkout of the workflow: it has no Snakefile"
        raise KerhrmError(problem, "cd to the checkout, and run the command there")
    for target in targets:
        if target.startswith("-"):
            problem = f"{target} is an option of Snakemake, and no target"
            raise KerhrmError(problem, "leave it out, and the -- before it")
        if "," in target:
            names = [name for name in target.split(",") if name]
            hint = f"write {' '.join(names)}"
            raise KerhrmError(f"target {target} does not exist", hint)
    words = [*targets]
    if config:
        words += ["--config", *config]
    if configfiles:
        words += ["--configfile", *map(str, configfiles)]
    files = summary(words)
    files = files[files["plan"] == "update pending"]
    # several learners are one job, whose place is the first one's
    every_rule = files["rule"]
    is_together = every_rule.str.startswith(TOGETHER)
    is_repeated = is_together & every_rule.duplicated()
    files = files[~is_repeated]
    rules = files["rule"].mask(is_together, "train")
    places = files["output_file"].map(place)
    places = places.mask(rules.isin(SINGLE), "")
    pairs = zip(rules, places, strict=True)
    return list(dict.fromkeys(pairs))


def summary(words: Sequence[str], folder: str | Path = ".") -> pd.DataFrame:
    """Snakemake's own summary of the files that a command needs, a row each.

    ``words`` are those of a command in a ``folder``, without the program.
    Columns ``output_file``, ``rule``, ``plan`` and others of Snakemake's.  Raises
    KerhrmError with Snakemake's last line if it cannot plan.
    """
    # without -P a random.py in this folder would hide Python's
    snakemake = [sys.executable, "-P", "-m", "snakemake"]
    command = [*snakemake, *words, "--summary", "--cores", "1"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if done.returncode:
        lines = done.stderr.splitlines()
        written = [line for line in lines if line.strip()]
        messages = [line for line in written if not line.startswith(" ")]
        last = messages[-1] if messages else ""
        cause, _, hint = last.rpartition("; ")  # an error of this workflow has a hint
        problem = f"Snakemake cannot plan {' '.join(words)}: {cause or last}"
        raise KerhrmError(problem, hint if cause else "check the targets and --config")
    table = io.StringIO(done.stdout)
    return pd.read_csv(table, sep="\t")


def place(file: str) -> str:
    """Place of the job that makes a file of a run, as its benchmark has it."""
    path = PurePath(file)
    folders = path.parent.parts
    if folders[-1] in ("data", "features"):
        return folders[-2]  # DATA
    if folders[-1] == "studies":
        return folders[-1]  # one job makes all files of a study
    if folders[-2:-1] == ("iterations",):
        data, learner, _, t = folders[-4:]
        return f"{data}/{learner}/{t}"
    if path.name in ("predictions.npz", "heterogeneity.npz", "scores.csv"):
        return "/".join(folders[-2:])
    name = PurePath(path.name.removesuffix(".gz")).stem
    return name.removesuffix("-comparisons")  # which the job of a table writes, too
