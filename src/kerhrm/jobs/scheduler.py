"""Whether a scheduler can take the jobs about to be sent to it."""

import argparse
import shlex
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

from kerhrm.errors import KerhrmError

SECONDS_TO_ANSWER = 60
LOCALLY = "run on one machine without --workflow-profile"


def check_scheduler(arguments: Sequence[str] | None = None) -> None:
    """Check the scheduler that Snakemake's command line chooses, for ``onstart``.

    Neither dry runs nor jobs on the cluster get there.  A scheduler that is not there, does not
    answer or cannot serve a job is told as a :class:`KerhrmError`.
    """
    settings = _settings(sys.argv[1:] if arguments is None else arguments)
    if settings.get("executor") == "slurm":
        resources = _mapping(settings.get("default-resources"))
        _check_slurm(resources.get("slurm_partition"), _mapping(settings.get("resources")))
    elif settings.get("executor") == "cluster-generic":
        program = next(iter(shlex.split(settings.get("cluster-generic-submit-cmd", ""))), "")
        if shutil.which(program) is None:
            cure = f"set the three commands of your scheduler in the profile, or {LOCALLY}"
            raise KerhrmError(f"jobs go to '{program}', but this machine has no such program", cure)


def _check_slurm(partition: str | None, resources: dict[str, Any]) -> None:
    """Let Slurm itself say whether it would take a small job."""
    command = ["sbatch", "--test-only", "--time=1", "--mem=100", "--wrap=true"]
    command += [f"--partition={partition}"] if partition else []
    command += ["--gres=gpu:1"] if resources.get("gpu") else []
    limits: dict[str, Any] = {"timeout": SECONDS_TO_ANSWER, "check": True}
    try:
        subprocess.run(command, capture_output=True, text=True, **limits)
    except FileNotFoundError as error:
        problem = "jobs go to Slurm, but this machine has no sbatch"
        cure = f"start Snakemake on a login node of the cluster, or {LOCALLY}"
        raise KerhrmError(problem, cure) from error
    except subprocess.SubprocessError as error:
        answer = error.stderr if isinstance(error, subprocess.CalledProcessError) else ""
        complaint = answer.strip() or str(error)
        problem = f"Slurm takes no job: {complaint.splitlines()[-1]} ({shlex.join(command)})"
        cure = f"choose a slurm_partition that sinfo --format='%P %G' lists, or {LOCALLY}"
        if "munge" in complaint.lower():
            problem = "Slurm takes no job, because munge is not running on this machine"
            cure = "start munged, or ask the administrators of the cluster to"
        raise KerhrmError(problem, cure) from error


def _settings(arguments: Sequence[str]) -> dict[str, Any]:
    """Settings of the profiles, and above them those of the command line."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--profile", action="append", default=[])
    parser.add_argument("--workflow-profile", default="default")
    parser.add_argument("--executor", "-e")
    parser.add_argument("--default-resources", "--default-res", nargs="*")
    parser.add_argument("--cluster-generic-submit-cmd")
    given, _ = parser.parse_known_args(arguments)
    settings: dict[str, Any] = {}
    for name in (*given.profile, given.workflow_profile):
        places = (Path(name), Path("profiles", name), Path.home() / ".config/snakemake" / name)
        files = [place / "config.yaml" for place in places]
        for file in [file for file in files if file.is_file()][:1]:
            settings |= yaml.safe_load(file.read_text(encoding="utf-8")) or {}
    return settings | {k.replace("_", "-"): v for k, v in vars(given).items() if v is not None}


def _mapping(given: Any) -> dict[str, Any]:
    """Resources as a profile has them, or as ``name=value`` of a command line."""
    return dict(item.split("=", 1) for item in given) if isinstance(given, list) else given or {}
