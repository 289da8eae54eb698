"""The wheel holds the library alone, whose command says what needs a checkout."""

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from kerhrm.cli import OF_PAPER

ROOT = Path(__file__).parents[2]
#: runs the command with the packages of one folder, and none of a checkout
RUN = """
import sys
folder, *words = sys.argv[1:]
sys.path[:] = [folder, *(path for path in sys.path if not path.endswith("/src"))]
from kerhrm.cli import main
sys.exit(main(words))
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what the wheel holds."""
    folder = tmp_path_factory.mktemp("wheel")
    source = folder / "source"
    shutil.copytree(ROOT / "src", source / "src")
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps"]
    pip += ["--no-build-isolation", "--wheel-dir", str(folder), str(source)]
    subprocess.run(pip, check=True, capture_output=True)
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder / "library")
    return folder / "library"


def test_it_holds_every_module_of_the_library_and_no_other(library: Path) -> None:
    def modules(folder: Path) -> set[str]:
        files = [*folder.rglob("*.py"), *folder.rglob("*.pyi")]
        return {file.relative_to(folder).as_posix() for file in files}

    assert modules(library) == {
        f"kerhrm/{name}" for name in modules(ROOT / "src" / "kerhrm")
    }
    assert (library / "kerhrm" / "py.typed").exists()


@pytest.mark.parametrize("command", [*OF_PAPER])
def test_commands_of_the_paper_need_a_checkout(library: Path, command: str) -> None:
    words = [sys.executable, "-c", RUN, str(library), command, "x", "--y"]
    done = subprocess.run(words, capture_output=True, text=True, cwd=library)
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1
    assert "git clone the repository, run make env in it" in done.stderr
    assert done.stdout == ""
