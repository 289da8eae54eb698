"""Which commit a file comes from."""

import subprocess
from collections.abc import Callable
from importlib import metadata
from pathlib import Path

import pytest

from kerhrm_paper.runs.origin import commit, origin

Git = Callable[..., None]


@pytest.fixture
def git(tmp_path: Path) -> Git:
    """Git in a new repository."""

    def call(*words: str) -> None:
        who = ["-c", "user.name=a", "-c", "user.email=a@b.c"]
        subprocess.run(["git", "-C", str(tmp_path), *who, *words], check=True)

    call("init", "--quiet")
    return call


def committed(git: Git) -> None:
    git("add", "--all")
    git("commit", "--quiet", "--no-gpg-sign", "--message", "a")


@pytest.mark.parametrize(
    ("file", "is_code"),
    [
        ("src/a.py", True),
        ("workflow/scripts/a.py", True),
        ("notebooks/a.ipynb", True),
        ("config/a.yaml", True),
        ("docs/a.md", False),
    ],
)
def test_a_commit_says_whether_code_has_changed_since(
    tmp_path: Path, git: Git, file: str, is_code: bool
) -> None:
    path = tmp_path / file
    path.parent.mkdir(parents=True)
    path.write_text("1\n")
    committed(git)
    clean = commit(tmp_path)
    assert clean is not None
    assert not clean.endswith("+")
    path.write_text("2\n")
    assert commit(tmp_path) == (f"{clean}+" if is_code else clean)
    committed(git)
    clean = commit(tmp_path)
    assert clean is not None
    # a file that git does not know, whatever the user's settings
    git("config", "status.showUntrackedFiles", "no")
    path.with_name("new.py").write_text("3\n")
    assert commit(tmp_path) == (f"{clean}+" if is_code else clean)


def test_files_that_git_ignores_are_no_code(tmp_path: Path, git: Git) -> None:
    (tmp_path / ".gitignore").write_text("__pycache__/\n")
    (tmp_path / "src" / "__pycache__").mkdir(parents=True)
    committed(git)
    (tmp_path / "src" / "__pycache__" / "a.pyc").touch()
    clean = commit(tmp_path)
    assert clean is not None
    assert not clean.endswith("+")


def test_a_commit_without_git_is_known_by_its_folder(tmp_path: Path) -> None:
    """As Snakemake's source cache holds that of a git server."""
    name = "0123456789abcdef" * 2 + "01234567"
    folder = tmp_path / name
    folder.mkdir()
    assert commit(folder) == name
    assert origin(folder)["commit"] == name


def test_libraries_are_named_by_their_versions(tmp_path: Path) -> None:
    made_by = origin(tmp_path)
    for name in ("numpy", "torch"):
        assert made_by[name] == metadata.version(name)


def test_without_git_no_commit_is_known(tmp_path: Path) -> None:
    assert commit(tmp_path) is None
