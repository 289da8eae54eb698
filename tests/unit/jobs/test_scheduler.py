"""A scheduler that cannot serve a job is told in one line, before anything is submitted."""

from pathlib import Path

import pytest

from kerhrm.errors import KerhrmError
from kerhrm.jobs import scheduler
from kerhrm.jobs.scheduler import check_scheduler

MUNGE = (
    'sbatch: error: Munge encode failed: Failed to access "socket" (Did you start munged?)\n'
    "allocation failure: Protocol authentication error"
)
PARTITION = (
    "sbatch: error: invalid partition specified: mian\n"
    "allocation failure: Invalid partition name specified"
)
CONTROLLER = "allocation failure: Unable to contact slurm controller (connect failure)"


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder that is the whole of PATH, and the current one beside it."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    return folder


def program(folder: Path, name: str, script: str = "") -> None:
    (folder / name).write_text(f"#!/bin/sh\n{script}\n")
    (folder / name).chmod(0o755)


def profile(name: str, text: str) -> None:
    file = Path(name, "config.yaml")
    file.parent.mkdir(parents=True)
    file.write_text(text)


def complaint(*arguments: str) -> str:
    with pytest.raises(KerhrmError) as caught:
        check_scheduler(arguments)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize(
    ("text", "arguments", "asked"),
    [
        ("executor: slurm", (), []),
        ("executor: slurm\ndefault-resources: {slurm_partition: p}", (), ["--partition=p"]),
        ("executor: slurm\ndefault-resources: [slurm_partition=p]", (), ["--partition=p"]),
        ("executor: slurm\nresources: {gpu: 1}", (), ["--gres=gpu:1"]),
        (
            "executor: slurm\ndefault-resources: {slurm_partition: p}\nresources: {gpu: 1}",
            ("--default-resources", "slurm_partition=q", "--config", "preset=smoke"),
            ["--partition=q", "--gres=gpu:1"],
        ),
        ("jobs: 3", ("-e", "slurm"), []),
        ("jobs: 3", ("--executor=slurm", "all"), []),
        ("executor: cluster-generic", ("--executor", "slurm"), []),
    ],
)
def test_slurm_is_asked_for_what_jobs_will_ask_for(
    programs: Path, text: str, arguments: tuple[str, ...], asked: list[str]
) -> None:
    program(programs, "sbatch", 'echo "$@" > asked')
    profile("profiles/mine", text)
    check_scheduler(["all", "--workflow-profile", "profiles/mine", *arguments])
    options = Path("asked").read_text().split()
    assert "--test-only" in options
    assert [o for o in options if o.startswith(("--partition", "--gres"))] == asked


@pytest.mark.usefixtures("programs")
@pytest.mark.parametrize(
    ("place", "arguments"),
    [
        ("profiles/mine", ["--workflow-profile", "mine"]),
        ("profiles/default", ["all"]),
        ("mine", ["--profile", "mine", "all"]),
        ("home/.config/snakemake/mine", ["--profile=mine"]),
    ],
)
def test_profiles_are_found_where_snakemake_finds_them(place: str, arguments: list[str]) -> None:
    profile(place, "executor: slurm")
    assert "no sbatch" in complaint(*arguments)


@pytest.mark.usefixtures("programs")
@pytest.mark.parametrize(
    "arguments", [[], ["--workflow-profile", "none"], ["--profile", "nowhere", "-c", "2"]]
)
def test_no_scheduler_no_check(arguments: list[str]) -> None:
    check_scheduler(arguments)


@pytest.mark.usefixtures("programs")
def test_no_sbatch() -> None:
    told = complaint("-e", "slurm")
    assert told.startswith("jobs go to Slurm, but this machine has no sbatch; start ")
    assert "login node" in told


@pytest.mark.parametrize(
    ("error", "parts"),
    [
        (MUNGE, ["munge is not running", "start munged"]),
        (PARTITION, ["Invalid partition name specified", "--partition=mian", "choose a slurm_pa"]),
        (CONTROLLER, ["Unable to contact slurm controller", "run on one machine"]),
        ("", ["Slurm takes no job: ", "exit status 1"]),
    ],
)
def test_what_slurm_says_is_told(programs: Path, error: str, parts: list[str]) -> None:
    program(programs, "sbatch", f"echo '{error}' >&2; exit 1")
    told = complaint("-e", "slurm", "--default-resources", "slurm_partition=mian")
    for part in parts:
        assert part in told


def test_slurm_that_is_silent(programs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scheduler, "SECONDS_TO_ANSWER", 0.2)
    program(programs, "sbatch", "exec /bin/sleep 30")
    assert "timed out after 0.2 seconds" in complaint("-e", "slurm")


def test_submit_command(programs: Path) -> None:
    program(programs, "qsub")
    submit = "qsub -pe smp {threads} -l h_rt=$((60 * {resources.runtime}))"
    profile("profiles/mine", f"executor: cluster-generic\ncluster-generic-submit-cmd: {submit}")
    check_scheduler(["--workflow-profile=profiles/mine"])
    for command in ("bsub -n {threads}", ""):
        told = complaint("--workflow-profile=mine", f"--cluster-generic-submit-cmd={command}")
        assert "set the three commands of your scheduler" in told
