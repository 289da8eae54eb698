"""A cluster that cannot take the jobs: one line that says what to do, and no job."""

import os
import re
from collections.abc import Mapping
from pathlib import Path

import pytest
from clustertools import QUICK, QUICK_SLURM, Cluster
from dagtools import SMOKE
from local_slurm import PROGRAMS

pytestmark = pytest.mark.cluster


def refusal(
    cluster: Cluster, profile: str, *args: str, env: Mapping[str, str] | None = None
) -> str:
    """The one line with which a run was refused."""
    done, jobs = cluster.submit(profile, "all", *args, *SMOKE, env=env)
    assert done.returncode != 0, done.stdout
    assert jobs == []
    made = {path.name for path in (cluster.folder / "results").glob("smoke/*/")}
    assert made <= {"temporary"}  # with the lock of Snakemake
    assert "Traceback" not in done.stdout
    (line,) = re.findall(r'^WorkflowError in file ".*\n(.*)\n  File ', done.stdout, re.MULTILINE)
    return line


@pytest.mark.parametrize(
    ("profile", "partition", "expected"),
    [
        (
            "slurm",
            "nowhere",
            "Slurm takes no job: allocation failure: Invalid partition name specified "
            "(sbatch --test-only --time=1 --mem=100 --wrap=true --partition=nowhere); ",
        ),
        (
            "slurm-gpu",
            "plain",
            "Slurm takes no job: allocation failure: Requested node configuration is not available "
            "(sbatch --test-only --time=1 --mem=100 --wrap=true --partition=plain --gres=gpu:1); ",
        ),
    ],
    ids=["unknown partition", "GPU where none is"],
)
def test_partition(fresh: Cluster, profile: str, partition: str, expected: str) -> None:
    options = ("--default-resources", f"slurm_partition={partition}")
    line = refusal(fresh, profile, *QUICK_SLURM, *options)
    assert line.startswith(expected)
    assert "choose a slurm_partition that sinfo " in line


def test_no_munge(fresh: Cluster, tmp_path: Path) -> None:
    conf = Path(fresh.environment["SLURM_CONF"]).read_text()
    (tmp_path / "slurm.conf").write_text(re.sub(r"socket=\S+", "socket=/nowhere", conf))
    env = {"SLURM_CONF": str(tmp_path / "slurm.conf")}
    line = refusal(fresh, "slurm", *QUICK_SLURM, env=env)
    assert line.startswith("Slurm takes no job, because munge is not running on this machine; ")


def test_no_sbatch(fresh: Cluster, tmp_path: Path) -> None:
    for folder in fresh.environment["PATH"].split(os.pathsep):
        for program in Path(folder).iterdir() if Path(folder).is_dir() else ():
            link = tmp_path / program.name
            if program.name not in PROGRAMS and not link.is_symlink():
                link.symlink_to(program)
    line = refusal(fresh, "slurm", *QUICK_SLURM, env={"PATH": str(tmp_path)})
    assert line.startswith("jobs go to Slurm, but this machine has no sbatch; ")


def test_no_submit_command(fresh: Cluster) -> None:
    line = refusal(fresh, "cluster-generic", *QUICK, "--cluster-generic-submit-cmd=no-such-submit")
    assert line.startswith("jobs go to 'no-such-submit', but this machine has no such program; ")
