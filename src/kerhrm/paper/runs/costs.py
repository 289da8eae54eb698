"""What targets of the workflow will take: the jobs of a dry run x seconds of earlier ones."""

import csv
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from kerhrm.errors import KerhrmError
from kerhrm.paper.runs.arrays import write_text

FILE = "costs.tsv"  #: in results/reference
COLUMNS = ("rule", "place", "seconds", "memory_mb")
#: a finished run lists its jobs here
BENCHMARKS = "benchmarks"
#: Snakemake's word in the column ``plan`` of a job that is to run
PENDING = "update pending"
Key = tuple[str, str]  #: rule and ``DATA/SETTING/LEARNER``, as far as the job has them


@dataclass(frozen=True)
class Cost:
    """Of one job."""

    seconds: float
    memory_mb: float


@dataclass(frozen=True)
class Estimate:
    """Of the jobs that a target needs."""

    jobs: int
    seconds: float  #: of one core
    longest: float  #: job, in seconds
    memory_mb: float  #: of the largest job
    unknown: dict[str, int]  #: jobs by rule of which no one has run

    def wall(self, cores: int) -> float:
        """Seconds on so many cores, at least."""
        return max(self.longest, self.seconds / cores)


def measured(run: Path) -> dict[Key, Cost]:
    """Costs of the jobs of a run, from Snakemake's benchmarks."""
    folder, costs = run / BENCHMARKS, {}
    for path in sorted(folder.rglob("*.tsv")):
        with path.open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file, delimiter="\t"))
        rule, *place = path.relative_to(folder).with_suffix("").parts
        memory = [_number(row.get("max_rss")) for row in rows]
        costs[rule, "/".join(place)] = Cost(sum(float(r["s"]) for r in rows), max(memory))
    return costs


def store(costs: Mapping[Key, Cost], path: Path) -> None:
    """Write costs as tab-separated text, for :func:`stored`."""
    rows = [(*key, f"{c.seconds:.4g}", f"{c.memory_mb:.4g}") for key, c in sorted(costs.items())]
    write_text(path, "".join("\t".join(row) + "\n" for row in (COLUMNS, *rows)))


def stored(path: Path) -> dict[Key, Cost]:
    """Costs that :func:`store` has written; none where there is no such file.

    Raises
    ------
    KerhrmError
        If it holds something else.
    """
    if not path.exists():
        return {}
    try:
        with path.open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file, delimiter="\t"))
        numbers = [Cost(float(row["seconds"]), float(row["memory_mb"])) for row in rows]
        return {(r["rule"], r["place"]): c for r, c in zip(rows, numbers, strict=True)}
    except (KeyError, TypeError, ValueError, csv.Error) as error:
        raise KerhrmError(f"{path} holds no costs of jobs ({error!r})", "restore it") from error


def estimate(jobs: Sequence[Key], costs: Mapping[Key, Cost]) -> Estimate:
    """What jobs take: as the same job, else on average of its rule on the same data, or at all."""
    known: list[Cost] = []
    unknown: dict[str, int] = {}
    for rule, place in jobs:
        same = [cost for key, cost in costs.items() if key == (rule, place)]
        data = f"{place.split('/')[0]}/"
        alike = [c for (r, p), c in costs.items() if r == rule and f"{p}/".startswith(data)]
        others = same or alike or [c for (r, _), c in costs.items() if r == rule]
        if others:
            mean = sum(cost.seconds for cost in others) / len(others)
            known.append(Cost(mean, max(cost.memory_mb for cost in others)))
        else:
            unknown[rule] = unknown.get(rule, 0) + 1
    seconds = [cost.seconds for cost in known]
    memory = max((cost.memory_mb for cost in known), default=0.0)
    return Estimate(len(jobs), sum(seconds), max(seconds, default=0.0), memory, unknown)


def planned(targets: Sequence[str], config: Sequence[str] = ()) -> list[Key]:
    """Jobs that Snakemake would run for targets: the pending files of its summary.

    Raises
    ------
    KerhrmError
        If Snakemake refuses.
    """
    command = [sys.executable, "-m", "snakemake", *targets, "--summary", "--cores", "1"]
    command += ["--config", *config] if config else []
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if line.strip()]
        hint = "correct the targets or the configuration"
        raise KerhrmError(f"no dry run: {' '.join(lines[-2:])}", hint)
    jobs: dict[Key, None] = {}
    for row in csv.DictReader(done.stdout.splitlines(), delimiter="\t"):
        if row["plan"] == PENDING:
            logs = row["log-file(s)"].split(",")[0].partition("/logs/")[2]
            rule, _, place = logs.removesuffix(".log").partition("/")
            jobs[rule, place] = None
    return list(jobs)


def predict(targets: Sequence[str], cores: int = 2, config: Sequence[str] = ()) -> str:
    """What targets will take on a machine as that of ``results/reference``, in one line."""
    if cores < 1:
        raise KerhrmError(f"cores={cores}: must be at least 1")
    found = estimate(planned(targets, config), stored(Path("results/reference", FILE)))
    text = f"{found.jobs} jobs: {duration(found.wall(cores))} on {cores} cores or more, "
    text += f"{duration(found.seconds)} of one core, {found.memory_mb / 1000:.1f} GB of memory"
    unknown = [f"{number} of {rule}" for rule, number in found.unknown.items()]
    return text + (f"; besides what is not known: {', '.join(unknown)}" if unknown else "")


def duration(seconds: float) -> str:
    """Seconds, minutes or hours."""
    for unit, length in (("hours", 3600), ("minutes", 60)):
        if seconds >= 2 * length:
            return f"{seconds / length:.3g} {unit}"
    return f"{seconds:.0f} seconds"


def _number(text: str | None) -> float:
    """A number; 0 for a job that ended too soon for Snakemake to know its memory."""
    try:
        return float(text or "")
    except ValueError:
        return 0.0
