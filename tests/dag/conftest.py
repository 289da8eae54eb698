"""The repository as others get it, and one run of the whole DAG that most tests look at."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from dagtools import SMOKE, TARGETS, Checkout, Job

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def pristine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The working tree without what git ignores, and without tests."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    folder = tmp_path_factory.mktemp("repository") / "kerhrm"
    for name in filter(None, listed.split("\0")):
        if not name.startswith("tests/") and (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
    return folder


@pytest.fixture
def checkout(pristine: Path, tmp_path: Path) -> Checkout:
    """A fresh copy in which nothing has run."""
    return Checkout(Path(shutil.copytree(pristine, tmp_path / "fresh")))


@pytest.fixture(scope="session")
def smoke(pristine: Path, tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    """A copy after ``snakemake all tune`` with preset smoke; tests leave it as they find it."""
    raw_dir = os.environ.get("KERHRM_RAW_DIR")
    folder = shutil.copytree(pristine, tmp_path_factory.mktemp("smoke") / "kerhrm")
    copy = Checkout(Path(folder), raw_dir and str(Path(raw_dir).expanduser().resolve()))
    copy.run(*TARGETS, *SMOKE)
    return copy


@pytest.fixture(scope="session")
def results(smoke: Checkout) -> Path:
    return smoke.folder / "results" / "smoke"


@pytest.fixture(scope="session")
def dag(smoke: Checkout) -> list[Job]:
    """Every job of ``all`` and ``tune``, with its files."""
    return smoke.plan("--forceall", *TARGETS, *SMOKE)
