"""Whether a scheduler can take the jobs about to be sent to it, and which Slurm still has."""

import getpass
import logging
import os
import shlex
import shutil
import subprocess
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kerhrm.errors import KerhrmError

SECONDS_TO_ANSWER = 60
LOCALLY = "run on one machine without --workflow-profile"

log = logging.getLogger("kerhrm")


@dataclass(frozen=True)
class Request:
    """What a job asks of Slurm: partitions, with commas between (none: the default), and GPUs."""

    partition: str = ""
    gpus: int = 0


def check_scheduler(workflow: Any) -> None:
    """Check the scheduler that a workflow is about to use, for ``onstart``.

    Before that hook Snakemake does not tell a Snakefile which executor it has chosen; dry
    runs and jobs on the cluster do not get there, so neither needs a scheduler.

    Parameters
    ----------
    workflow : snakemake.workflow.Workflow
        With its DAG.

    Raises
    ------
    KerhrmError
        If the scheduler is not there, does not answer, or cannot serve a job.
    """
    executor = workflow.executor_plugin.name
    if executor == "slurm":
        check_slurm(
            Request(str(job.resources.get("slurm_partition") or ""), job.resources.get("gpu", 0))
            for job in workflow.dag.needrun_jobs()
            if not job.is_local
        )
    elif executor == "cluster-generic":
        check_submit_command(workflow.executor_settings.submit_cmd or "")


def check_slurm(requests: Iterable[Request]) -> None:
    """Check that Slurm is there and has the partitions and GPUs that jobs ask for.

    Raises
    ------
    KerhrmError
        If there is no sbatch, munge or the controller does not answer, a partition is
        unknown, or a partition has no GPU for a job that needs one.
    """
    if shutil.which("sbatch") is None:
        raise KerhrmError(
            "jobs are to go to Slurm, but this machine has no sbatch",
            f"start Snakemake on a login node of the cluster, or {LOCALLY}",
        )
    default, has_gpu = _partitions()
    for request in sorted(set(requests), key=str):
        names = request.partition.split(",") if request.partition else default
        for name in names:
            if name not in has_gpu:
                raise KerhrmError(
                    f"Slurm has no partition '{name}'",
                    f"set slurm_partition in the profile to one of: {', '.join(has_gpu)}",
                )
        if request.gpus and names and not any(has_gpu[name] for name in names):
            others = ", ".join(name for name, gpu in has_gpu.items() if gpu)
            raise KerhrmError(
                f"a job asks for a GPU, but partition '{', '.join(names)}' has none",
                f"set slurm_partition in the profile to one that has ({others})"
                if others
                else "use the profile profiles/slurm, which runs on CPUs",
            )


def check_submit_command(command: str) -> None:
    """Check that the program of a submit command is there.

    Raises
    ------
    KerhrmError
        If it is not.
    """
    program = next(iter(shlex.split(command)), "")
    if shutil.which(program) is None:
        raise KerhrmError(
            f"jobs are to be submitted with '{program}', but this machine has no such program",
            f"set the three commands of your scheduler in profiles/cluster-generic, or {LOCALLY}",
        )


def cancel_slurm_jobs(root: Path, patience: float) -> list[str]:
    """Cancel the jobs that a Snakemake in ``root`` has sent to Slurm, and wait for their end.

    Does nothing on a machine without Slurm, or where it does not answer.

    Parameters
    ----------
    root : Path
        Folder that Snakemake ran in.
    patience : float
        How long a job may take to end, in seconds.

    Returns
    -------
    list of str
        Numbers of the jobs.

    Raises
    ------
    KerhrmError
        If a job does not end.
    """
    if shutil.which("squeue") is None:
        return []
    found = _slurm_jobs(root)
    if found:
        log.info("cancelling jobs of Slurm: %s", " ".join(found))
        _answer("scancel", *found)
    end = time.monotonic() + patience
    while left := [number for number in _slurm_jobs(root) if number in found]:
        if time.monotonic() > end:
            raise KerhrmError(
                f"a job of Slurm has not ended within {patience:.0f} s ({left[0]})",
                f"end it: scancel --signal=KILL {left[0]}; then run again",
            )
        time.sleep(1)
    return found


def _slurm_jobs(root: Path) -> list[str]:
    """Jobs with the comment that Snakemake gives them, in this working folder."""
    form = "--format=%i|%Z|%k"
    command = ["squeue", "--noheader", f"--user={getpass.getuser()}", form]
    found = []
    for line in _answer(*command).splitlines():
        number, folder, comment = line.split("|", 2)
        if comment.startswith("rule_") and os.path.realpath(folder) == str(root.resolve()):
            found.append(number)
    return found


def _answer(*command: str) -> str:
    """Standard output of a command of Slurm; empty with a warning if it fails."""
    try:
        return _ask(*command)
    except _NoAnswer as error:
        problem = str(error).splitlines()[-1]
        log.warning("Slurm does not answer, its jobs are left alone: %s", problem)
        return ""


def _partitions() -> tuple[list[str], dict[str, bool]]:
    """The default partition, if there is one, and whether each partition has GPUs."""
    default: list[str] = []
    has_gpu: dict[str, bool] = {}
    for line in _sinfo("--format=%P|%G").splitlines():  # several lines where nodes differ
        marked, _, gres = line.strip().partition("|")
        name = marked.rstrip("*")
        if marked != name:
            default = [name]
        has_gpu[name] = has_gpu.get(name, False) or "gpu" in gres
    return default, has_gpu


def _sinfo(form: str) -> str:
    try:
        return _ask("sinfo", "--noheader", form)
    except _NoAnswer as error:
        complaint = str(error)
    if "munge" in complaint.lower():
        raise KerhrmError(
            "Slurm does not answer, because munge is not running on this machine",
            "start munged, or ask the administrators of the cluster to",
        )
    raise KerhrmError(
        f"Slurm does not answer: {complaint.splitlines()[-1]}",
        f"wait until sinfo lists partitions, or {LOCALLY}",
    )


class _NoAnswer(Exception):
    """What a command of Slurm complains of."""


def _ask(*command: str) -> str:
    """Standard output of a command of Slurm."""
    try:
        return subprocess.run(
            command, capture_output=True, text=True, check=True, timeout=SECONDS_TO_ANSWER
        ).stdout
    except subprocess.CalledProcessError as error:
        raise _NoAnswer(error.stderr.strip() or f"{command[0]} failed") from error
    except (OSError, subprocess.TimeoutExpired) as error:
        raise _NoAnswer(str(error)) from error
