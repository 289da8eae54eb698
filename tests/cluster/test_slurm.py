"""Through a real Slurm: the same tables, in few jobs, each with the resources it asks
for."""

import re
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from clustertools import QUICK, QUICK_SLURM, TARGETS, Cluster, Runs, submissions
from dagtools import SMOKE, TIMEOUT_SECONDS, Checkout, contents, replace
from faulttools import Run, recover
from local_slurm import Slurm

pytestmark = pytest.mark.cluster

TABLE_1_JOBS = 60
DATA = "classification+r2=0.7"
FEATURES = f"results/smoke/{DATA}/features/training.npz"
ERM = f"results/smoke/{DATA}/erm/predictions.npz"
LOG = f"results/smoke/logs/train/{DATA}/erm.log"
STEPS = 6_000  # ten seconds


def test_results_are_those_of_a_local_run(runs: Runs) -> None:
    slurm, local = (
        contents(run.folder / "results/smoke") for run in (runs.cluster, runs.local)
    )
    assert {"tables/figure2.csv", "figures/figure2.png"} <= slurm.keys()
    assert [name for name in slurm if slurm[name] != local[name]] == []


def test_jobs_ask_for_what_they_need_and_get_it(runs: Runs) -> None:
    planned = submissions(runs.local, "slurm", "--forceall", *TARGETS, *SMOKE)
    assert len(runs.jobs) == len(planned) > 0
    found = {rule for _, rules in planned for rule in rules}
    assert {
        "extract_features",
        "learn_environments",
        "learn_direction",
        "train",
    } <= found
    assert not found & {
        "fetch_raw",
        "generate_data",
        "score",
        "make_table",
        "render_notebook",
    }
    for job in runs.jobs:
        assert job["state"] == "COMPLETED", job
        assert job["cpus"] == "1", job
        assert re.fullmatch(r"[1-9]\d*M", job["memory"]), job
        assert re.fullmatch(r"[\d:-]+", job["minutes"]), job
        assert "gpu" not in job["gpus"], job


def test_table_1_at_the_papers_sizes_takes_few_jobs(fresh: Cluster) -> None:
    assert 0 < len(submissions(fresh, "slurm", "table1")) <= TABLE_1_JOBS


def test_gpus_are_asked_for_where_they_are_used(fresh: Cluster) -> None:
    done, jobs = fresh.submit("slurm-gpu", *QUICK_SLURM, FEATURES, *SMOKE)
    assert done.returncode == 0, done.stdout
    assert [job["gpus"].endswith("gpu:1") for job in jobs] == [True]


def test_three_commands_serve_a_scheduler_without_a_plugin(
    fresh: Cluster, runs: Runs
) -> None:
    """Slurm takes that part, by the lines that the profile has for it."""
    text = (fresh.folder / "profiles/cluster-generic/config.yaml").read_text(
        encoding="utf-8"
    )
    lines = (
        text.partition("# Slurm without its plugin:\n")[2]
        .partition("\n\n")[0]
        .splitlines()
    )
    commands = yaml.safe_load("\n".join(line.removeprefix("# ") for line in lines))
    assert len(commands) == 3
    options = [f"--{key}={command}" for key, command in commands.items()]
    done, jobs = fresh.submit("cluster-generic", *QUICK, *options, FEATURES, *SMOKE)
    assert done.returncode == 0, done.stdout
    assert [job["state"] for job in jobs] == ["COMPLETED"]
    (note,) = (fresh.folder / ".snakemake/log").glob("*.ended")
    assert note.read_text() == "0\n"
    assert (fresh.folder / FEATURES).read_bytes() == (
        runs.local.folder / FEATURES
    ).read_bytes()


def with_long_training(folder: Path) -> None:
    preset = folder / "config" / "presets" / "smoke.yaml"
    change = replace("steps: 20", f"steps: {STEPS}")  # of ERM, the first
    preset.write_text(change(preset.read_text(encoding="utf-8")), encoding="utf-8")


def with_quick_checks(folder: Path) -> None:
    """The profile waits longer, and longer each time that nothing has ended."""
    profile = folder / "profiles" / "slurm" / "config.yaml"
    text = profile.read_text(encoding="utf-8")
    quick, n = re.subn(r"(status-checks): 20$", r"\1: 1", text, flags=re.MULTILINE)
    assert n == 2
    profile.write_text(quick, encoding="utf-8")


@pytest.fixture(scope="module")
def expected(copies: Callable[[], Path], raw_dir: str | None) -> bytes:
    """The long job's result without Slurm."""
    local = Checkout(copies(), raw_dir)
    with_long_training(local.folder)
    local.run(ERM, *SMOKE)
    return (local.folder / ERM).read_bytes()


def start(fresh: Cluster) -> tuple[Run, str, str]:
    """A run in which the long job trains; its number and its node."""
    with_long_training(fresh.folder)
    with_quick_checks(fresh.folder)
    run = Run(fresh, [*fresh.command("slurm"), *QUICK_SLURM, ERM, *SMOKE])
    log, end = fresh.folder / LOG, time.monotonic() + TIMEOUT_SECONDS
    while not log.exists():
        assert not run.over, run.output
        assert time.monotonic() < end, run.output
        time.sleep(0.1)
    time.sleep(3)  # the job starts to train
    squeue = fresh.slurm.command("squeue", "--noheader", "--states=R", "--format=%i %N")
    number, node = squeue.split()
    return run, number, node


def test_the_recovery_goes_on_after_a_kill(fresh: Cluster, expected: bytes) -> None:
    run, number, _ = start(fresh)
    run.process.kill()
    run.wait()
    fresh.slurm.command("scancel", number)
    again = recover(fresh, [ERM], "PROFILE=profiles/slurm")
    assert again.wait() == 0, again.output
    assert [job["state"] for job in fresh.slurm.jobs()[-2:]] == [
        "CANCELLED",
        "COMPLETED",
    ]
    assert (fresh.folder / ERM).read_bytes() == expected


@pytest.mark.slow
def test_a_node_is_lost(fresh: Cluster, slurm: Slurm, expected: bytes) -> None:
    run, number, node = start(fresh)
    slurm.lose(node)
    try:
        # Slurm would wait two minutes, in case the job itself brings nodes down.
        slurm.command("scontrol", "update", f"JobId={number}", "StartTime=now")
        assert run.wait() == 0, run.output
        successor = slurm.jobs()[-1]
        assert (successor["id"], successor["state"]) == (number, "COMPLETED")
        assert (fresh.folder / ERM).read_bytes() == expected
    finally:
        slurm.bring_back(node)
