"""A running Slurm, and the smoke preset run through it."""

import shutil
import signal
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from clustertools import QUICK_SLURM, TARGETS, Cluster, Runs
from dagtools import SMOKE, Checkout
from local_slurm import Slurm, missing


@pytest.fixture(scope="session")
def slurm() -> Iterator[Slurm]:
    if lacking := missing():
        pytest.skip(f"needs {', '.join(lacking)}; programs: tests/cluster/install.sh")
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


@pytest.fixture
def fresh(copies: Callable[[], Path], raw_dir: str | None, slurm: Slurm) -> Cluster:
    """A copy in which nothing has run."""
    return Cluster(copies(), raw_dir, slurm)


@pytest.fixture(scope="session")
def runs(
    copies: Callable[[], Path], raw_dir: str | None, slurm: Slurm, smoke: Checkout
) -> Runs:
    """Some tables through Slurm, and a run without it."""
    cluster = Cluster(copies(), raw_dir, slurm)
    done, jobs = cluster.submit("slurm", *QUICK_SLURM, *TARGETS, *SMOKE)
    assert done.returncode == 0, done.stdout
    return Runs(cluster, jobs, smoke)
