"""What a plan was made for: a profile, a folder of raw files, the code of its time."""

import hashlib
import time
from pathlib import Path

import pytest
from dagtools import SMOKE, TIMEOUT_SECONDS, Checkout, statement
from faulttools import snakemake

from kerhrm_paper.runs.locks import TEMPORARY, locked

pytestmark = pytest.mark.dag

RUN = "results/smoke"
CONFIGURATION = f"{RUN}/config.yaml"
RAW = f"{RUN}/raw/houses.npz"
#: a cluster that would take every job, and never start one
CLUSTER = (
    "--executor=cluster-generic",
    "--cluster-generic-submit-cmd=echo 7; true",
    "--jobs=1",
    "--seconds-between-status-checks=1",
)


@pytest.mark.parametrize(
    ("options", "key", "told"),
    [
        ([], "threads=2", "threads=2, but a job may ask for 1 CPUs at most; set cores"),
        (
            ["--set-resources", "train:gpu=0"],
            "device=cuda",
            "device=cuda, but the profile asks for no GPU for train; choose",
        ),
    ],
)
def test_a_cluster_is_asked_for_what_its_jobs_use(
    checkout: Checkout, options: list[str], key: str, told: str
) -> None:
    """Else they would share a CPU, or fail when the queue has let them start."""
    words = [CONFIGURATION, *CLUSTER, *options, *SMOKE]
    done = checkout.snakemake(*words, key, cores=1)
    assert done.returncode != 0, done.stdout
    assert told in done.stdout
    assert not (checkout.folder / RUN).exists()
    assert checkout.snakemake(*words, cores=1).returncode == 0


def test_where_raw_files_are_looked_for_reruns_nothing(
    checkout: Checkout, tmp_path: Path
) -> None:
    checkout.run(RAW, *SMOKE)
    assert checkout.plan(RAW, *SMOKE, f"raw_dir={tmp_path}") == []
    # stand-ins must go where none are wanted
    (planned,) = checkout.plan(RAW, *SMOKE, "on_missing=fail")
    assert planned.rule == "fetch_raw"


def test_code_that_is_edited_during_a_run_is_not_run(checkout: Checkout) -> None:
    """Its result would be taken for that of the code of the plan."""
    name = hashlib.sha256(b"config.yaml").hexdigest()[:16]
    lock = checkout.folder / RUN / TEMPORARY / f"{name}.lock"
    log = checkout.folder / RUN / "logs" / "write_configuration.log"
    script = checkout.folder / "workflow" / "scripts" / "write_configuration.py"
    with locked(lock):  # as if another process were at the same job
        run = snakemake(checkout, [CONFIGURATION])
        end = time.monotonic() + TIMEOUT_SECONDS
        while not (log.exists() and "waiting for" in log.read_text(encoding="utf-8")):
            assert not run.over, run.output
            assert time.monotonic() < end, run.output
            time.sleep(0.1)
        text = script.read_text(encoding="utf-8")
        script.write_text(statement(text), encoding="utf-8")
    assert run.wait() != 0
    told = "error: code of write_configuration has changed since the plan was made"
    assert told in run.output
    assert not (checkout.folder / CONFIGURATION).exists()
    checkout.run(CONFIGURATION, *SMOKE)
    assert checkout.plan(CONFIGURATION, *SMOKE) == []
