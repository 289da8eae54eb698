"""A running Slurm, copies of the repository, and the smoke preset run in both ways."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from clustertools import QUICK_SLURM, Cluster, Runs
from dagtools import SMOKE, TIMEOUT_SECONDS, Checkout
from local_slurm import Slurm, missing

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def slurm() -> Iterator[Slurm]:
    if lacking := missing():
        pytest.skip(f"needs {', '.join(lacking)}: run tests/cluster/install.sh")
    # Not below pytest's folder, which munge refuses because nobody else may enter it.
    folder = Path(tempfile.mkdtemp(prefix="slurm-"))
    cluster = Slurm(folder)
    # What ends the tests must not leave daemons behind.
    usual = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        cluster.start()
        yield cluster
    finally:
        signal.signal(signal.SIGTERM, usual)
        cluster.stop()
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Callable[[], Path]:
    """Makes copies of the working tree, without what git ignores and without tests."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    names = [n for n in listed.split("\0") if n and not n.startswith("tests/")]

    def make() -> Path:
        folder = tmp_path_factory.mktemp("repository") / "kerhrm"
        for name in filter(lambda n: (ROOT / n).is_file(), names):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
        return folder

    return make


@pytest.fixture(scope="session")
def raw_dir() -> str | None:
    folder = os.environ.get("KERHRM_RAW_DIR")
    return folder and str(Path(folder).expanduser().resolve())


@pytest.fixture
def fresh(copy: Callable[[], Path], raw_dir: str | None, slurm: Slurm) -> Cluster:
    """A copy in which nothing has run."""
    return Cluster(copy(), raw_dir, slurm)


@pytest.fixture(scope="session")
def runs(copy: Callable[[], Path], raw_dir: str | None, slurm: Slurm) -> Runs:
    """``all`` through Slurm, and meanwhile the same tables without it."""
    cluster, local = Cluster(copy(), raw_dir, slurm), Checkout(copy(), raw_dir)
    made = (name for job in local.plan("all", *SMOKE) for name in job.output)
    tables = [name for name in made if "/tables/" in name]
    log_file = local.folder / "local.log"
    with log_file.open("w") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "snakemake", "--cores=2", *tables, *SMOKE],
            cwd=local.folder,
            env=local.environment,
            stdout=log,
            stderr=subprocess.STDOUT,
        )
        try:
            done, jobs = cluster.submit("slurm", *QUICK_SLURM, "all", *SMOKE)
            assert done.returncode == 0, done.stdout
            assert process.wait(TIMEOUT_SECONDS) == 0, log_file.read_text()
        finally:
            process.kill()
            process.wait()
    return Runs(cluster, jobs, local)
