"""Which commit a file comes from."""

import subprocess
from pathlib import Path

import pytest

from kerhrm_paper.runs.origin import commit


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
    tmp_path: Path, file: str, is_code: bool
) -> None:
    def git(*words: str) -> None:
        who = ["-c", "user.name=a", "-c", "user.email=a@b.c"]
        subprocess.run(["git", "-C", str(tmp_path), *who, *words], check=True)

    path = tmp_path / file
    path.parent.mkdir(parents=True)
    path.write_text("1\n")
    git("init", "--quiet")
    git("add", "--all")
    git("commit", "--quiet", "--no-gpg-sign", "--message", "a")
    clean = commit(tmp_path)
    assert clean is not None
    assert not clean.endswith("+")
    path.write_text("2\n")
    assert commit(tmp_path) == (f"{clean}+" if is_code else clean)


def test_without_git_no_commit_is_known(tmp_path: Path) -> None:
    assert commit(tmp_path) is None
