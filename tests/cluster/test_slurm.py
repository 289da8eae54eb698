"""Through Slurm: the same tables, in few jobs, each with what it asks for."""

import re
from pathlib import Path

import pytest
import yaml
from clustertools import QUICK, QUICK_SLURM, TARGETS, Cluster, Runs, submissions
from dagtools import SMOKE

pytestmark = pytest.mark.cluster

# Rules that are worth a trip to another machine; all others stay beside Snakemake.
GROUPS = {
    "features": {"extract_ntf", "reduce_ntf"},
    "kerhrm": {
        "learn_environments",
        "learn_direction",
        "predict_ntf",
        "train_network",
        "train_on_features",
        "train_whole",
        "test_heterogeneity",
        "learn_beside",
    },
    "methods": {"train_method"},
}
PROFILES = ("slurm", "slurm-gpu", "cluster-generic")
TABLE_1_JOBS = 60
FEATURES = "results/smoke/classification/r2=0.70/features/training.npz"
FLAKY = """
import os
include: "workflow/rules/common.smk"

rule flaky:
    input:
        "large"
    output:
        "done"
    resources:
        mem_mb=memory(100),
        runtime=minutes(2),
    shell:
        "test -e tried || {{ touch tried; exit 1; }}; touch {output}"
"""


def tables(folder: Path) -> dict[str, bytes]:
    return {p.name: p.read_bytes() for p in (folder / "results/smoke/tables").iterdir()}


def profile(folder: Path, name: str) -> dict[str, object]:
    text = (folder / "profiles" / name / "config.yaml").read_text(encoding="utf-8")
    settings: dict[str, object] = yaml.safe_load(text)
    return settings


def test_tables_are_those_of_a_local_run(runs: Runs) -> None:
    slurm, local = tables(runs.cluster.folder), tables(runs.local.folder)
    endings = (".csv", ".md", ".tex", "-comparisons.csv")
    assert slurm.keys() == {f"{table}{ending}" for table in TARGETS for ending in endings}
    assert [name for name in slurm if slurm[name] != local[name]] == []


def test_one_submission_per_group(runs: Runs) -> None:
    """Rules in no group stay on this machine."""
    options = ("--forceall", *TARGETS, *SMOKE)
    planned = [group for group, _ in submissions(runs.local, "slurm", *options)]
    assert set(planned) == set(GROUPS)
    # A comment names the group of a job and its rules.
    submitted = [re.sub(r"^rule_([a-z]+)_.*", r"\1", job["comment"]) for job in runs.jobs]
    assert sorted(submitted) == sorted(planned)


def test_jobs_ask_for_what_they_need_and_get_it(runs: Runs) -> None:
    for job in runs.jobs:
        assert job["state"] == "COMPLETED", job
        assert job["cpus"] == "1", job
        assert re.fullmatch(r"[1-9]\d*M", job["memory"]), job
        assert re.fullmatch(r"[\d:-]+", job["minutes"]), job
        assert "gpu" not in job["gpus"], job


def test_table_1_at_the_papers_sizes_takes_few_jobs(fresh: Cluster) -> None:
    planned = submissions(fresh, "slurm", "table1")
    assert 0 < len(planned) <= TABLE_1_JOBS


@pytest.mark.parametrize("name", PROFILES)
def test_every_rule_that_is_submitted_has_its_group(fresh: Cluster, name: str) -> None:
    found: dict[str, set[str]] = {}
    # `tune` trains what `all` does not, in the same rules.
    for group, rules in submissions(fresh, name, "all", "tune", *SMOKE):
        found.setdefault(group, set()).update(rules)
    assert found == GROUPS
    if name == "slurm":
        submitted = {rule for rules in GROUPS.values() for rule in rules}
        resources = profile(fresh.folder, name)["set-resources"]
        assert resources == {rule: {"gpu": 0} for rule in submitted}


def test_gpus_are_asked_for_where_they_are_used(fresh: Cluster) -> None:
    done, jobs = fresh.submit("slurm-gpu", *QUICK_SLURM, FEATURES, *SMOKE)
    assert done.returncode == 0, done.stdout
    assert [job["gpus"].endswith("gpu:1") for job in jobs] == [True]


@pytest.mark.slow
def test_a_job_that_failed_comes_again_with_more(fresh: Cluster) -> None:
    (fresh.folder / "Snakefile").write_text(FLAKY)
    with (fresh.folder / "large").open("wb") as file:
        file.truncate(60_000_000)  # times five
    done, jobs = fresh.submit("slurm", *QUICK_SLURM, "done")
    assert done.returncode == 0, done.stdout
    asked = [(job["state"], job["memory"], job["minutes"]) for job in jobs]
    assert asked == [("FAILED", "300M", "2:00"), ("COMPLETED", "600M", "4:00")]


def test_three_commands_serve_a_scheduler_without_a_plugin(fresh: Cluster, runs: Runs) -> None:
    # Slurm plays it, by the lines that the profile has for that.
    text = (fresh.folder / "profiles/cluster-generic/config.yaml").read_text(encoding="utf-8")
    lines = text.partition("# Slurm without its plugin:\n")[2].partition("\n\n")[0].splitlines()
    commands = yaml.safe_load("\n".join(line.removeprefix("# ") for line in lines))
    assert len(commands) == 3
    options = [f"--{key}={command}" for key, command in commands.items()]
    done, jobs = fresh.submit("cluster-generic", *QUICK, *options, FEATURES, *SMOKE)
    assert done.returncode == 0, done.stdout
    assert [job["state"] for job in jobs] == ["COMPLETED"]
    assert re.fullmatch(r"[1-9]\d*M", jobs[0]["memory"])
    assert (fresh.folder / FEATURES).read_bytes() == (runs.local.folder / FEATURES).read_bytes()
