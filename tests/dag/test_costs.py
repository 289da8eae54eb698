"""What the workflow foretells of jobs, against what they took."""

import re
import shutil
import sys
from pathlib import Path

import pytest
from dagtools import SMOKE, Checkout
from expected import SETUPS

from kerhrm.costs.benchmarks import measured, sized
from kerhrm.costs.finished import comparison, jobs_of
from kerhrm.costs.predict import PREDICTED, Stored
from kerhrm.costs.schedule import Task, plan
from kerhrm.costs.sizes import size_of

pytestmark = pytest.mark.dag

LINE = re.compile(
    PREDICTED + r"(\d+) jobs take about (\S+ \w+) on 2 cores, (\S+ \w+) of one core, "
    r"(\S+) GB of memory, (\S+) GB of disk$"
)
ASKED_MB = 2000  # profiles/default/config.yaml
SECONDS = {"seconds": 1, "minutes": 60, "hours": 3600}


def seconds(text: str) -> float:
    number, unit = text.split()
    return float(number) * SECONDS[unit]


def test_a_dry_run_ends_with_what_the_jobs_take(smoke: Checkout, results: Path) -> None:
    """It knows them from the run before, and nothing of another machine."""
    told = smoke.run("--dry-run", "--forceall", "all", *SMOKE).splitlines()[-1]
    found = LINE.match(told)
    assert found, told
    costs = measured(results)
    costs = {k: c for k, c in costs.items() if not any("tune" in p or "select" in p for p in k)}
    total = sum(cost.s for cost in costs.values())
    assert int(found[1]) == len(costs)
    assert seconds(found[3]) == pytest.approx(total, rel=0.01)
    assert total / 2 * 0.98 <= seconds(found[2]) <= total
    known = [cost.memory_mb for cost in costs.values() if cost.memory_mb]
    # What a job asks for stands in where it ended before Snakemake had looked at its memory.
    most = max(*known, 0 if len(known) == len(costs) else ASKED_MB)
    assert max(known) / 1000 - 0.05 <= float(found[4]) <= 2 * most / 1000 + 0.05
    assert float(found[5]) > 0


def test_a_run_tells_how_much_longer_it_takes(checkout: Checkout) -> None:
    """Here after every job, and not once a minute."""
    hasty = (
        "import sys, kerhrm.costs.remaining as told, snakemake.cli as cli; told.PAUSE = 0.0; "
        "cli.main(sys.argv[1:])"
    )
    until = ("all", "--until", "generate_data", "--forcerun", "generate_data")
    done = checkout.call(sys.executable, "-c", hasty, "--cores", "2", *until, *SMOKE)
    assert done.returncode == 0, done.stdout
    left = re.findall(r"^kerhrm: about \S+ \w+ left, (\d+) jobs$", done.stdout, re.MULTILINE)
    assert len(left) > 1, done.stdout
    assert [int(n) for n in left] == sorted((int(n) for n in left), reverse=True)


def test_nothing_to_be_done_takes_nothing(smoke: Checkout) -> None:
    assert PREDICTED not in smoke.run("--dry-run", "all", *SMOKE)


def test_a_run_is_foretold_by_its_own_costs(
    results: Path, smoke: Checkout, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the way of published costs, sizes among them, every rule's sum comes out."""
    monkeypatch.chdir(smoke.folder)
    run = Path("results/smoke")
    costs = sized(measured(run), lambda key: size_of(key, SETUPS))
    assert all(cost.size for cost in costs.values())
    stored = Stored({}, costs, lambda: 1.0)
    text = comparison(run, stored, 2)
    rows = [line.split("|")[1:-1] for line in text.splitlines() if line.startswith("|")][2:]
    assert len(rows) > 10
    shown = [row for row in rows if "tune" not in row[0] and row[0].strip() != "all"]
    assert {row[4].strip() for row in shown if row[0].strip() != "train_method"} == {"1.00"}
    assert text.splitlines()[-1].startswith("Wall time on 2 cores: predicted ")
    jobs = jobs_of(run, {})
    tasks = {n: Task(costs[job.key].s, 1, 1.0, job.needs) for n, job in jobs.items()}
    one, two = plan(tasks, 1), plan(tasks, 2)
    assert one.seconds == pytest.approx(one.core_seconds)
    assert one.seconds / 2 <= two.seconds < one.seconds


def test_untuned_options_are_told_in_one_line(checkout: Checkout) -> None:
    shutil.rmtree(checkout.folder / "config/tuned")
    done = checkout.snakemake("--dry-run", "table3")
    assert done.returncode == 1
    error = done.stdout.splitlines()[-1]
    assert error.startswith("error: config/tuned/regression.yaml: there are no tuned options of ")
    assert "; run `snakemake tune`, then" in error
    assert "Traceback" not in done.stdout
    assert "Exception" not in done.stdout


def test_the_first_line_counts_the_jobs_from_nothing(checkout: Checkout) -> None:
    """By hand, before there is a DAG; as many as Snakemake then finds."""
    done = checkout.snakemake("--dry-run", "all", *SMOKE)
    announced = re.search(r"(\d+) jobs from nothing", done.stdout)
    found = re.search(r"^total\s+(\d+)$", done.stdout, re.MULTILINE)
    assert announced is not None, done.stdout
    assert found is not None, done.stdout
    assert announced[1] == found[1]
