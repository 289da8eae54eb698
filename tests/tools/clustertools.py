"""Copies of the repository that run on a cluster, and what their dry runs say."""

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from dagtools import Checkout
from local_slurm import Slurm

# The profiles wait longer: their clusters serve others, too.
QUICK = ("--seconds-between-status-checks=1", "--latency-wait=5")
QUICK_SLURM = (*QUICK, "--slurm-init-seconds-before-status-checks=1")

#: a part of the DAG with every group of rules, one of several trainings, and a figure
TARGETS = ("figure2", "results/smoke/colored_mnist/grayscale/predictions.npz")


class Cluster(Checkout):
    """A copy of the repository whose Snakemake finds a Slurm."""

    def __init__(self, folder: Path, raw_dir: str | None, slurm: Slurm) -> None:
        super().__init__(folder, raw_dir)
        self.slurm = slurm
        self.environment |= slurm.environment

    def command(self, profile: str) -> list[str]:
        """Snakemake with a profile."""
        return [
            sys.executable,
            "-m",
            "snakemake",
            "--workflow-profile",
            f"profiles/{profile}",
        ]

    def submit(
        self, profile: str, *args: str, env: Mapping[str, str] | None = None
    ) -> tuple[subprocess.CompletedProcess[str], list[dict[str, str]]]:
        """Run Snakemake with a profile; the result, both streams in order, and the new
        jobs."""
        before = len(self.slurm.jobs())
        command = self.command(profile)
        done = self.call(*command, *args, env=env)
        return done, self.slurm.jobs()[before:]


class Runs(NamedTuple):
    """Tables of the smoke preset on Slurm, their jobs there, and on
    this machine alone."""

    cluster: Cluster
    jobs: list[dict[str, str]]
    local: Checkout


def submissions(
    checkout: Checkout, profile: str, *args: str
) -> list[tuple[str, set[str]]]:
    """What a dry run would send to the cluster: groups of jobs, and the
    rules of each."""
    found: list[tuple[str, set[str]]] = []
    for line in checkout.events(
        "--dry-run", "--workflow-profile", f"profiles/{profile}", *args
    ):
        if "group" in line:
            found.append((line["group"], set()))
        elif line["grouped"]:
            found[-1][1].add(line["rule_name"])
    return found
