"""What status.sh makes of the answers of schedulers, played by scripts of the same
names."""

import os
import subprocess
from pathlib import Path

import pytest

pytestmark = pytest.mark.cluster

FOLDER = Path(__file__).parents[2] / "profiles" / "cluster-generic"


def answer(
    programs: Path, scheduler: str, **scripts: str
) -> subprocess.CompletedProcess[str]:
    """Answer of status.sh for job 7, where the programs of a scheduler are
    ``scripts``."""
    for name, script in scripts.items():
        (programs / name).write_text(f"#!/bin/sh\n{script}\n")
        (programs / name).chmod(0o755)
    return subprocess.run(
        [FOLDER / "status.sh", scheduler, "7"],
        env={"PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"},
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
        ("pbs", {"qstat": "echo '    job_state = R'"}, "running"),
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
    done = answer(tmp_path, scheduler, **scripts)
    assert (done.returncode, done.stdout) == (0, f"{expected}\n")


def test_bsub_gets_the_script_and_gives_the_number(tmp_path: Path) -> None:
    bsub = tmp_path / "bsub"
    bsub.write_text(
        "#!/bin/sh\n"
        f'for a; do echo "<$a>"; done >{tmp_path}/options; cat >{tmp_path}/input\n'
        "echo 'Job <123> is submitted to queue <normal>.'\n"
    )
    bsub.chmod(0o755)
    (tmp_path / "job script").write_text("#!/bin/sh\ntrue\n")
    done = subprocess.run(
        [
            FOLDER / "bsub.sh",
            "-n",
            "2",
            "-R",
            "span[hosts=1] x",
            tmp_path / "job script",
        ],
        env={"PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "123\n"
    assert (tmp_path / "options").read_text() == "<-n>\n<2>\n<-R>\n<span[hosts=1] x>\n"
    assert (tmp_path / "input").read_text() == "#!/bin/sh\ntrue\n"
