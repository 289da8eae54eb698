"""What targets of the workflow will take.

The jobs of a dry run x seconds of earlier ones.

Costs are tables of :data:`COLUMNS`: a rule, the ``DATA/LEARNER`` of its job as far as
it has them, and what the job took.
"""

import io
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path, PurePath

import pandas as pd

from kerhrm.errors import KerhrmError
from kerhrm_paper.runs import TOGETHER
from kerhrm_paper.runs.arrays import reading

FILE = "costs.tsv"  #: in results/reference
COLUMNS = ["rule", "place", "seconds", "memory_mb"]
#: where Snakemake looks for a workflow
SNAKEFILES = (
    "Snakefile",
    "snakefile",
    "workflow/Snakefile",
    "workflow/snakefile",
)
#: a finished run lists its jobs here
BENCHMARKS = "benchmarks"


def measured(run: Path) -> pd.DataFrame:
    """Costs of the jobs of a run, from Snakemake's benchmarks."""
    rows = []
    for path in sorted((run / BENCHMARKS).rglob("*.tsv")):
        rule, *place = path.relative_to(run / BENCHMARKS).with_suffix("").parts
        job = pd.read_csv(path, sep="\t")
        # a job may end too soon for Snakemake to know its memory
        memory = pd.to_numeric(job["max_rss"], errors="coerce").fillna(0.0)
        rows.append((rule, "/".join(place), job["s"].sum(), memory.max()))
    return pd.DataFrame(rows, columns=COLUMNS)


def stored(path: Path) -> pd.DataFrame:
    """Costs that ``kerhrm publish`` has written; none where there is no such file."""
    if not path.exists():
        return pd.DataFrame(columns=COLUMNS)
    with reading(path, f"git restore {path}"):
        costs = pd.read_csv(path, sep="\t", keep_default_na=False)[COLUMNS]
        return costs.astype({"seconds": float, "memory_mb": float})


def estimate(
    jobs: Sequence[tuple[str, str]], costs: pd.DataFrame
) -> tuple[pd.DataFrame, Counter[str]]:
    """What jobs take.

    As the same job, else on average of its rule on the same data, or at all.

    Returns rule, seconds and memory of each, and by rule the number of jobs of which
    none has run.
    """
    known, unknown = [], Counter[str]()
    for rule, place in jobs:
        own = costs[costs["rule"] == rule]
        if own.empty:
            unknown[rule] += 1
            continue
        base = place.partition("/")[0].partition("+")[0]
        bases = own["place"].str.partition("/")[0].str.partition("+")[0]
        alike = own[bases == base]
        same = own[own["place"] == place]
        others = next(rows for rows in (same, alike, own) if len(rows))
        known.append((rule, others["seconds"].mean(), others["memory_mb"].max()))
    frame = pd.DataFrame(known, columns=["rule", *COLUMNS[2:]])
    return frame.astype(dict.fromkeys(COLUMNS[2:], float)), unknown


def planned(
    targets: Sequence[str],
    config: Sequence[str] = (),
    configfiles: Sequence[Path] = (),
) -> list[tuple[str, str]]:
    """Jobs that Snakemake would run for targets: the pending files of its summary."""
    if not any(Path(name).is_file() for name in SNAKEFILES):
        problem = f"{Path.cwd()} is not a checkout of the workflow: it has no Snakefile"
        raise KerhrmError(problem, "cd to the checkout, and run the command there")
    if together := [target for target in targets if "," in target]:
        hint = f"write {' '.join(filter(None, together[0].split(',')))}"
        raise KerhrmError(f"target {together[0]} does not exist", hint)
    options = ["--config", *config] if config else []
    options += ["--configfile", *map(str, configfiles)] if configfiles else []
    files = summary([*targets, *options])
    files = files[files["plan"] == "update pending"]
    # several learners are one job, whose place is the first one's
    together = files["rule"].str.startswith(TOGETHER)
    files = files[~together | ~files["rule"].duplicated()]
    rules = files["rule"].where(~together[files.index], "train")
    return list(dict.fromkeys(zip(rules, files["output_file"].map(place), strict=True)))


def summary(words: Sequence[str], folder: str | Path = ".") -> pd.DataFrame:
    """Snakemake's own summary of the files that a command needs, a row each.

    ``words`` are those of a command in a ``folder``, without the program.
    Columns ``output_file``, ``rule``, ``plan`` and others of Snakemake's.  Raises
    KerhrmError with Snakemake's last line if it cannot plan.
    """
    command = [sys.executable, "-m", "snakemake", *words, "--summary", "--cores", "1"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if line.strip()]
        said = [line for line in lines if line[0] != " "]
        problem = f"Snakemake cannot plan {' '.join(words)}: {said[-1] if said else ''}"
        raise KerhrmError(problem, "check the targets and --config")
    return pd.read_csv(io.StringIO(done.stdout), sep="\t")


def place(file: str) -> str:
    """Place of the job that makes a file of a run, as its benchmark has it."""
    path = PurePath(file)
    parts = path.parent.parts
    if parts[-1] in ("data", "features"):
        return parts[-2]  # DATA
    if parts[-2:-1] == ("iterations",):
        return "/".join([*parts[-4:-2], parts[-1]])  # DATA/LEARNER/T
    if path.name in ("predictions.npz", "heterogeneity.npz", "scores.csv"):
        return "/".join(parts[-2:])
    return path.name.partition(".")[0]


def predict(
    targets: Sequence[str],
    cores: int = 2,
    config: Sequence[str] = (),
    configfiles: Sequence[Path] = (),
) -> str:
    """What targets will take on a machine as that of ``results/reference``.

    In all, and by rule.
    """
    if cores < 1:
        raise KerhrmError(f"--cores must be at least 1; got {cores}", "use --cores 1")
    jobs = planned(targets, config, configfiles)
    known, unknown = estimate(jobs, stored(Path("results/reference", FILE)))
    seconds, memory = (
        known["seconds"].sum(),
        known["memory_mb"].max() if len(known) else 0.0,
    )
    wall = max(seconds / cores, known["seconds"].max() if len(known) else 0.0)
    text = f"{len(jobs)} jobs: {duration(wall)} on {cores} cores or more, "
    text += f"{duration(seconds)} of one core, {memory / 1000:.1f} GB of memory"
    names = ", ".join(f"{number} of {rule}" for rule, number in unknown.items())
    text += f"; besides what is not known: {names}" if names else ""
    rules = known.groupby("rule")["seconds"].agg(jobs="size", core_seconds="sum")
    table = rules.sort_values("core_seconds", ascending=False).reset_index()
    return (
        text
        if table.empty
        else f"{text}\n{table.to_string(index=False, float_format='%.0f')}"
    )


def duration(seconds: float) -> str:
    """Seconds, minutes or hours."""
    for unit, length in (("hours", 3600), ("minutes", 60)):
        if seconds >= 2 * length:
            return f"{seconds / length:.3g} {unit}"
    return f"{seconds:.0f} seconds"
