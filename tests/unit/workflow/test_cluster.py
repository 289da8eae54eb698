"""A scheduler that cannot serve a job is told in one line, before anything is submitted."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from kerhrm.errors import KerhrmError
from kerhrm.workflow.cluster import (
    Request,
    cancel_slurm_jobs,
    check_scheduler,
    check_slurm,
    check_submit_command,
)

MUNGE = "sinfo: error: Munge encode failed: Failed to access 'socket' (Did you start munged?)"
CONTROLLER = "slurm_load_partitions: Unable to contact slurm controller (connect failure)"


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder that is the whole of PATH."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    return folder


def program(folder: Path, name: str, script: str = "") -> None:
    (folder / name).write_text(f"#!/bin/sh\n{script}\n")
    (folder / name).chmod(0o755)


@pytest.fixture
def slurm(programs: Path) -> Path:
    """A Slurm with GPUs in the default partition, and two more with none or some."""
    program(programs, "sbatch")
    answer = "main*|gpu:2\\nplain|(null)\\nmixed|(null)\\nmixed|gpu:a100:4(S:0-1)\\n"
    program(programs, "sinfo", f"printf '{answer}'")
    return programs


def complaint(requests: list[Request]) -> str:
    with pytest.raises(KerhrmError) as caught:
        check_slurm(requests)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.usefixtures("slurm")
@pytest.mark.parametrize(
    "request_",
    [
        Request(),
        Request(gpus=1),
        Request("main", 1),
        Request("plain"),
        Request("mixed", 4),
        Request("plain,main", 1),
    ],
)
def test_what_slurm_has_is_accepted(request_: Request) -> None:
    check_slurm([request_])


@pytest.mark.usefixtures("slurm")
def test_unknown_partition() -> None:
    told = complaint([Request("main"), Request("mian")])
    assert told.startswith("Slurm has no partition 'mian'; set slurm_partition in the profile to ")
    assert told.endswith("one of: main, plain, mixed")


@pytest.mark.usefixtures("slurm")
def test_no_gpu_in_the_partition_but_elsewhere() -> None:
    told = complaint([Request("plain", 1)])
    assert "a job asks for a GPU, but partition 'plain' has none" in told
    assert "(main, mixed)" in told


def test_no_gpu_anywhere(slurm: Path) -> None:
    program(slurm, "sinfo", "printf 'main*|(null)\\n'")
    check_slurm([Request("main")])
    told = complaint([Request(gpus=1)])
    assert "partition 'main' has none; use the profile profiles/slurm" in told


def test_without_a_default_partition_slurm_chooses(slurm: Path) -> None:
    program(slurm, "sinfo", "printf 'plain|(null)\\n'")
    check_slurm([Request(gpus=1)])


@pytest.mark.usefixtures("programs")
def test_no_sbatch() -> None:
    told = complaint([Request()])
    assert told.startswith("jobs are to go to Slurm, but this machine has no sbatch; start ")
    assert "login node" in told


@pytest.mark.parametrize(
    ("error", "parts"),
    [
        (MUNGE, ["munge is not running", "start munged"]),
        (f"warning\n{CONTROLLER}", [CONTROLLER, "wait until sinfo lists partitions"]),
        ("", ["Slurm does not answer: sinfo failed"]),
    ],
)
def test_slurm_that_does_not_answer(slurm: Path, error: str, parts: list[str]) -> None:
    program(slurm, "sinfo", f'echo "{error}" >&2; exit 1')
    told = complaint([Request()])
    for part in parts:
        assert part in told


def test_slurm_without_sinfo(slurm: Path) -> None:
    (slurm / "sinfo").unlink()
    assert "Slurm does not answer: " in complaint([Request()])


def test_submit_command(programs: Path) -> None:
    program(programs, "qsub")
    check_submit_command("qsub -pe smp {threads} -l h_rt=$((60 * {resources.runtime}))")
    for command in ("bsub -n {threads}", ""):
        with pytest.raises(KerhrmError, match="set the three commands of your scheduler"):
            check_submit_command(command)


def workflow(executor: str, **jobs: dict[str, Any]) -> SimpleNamespace:
    """What the check sees of Snakemake's workflow; jobs named local_... stay here."""
    needed = [
        SimpleNamespace(is_local=name.startswith("local"), resources=resources)
        for name, resources in jobs.items()
    ]
    return SimpleNamespace(
        executor_plugin=SimpleNamespace(name=executor),
        executor_settings=SimpleNamespace(submit_cmd="qsub"),
        dag=SimpleNamespace(needrun_jobs=lambda: needed),
    )


@pytest.mark.usefixtures("slurm")
def test_jobs_that_are_submitted_are_checked_and_no_other() -> None:
    nowhere = {"slurm_partition": "nowhere"}
    check_scheduler(workflow("slurm", local_job=nowhere, job={"slurm_partition": "main", "gpu": 1}))
    with pytest.raises(KerhrmError, match="no partition 'nowhere'"):
        check_scheduler(workflow("slurm", job=nowhere))
    with pytest.raises(KerhrmError, match="asks for a GPU"):
        check_scheduler(workflow("slurm", job={"slurm_partition": "plain", "gpu": 1}))


@pytest.mark.usefixtures("programs")
def test_each_executor_needs_its_own_scheduler() -> None:
    check_scheduler(workflow("local", job={}))
    with pytest.raises(KerhrmError, match="no sbatch"):
        check_scheduler(workflow("slurm"))
    with pytest.raises(KerhrmError, match="'qsub'"):
        check_scheduler(workflow("cluster-generic"))


def queue(folder: Path, *lines: str) -> None:
    """A Slurm with these jobs, which end when they are cancelled."""
    jobs = folder / "jobs"
    jobs.write_text("".join(f"{line}\n" for line in lines))
    program(folder, "squeue", f"while read -r line; do echo \"$line\"; done <'{jobs}'")
    program(folder, "scancel", f"echo \"$@\" >'{folder}/cancelled'; : >'{jobs}'")


def test_jobs_of_this_folder_alone_are_cancelled(programs: Path, tmp_path: Path) -> None:
    queue(
        programs,
        f"7|{tmp_path}|rule_train_method_wildcards_erm",
        f"8|{tmp_path / 'other'}|rule_cluster",
        f"9|{tmp_path}|mine",
        f"10|{tmp_path}|rule_cluster",
    )
    assert cancel_slurm_jobs(tmp_path, patience=0) == ["7", "10"]
    assert (programs / "cancelled").read_text() == "7 10\n"
    assert cancel_slurm_jobs(tmp_path, patience=0) == []


def test_a_job_that_does_not_end_is_told(programs: Path, tmp_path: Path) -> None:
    queue(programs, f"7|{tmp_path}|rule_cluster")
    program(programs, "scancel")
    with pytest.raises(KerhrmError, match=r"has not ended within 0 s \(7\).*--signal=KILL 7"):
        cancel_slurm_jobs(tmp_path, patience=0)


def test_without_slurm_nothing_is_cancelled(
    programs: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    assert cancel_slurm_jobs(tmp_path, patience=0) == []
    program(programs, "squeue", f"echo '{CONTROLLER}' >&2; exit 1")
    assert cancel_slurm_jobs(tmp_path, patience=0) == []
    assert "left alone: slurm_load_partitions" in caplog.text
