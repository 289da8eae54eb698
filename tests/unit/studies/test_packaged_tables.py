"""Tables are read from packages of the versions that the lock pins."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from refusals import refusal

from kerhrm_paper.studies import packaged_tables
from kerhrm_paper.studies.packaged_tables import check_versions, install, packaged

LOCKED = "first-tables==1.2 \\\n    --hash=sha256:00\nsecond==0.3\n"


def add(folder: Path, name: str, version: str) -> None:
    information = folder / f"{name}-{version}.dist-info"
    information.mkdir(parents=True)
    text = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
    (information / "METADATA").write_text(text)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "build of mine"
    add(folder, "First_Tables", "1.2")
    add(folder, "second", "0.3")
    add(folder, "another", "1")
    (folder / "prices.csv").touch()
    lock = tmp_path / "tables.lock"
    lock.write_text(LOCKED)
    monkeypatch.setattr(packaged_tables, "DATA", folder)
    monkeypatch.setattr(packaged_tables, "LOCK", lock)
    check_versions.cache_clear()
    return folder


def test_the_files_of_pinned_packages(folder: Path) -> None:
    assert packaged("prices.csv") == folder / "prices.csv"
    assert packaged() == folder
    with refusal("wages.csv does not exist; .*pip install"):
        packaged("wages.csv")


@pytest.mark.parametrize(
    ("versions", "there"),
    [(["0.2"], "0.2"), ([], "nothing"), (["0.2", "0.3"], "0.2 and 0.3")],
)
def test_packages_of_another_version(
    folder: Path, versions: list[str], there: str
) -> None:
    """As an installation over an earlier one leaves both."""
    shutil.rmtree(folder / "second-0.3.dist-info")
    for version in versions:
        add(folder, "second", version)
    with refusal(f"has {there} of second, and .*tables.lock 0.3; rm -r '.*' -r "):
        packaged("prices.csv")


def test_the_command_can_be_run(tmp_path: Path) -> None:
    lock = tmp_path / "empty lock"
    lock.write_text("# nothing\n")
    command = install(tmp_path / "a b", lock)
    done = subprocess.run(
        f"{command} --dry-run", shell=True, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert command.startswith(sys.executable)
