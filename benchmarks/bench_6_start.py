"""Start-up, a whole small run in one process, and the orchestration around the jobs."""

import csv
import sys
from pathlib import Path

import pytest

from benchmarks import processes
from benchmarks.case import Case, NotRun, Work, not_run, times
from benchmarks.records import OK, Row, Tables
from benchmarks.sizes import Sizes

EXAMPLE = "example, whole process"
INSIDE = "example, without imports"
NOTHING = "nothing to do, preset smoke"
IMPORTS = {
    "start of Python": "pass",
    "import kerhrm": "import kerhrm",
    "import torch": "import torch",
    "import of KerHRM's loop": "import kerhrm.algorithm.loop",
}


def row(stage: str) -> Row:
    return {"stage": stage, "data": "-"}


@pytest.mark.parametrize("stage", [*IMPORTS])
def bench_import(case: Case, sizes: Sizes, stage: str) -> None:
    """Wall time of a whole interpreter that only imports."""
    command = [sys.executable, "-c", IMPORTS[stage]]
    case("stages", row(stage), lambda: lambda: processes.run(command, sizes.patience))


def bench_example(tables: Tables, sizes: Sizes) -> None:
    """One seed, two iterations, from data to test accuracy: the process, and its inside."""
    inside, outside = [], []
    try:
        for _ in range(min(3, sizes.rounds)):
            command = processes.worker("example")
            outside.append(processes.wall(command, sizes.patience))
            inside.append(processes.facts(command, sizes.patience)["seconds"])
    except Exception as error:
        for stage in (EXAMPLE, INSIDE):
            tables.put("stages", row(stage) | {"status": not_run(error)})
        pytest.skip(not_run(error))
    for stage, seconds in ((EXAMPLE, outside), (INSIDE, inside)):
        tables.put("stages", row(stage) | times(seconds) | {"status": OK})


@pytest.fixture(scope="module")
def elsewhere(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for Snakemake's own files and results."""
    return tmp_path_factory.mktemp("dag")


def snakemake(target: str) -> list[str | Path]:
    """Command that makes a target of preset smoke in the folder where it starts."""
    program, file = Path(sys.executable).parent / "snakemake", processes.ROOT / "Snakefile"
    options = ["--cores", "2", "--quiet", "all", "--config", "preset=smoke"]
    return [program, "--snakefile", file, *options, "--", target]


def target_of(sizes: Sizes) -> str:
    """Everything, or, where that takes too long, one job's file."""
    return "all" if sizes.whole_dag else "results/smoke/config.yaml"


def bench_dag(tables: Tables, sizes: Sizes, elsewhere: Path) -> None:
    """All jobs of preset smoke, once; and how much of it its jobs say that they took."""
    title = "DAG, preset smoke" if sizes.whole_dag else "DAG, one job"
    try:
        if sizes.name == "tiny":
            raise NotRun("not at tiny sizes")
        seconds = processes.wall(snakemake(target_of(sizes)), sizes.patience, elsewhere)
        jobs = [seconds_of(path) for path in (elsewhere / "results").rglob("benchmarks/**/*.tsv")]
    except Exception as error:
        tables.put("stages", row(title) | {"status": not_run(error)})
        pytest.skip(not_run(error))
    tables.put("stages", row(title) | times([seconds]) | {"status": OK})
    title = f"core-seconds of its {len(jobs)} jobs"
    tables.put("stages", row(title) | times([sum(jobs)]) | {"status": OK})


def bench_nothing_to_do(case: Case, sizes: Sizes, elsewhere: Path) -> None:
    """A second call, whose only work is to find out that there is none."""
    title = NOTHING if sizes.whole_dag else "nothing to do, one job"

    def prepare() -> Work:
        if not (elsewhere / "results").exists():
            raise NotRun("the DAG before it was not run")
        return lambda: processes.run(snakemake(target_of(sizes)), sizes.patience, elsewhere)

    case("stages", row(title), prepare, rounds=3, warm=0)


def seconds_of(path: Path) -> float:
    """Wall seconds of a job, from Snakemake's benchmark file."""
    with path.open(encoding="utf-8", newline="") as file:
        return sum(float(row["s"]) for row in csv.DictReader(file, delimiter="\t"))
