"""The repository as others get it."""

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from dagtools import Checkout

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def fresh(tmp_path_factory: pytest.TempPathFactory) -> Callable[[], Checkout]:
    """Makes copies of the working tree, without what git ignores and without tests."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    names = [n for n in listed.split("\0") if n and not n.startswith("tests/")]
    raw_dir = os.environ.get("KERHRM_RAW_DIR")

    def make() -> Checkout:
        folder = tmp_path_factory.mktemp("repository") / "kerhrm"
        for name in filter(lambda n: (ROOT / n).is_file(), names):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
        return Checkout(folder, raw_dir and str(Path(raw_dir).expanduser().resolve()))

    return make
