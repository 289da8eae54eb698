"""What a profile of a cluster must ask for, before any job is sent there.

Snakemake lowers a rule's threads to the profile's cores without a word, and a job that
gets no GPU fails only when the queue has let it start.
"""

from collections.abc import Mapping
from typing import Any

from kerhrm.errors import KerhrmError


def check_threads(threads: int, cores: int | None) -> None:
    """Refuse more threads than a job may ask CPUs for.

    Parameters
    ----------
    threads : int
        Of the configuration, which every job starts.
    cores : int, optional
        The profile's, or those of the command line.

    Raises
    ------
    KerhrmError
        If the jobs would share fewer CPUs than they have threads.
    """
    if cores is not None and threads > cores:
        problem = f"threads={threads}, but a job may ask for {cores} CPUs at most"
        hint = f"set cores: {threads} in the profile, or write --cores {threads}"
        raise KerhrmError(problem, hint)


def check_gpus(device: str, overwritten: Mapping[str, Mapping[str, Any]]) -> None:
    """Refuse ``device=cuda`` where the profile lets rules ask for no GPU.

    Parameters
    ----------
    device : str
        Of the configuration.
    overwritten : mapping of str to mapping
        Snakemake's ``set-resources``: resources by rule.

    Raises
    ------
    KerhrmError
        If jobs would wait in the queue, and fail for the lack of a GPU.
    """
    if not device.startswith("cuda"):
        return
    for rule, resources in overwritten.items():
        gpus = resources.get("gpu")
        number = getattr(gpus, "raw", gpus)
        if str(number) == "0":
            problem = f"device={device}, but the profile asks for no GPU for {rule}"
            hint = "choose profiles/slurm-gpu, or leave gpu out of set-resources"
            raise KerhrmError(problem, hint)
