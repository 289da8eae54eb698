"""The repository as others get it, and one run of the whole DAG for most tests."""

import compileall
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from dagtools import SMOKE, TARGETS, Checkout, Job
from faulttools import end_all
from filelock import FileLock

ROOT = Path(__file__).parents[1]

# Packages of the user's environment add no method, penalty or data set to any test.
os.environ["KERHRM_PLUGINS"] = ""


@pytest.fixture(scope="session")
def pristine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The working tree as it is now, without what git ignores, and without tests."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    folder = tmp_path_factory.mktemp("pristine") / "kerhrm"
    for name in filter(None, listed.split("\0")):
        if not name.startswith("tests/") and (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
    # every copy has it, where the environment forbids Python to write it, too
    compileall.compile_dir(folder / "src", quiet=1)
    return folder


@pytest.fixture(scope="session")
def raw_dir() -> str | None:
    """Folder with raw files, if this machine has one."""
    folder = os.environ.get("KERHRM_RAW_DIR")
    return folder and str(Path(folder).expanduser().resolve())


@pytest.fixture(scope="session")
def copies(
    pristine: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[[], Path]]:
    """Makes copies in which nothing has run; nothing that runs there outlives the
    tests."""
    folders: list[Path] = []

    def make() -> Path:
        folders.append(tmp_path_factory.mktemp("copy") / "kerhrm")
        shutil.copytree(pristine, folders[-1])
        return folders[-1]

    yield make
    for folder in folders:
        end_all(folder)


@pytest.fixture(scope="session")
def smoke(
    copies: Callable[[], Path],
    raw_dir: str | None,
    tmp_path_factory: pytest.TempPathFactory,
    worker_id: str,
) -> Checkout:
    """A copy after ``snakemake all`` with preset smoke; tests leave it as they find it.

    Of several processes the first makes the run, and the others copy it.
    """
    if worker_id == "master":
        return run_all(Checkout(copies(), raw_dir))
    shared = tmp_path_factory.getbasetemp().parent / "smoke"
    with FileLock(f"{shared}.lock"):
        if not shared.exists():
            run_all(Checkout(copies(), raw_dir)).copy(shared)
    return Checkout(shared, raw_dir).copy(tmp_path_factory.mktemp("smoke") / "kerhrm")


def run_all(copy: Checkout) -> Checkout:
    copy.run(*TARGETS, *SMOKE)
    return copy


@pytest.fixture(scope="session")
def results(smoke: Checkout) -> Path:
    return smoke.folder / "results" / "smoke"


@pytest.fixture(scope="session")
def dag(smoke: Checkout) -> list[Job]:
    """Every job of ``all``, with its files."""
    return smoke.plan("--forceall", *TARGETS, *SMOKE)
