"""What status.sh makes of the answers of schedulers, played by scripts of the same
names."""

import os
import subprocess
from pathlib import Path

import pytest
import yaml

pytestmark = pytest.mark.cluster

FOLDER = Path(__file__).parents[2] / "profiles" / "cluster-generic"
NOTES = ".snakemake/log"
ASKED = 15  #: times that a job may be unknown


def play(programs: Path, **scripts: str) -> dict[str, str]:
    """The environment in which the programs of a scheduler are ``scripts``."""
    for name, script in scripts.items():
        (programs / name).write_text(f"#!/bin/sh\n{script}\n")
        (programs / name).chmod(0o755)
    return {"PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"}


def ask(
    folder: Path, scheduler: str, number: str = "7", **scripts: str
) -> subprocess.CompletedProcess[str]:
    """Answer of status.sh, where the programs of a scheduler are ``scripts``."""
    return subprocess.run(
        [FOLDER / "status.sh", scheduler, number],
        cwd=folder,
        env=play(folder, **scripts),
        capture_output=True,
        text=True,
    )


def accounting(failed: str, status: str) -> str:
    return f"printf 'jobnumber 7\\nfailed       {failed}\\nexit_status  {status}\\n'"


@pytest.mark.parametrize(
    ("scheduler", "scripts", "expected"),
    [
        ("sge", {"qstat": "test $2 = 7", "qacct": "exit 1"}, "running"),
        (
            "sge",
            {"qstat": "exit 1", "qacct": "exit 1"},
            "running",
        ),  # not yet in the accounting
        ("sge", {"qstat": "exit 1", "qacct": accounting("0", "0")}, "success"),
        ("sge", {"qstat": "exit 1", "qacct": accounting("0", "1")}, "failed"),
        (
            "sge",
            {"qstat": "exit 1", "qacct": accounting("100 : assumedly", "137")},
            "failed",
        ),
        ("sge", {"qstat": "echo ' 7 0.5 snakejob me qw 01/01/2026'"}, "running"),
        ("sge", {"qstat": "echo ' 7 0.5 snakejob me Eqw 01/01/2026'"}, "failed"),
        ("sge", {"qstat": "echo '77 0.5 snakejob me Eqw 01/01/2026'"}, "running"),
        ("pbs", {"qstat": "echo '    job_state = R'"}, "running"),
        # -x is refused for every job where no history is kept
        ("pbs", {"qstat": "test $1 = -f && echo ' job_state = R'"}, "running"),
        ("pbs", {"qstat": "exit 1"}, "running"),
        (
            "pbs",
            {"qstat": "printf '  job_state = F\\n  Exit_status = 0\\n'"},
            "success",
        ),
        (
            "pbs",
            {"qstat": "printf '  job_state = F\\n  Exit_status = 271\\n'"},
            "failed",
        ),
        (
            "pbs",
            {"qstat": "printf '  job_state = F\\n'"},
            "failed",
        ),  # deleted while it waited
        ("lsf", {"bjobs": "echo PEND"}, "running"),
        ("lsf", {"bjobs": "exit 255"}, "running"),
        ("lsf", {"bjobs": "echo DONE"}, "success"),
        ("lsf", {"bjobs": "echo EXIT"}, "failed"),
        ("slurm", {"squeue": "echo COMPLETING"}, "running"),
        ("slurm", {"squeue": "echo COMPLETED"}, "success"),
        ("slurm", {"squeue": "echo OUT_OF_MEMORY"}, "failed"),
        ("slurm", {"squeue": "echo PREEMPTED"}, "failed"),
        ("slurm", {"squeue": "echo REVOKED"}, "failed"),
        ("slurm", {"squeue": "exit 1", "sacct": "echo PREEMPTED"}, "failed"),
        ("slurm", {"squeue": "exit 1", "sacct": "exit 1"}, "running"),
        ("slurm", {"squeue": "exit 1", "sacct": "echo PENDING"}, "running"),
        # forgotten by squeue
        ("slurm", {"squeue": "exit 1", "sacct": "echo COMPLETED"}, "success"),
        ("slurm", {"squeue": "exit 1", "sacct": "echo CANCELLED by 0"}, "failed"),
        ("slurm", {"squeue": "exit 1", "sacct": "echo TIMEOUT"}, "failed"),
    ],
)
def test_status(
    tmp_path: Path, scheduler: str, scripts: dict[str, str], expected: str
) -> None:
    done = ask(tmp_path, scheduler, **scripts)
    assert (done.returncode, done.stdout) == (0, f"{expected}\n")


#: by scheduler: programs that answer and do not know the job, and the general one
UNKNOWN = {
    "sge": ({"qstat": "test $# = 0", "qacct": "exit 1"}, "qstat"),
    "pbs": ({"qstat": "test $1 = -B"}, "qstat"),
    "lsf": ({"bjobs": "exit 255", "bqueues": "exit 0"}, "bqueues"),
    "slurm": ({"squeue": "exit 1", "sacct": "exit 0", "sinfo": "exit 0"}, "sinfo"),
}


@pytest.mark.parametrize("scheduler", UNKNOWN)
def test_a_job_that_is_unknown_for_long_has_failed(
    tmp_path: Path, scheduler: str
) -> None:
    """Snakemake would wait for it for ever; a scheduler that is down is waited for."""
    programs, general = UNKNOWN[scheduler]
    for _ in range(ASKED - 1):
        assert ask(tmp_path, scheduler, **programs).stdout == "running\n"
    down = programs | {general: "exit 1"}
    assert ask(tmp_path, scheduler, **down).stdout == "running\n"
    done = ask(tmp_path, scheduler, **programs)
    assert done.stdout == "failed\n"
    assert done.stderr == f"status.sh: {scheduler} does not know job 7 any more\n"
    assert list((tmp_path / NOTES).iterdir()) == []


def test_a_job_that_is_known_again_is_counted_anew(tmp_path: Path) -> None:
    programs, _ = UNKNOWN["slurm"]
    for _ in range(ASKED - 1):
        ask(tmp_path, "slurm", **programs)
    assert ask(tmp_path, "slurm", squeue="echo RUNNING").stdout == "running\n"
    for _ in range(ASKED - 1):
        assert ask(tmp_path, "slurm", **programs).stdout == "running\n"


@pytest.mark.parametrize("number", ["", "None"])
def test_a_submission_without_a_number_has_failed(tmp_path: Path, number: str) -> None:
    done = ask(tmp_path, "slurm", number, squeue="exit 1", sacct="exit 1")
    assert done.stdout == "failed\n"
    assert "gave no number" in done.stderr


@pytest.mark.parametrize(
    ("variable", "scheduler"),
    [
        ("JOB_ID", "sge"),
        ("PBS_JOBID", "pbs"),
        ("LSB_JOBID", "lsf"),
        ("SLURM_JOB_ID", "slurm"),
    ],
)
@pytest.mark.parametrize(
    ("command", "status", "expected"),
    [("true", 0, "success"), ("false", 1, "failed"), ("cd / && exit 3", 3, "failed")],
)
def test_the_job_notes_how_it_has_ended(
    tmp_path: Path,
    variable: str,
    scheduler: str,
    command: str,
    status: int,
    expected: str,
) -> None:
    """Where the scheduler has forgotten it, the note counts, at once."""
    (tmp_path / NOTES).mkdir(parents=True)
    template = (FOLDER / "jobscript.sh").read_text()
    script = tmp_path / "snakejob.sh"
    text = template.format(properties='{"rule": "train"}', exec_job=command)
    script.write_text(text)
    started = tmp_path
    environment = {"PATH": os.environ["PATH"], variable: "7"}
    if scheduler == "pbs":  # whose jobs start in the home folder
        started = tmp_path / "home"
        started.mkdir()
        environment["PBS_O_WORKDIR"] = str(tmp_path)
    done = subprocess.run(["sh", script], cwd=started, env=environment)
    assert done.returncode == status
    programs, _ = UNKNOWN[scheduler]
    assert ask(tmp_path, scheduler, **programs).stdout == f"{expected}\n"


def test_the_profile_uses_that_script() -> None:
    text = (FOLDER / "config.yaml").read_text(encoding="utf-8")
    profile = yaml.safe_load(text)
    assert profile["jobscript"] == "jobscript.sh"


@pytest.mark.parametrize("scheduler", UNKNOWN)
def test_a_number_that_is_given_again_is_of_another_job(
    tmp_path: Path, scheduler: str
) -> None:
    """It waits, and has not ended as the earlier one."""
    programs, _ = UNKNOWN[scheduler]
    notes = tmp_path / NOTES
    notes.mkdir(parents=True)
    (notes / "7.ended").write_text("0\n")
    (notes / "7.unknown").write_text("asked\n" * (ASKED - 1))
    (notes / "77.ended").write_text("0\n")
    assert ask(tmp_path, scheduler, **programs).stdout == "success\n"
    done = subprocess.run(
        [FOLDER / "submit.sh", "submit", "-l", "a b", "job script"],
        cwd=tmp_path,
        env=play(tmp_path, submit='printf "7\\n%s\\n" "$*"'),
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stdout) == (0, "7\n-l a b job script\n")
    assert ask(tmp_path, scheduler, **programs).stdout == "running\n"
    assert ask(tmp_path, scheduler, "77", **programs).stdout == "success\n"


def test_a_submission_that_fails_says_so(tmp_path: Path) -> None:
    done = subprocess.run(
        [FOLDER / "submit.sh", "submit"],
        env=play(tmp_path, submit="echo no queue >&2; exit 3"),
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stdout, done.stderr) == (3, "", "no queue\n")


def test_every_scheduler_is_asked_by_that_script() -> None:
    text = (FOLDER / "config.yaml").read_text(encoding="utf-8")
    first, *others = text.split("cluster-generic-submit-cmd: >-\n")[1:]
    assert len(others) == 3
    for command in (first, *others):
        assert command.lstrip("# ").startswith("profiles/cluster-generic/submit.sh\n")


def submit(folder: Path, script: str) -> subprocess.CompletedProcess[str]:
    """A submission by bsub.sh, where bsub is ``script``."""
    (folder / "job script").write_text("#!/bin/sh\ntrue\n")
    words = ["-n", "2", "-R", "span[hosts=1] x"]
    return subprocess.run(
        [FOLDER / "bsub.sh", *words, folder / "job script"],
        env=play(folder, bsub=script),
        capture_output=True,
        text=True,
    )


def test_bsub_gets_the_script_and_gives_the_number(tmp_path: Path) -> None:
    keep = f'for a; do echo "<$a>"; done >{tmp_path}/options; cat >{tmp_path}/input'
    say = "echo 'Job <123> is submitted to queue <normal>.'"
    done = submit(tmp_path, f"{keep}\n{say}")
    assert (done.returncode, done.stdout) == (0, "123\n")
    assert (tmp_path / "options").read_text() == "<-n>\n<2>\n<-R>\n<span[hosts=1] x>\n"
    assert (tmp_path / "input").read_text() == "#!/bin/sh\ntrue\n"


@pytest.mark.parametrize(
    "script",
    [
        "echo 'Queue does not exist. Job not submitted.' >&2; exit 255",
        "echo 'Request aborted by esub.'",
    ],
)
def test_a_rejected_submission_fails(tmp_path: Path, script: str) -> None:
    """Snakemake would ask for ever about a job without a number."""
    done = submit(tmp_path, script)
    assert (done.returncode, done.stdout) == (1, "")
    assert "ubmitted" in done.stderr or "no number of a job" in done.stderr
