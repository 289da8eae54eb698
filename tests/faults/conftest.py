"""The repository as others get it."""

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from dagtools import Checkout
from faulttools import end_all

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def pristine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The working tree as it is now, without what git ignores and without tests."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    folder = tmp_path_factory.mktemp("pristine") / "kerhrm"
    for name in filter(None, listed.split("\0")):
        if not name.startswith("tests/") and (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
    return folder


@pytest.fixture(scope="session")
def fresh(
    pristine: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[[], Checkout]]:
    """Makes copies in which nothing has run; nothing outlives the tests."""
    raw_dir = os.environ.get("KERHRM_RAW_DIR")
    folders: list[Path] = []

    def make() -> Checkout:
        folders.append(tmp_path_factory.mktemp("copy") / "kerhrm")
        shutil.copytree(pristine, folders[-1])
        return Checkout(folders[-1], raw_dir and str(Path(raw_dir).expanduser().resolve()))

    yield make
    for folder in folders:
        end_all(folder)
