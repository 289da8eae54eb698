"""Paths of the command line: the home folder, and names that would break a line."""

import shutil
import subprocess
from pathlib import Path

import pytest

from kerhrm.cli import main
from kerhrm.files import quoted

CELL = ["table1", "r2=0.7", "ERM", "test_acc"]
CHECK = ["check", "data.csv", "--target", "y"]
LONG = "x" * 300


def line_of(capsys: pytest.CaptureFixture[str]) -> str:
    """The only line of an error."""
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    return error.removeprefix("kerhrm: error: ").rstrip("\n")


@pytest.mark.parametrize(
    "name", ["a.csv", "my file", "it's", "-x", "two\nlines", "a\tb\\n'c\u200b"]
)
def test_a_quoted_path_is_one_word_of_a_shell(name: str) -> None:
    shell = shutil.which("bash")
    if shell is None:
        pytest.skip("no bash")
    word = quoted(name)
    assert word.isprintable()
    read = subprocess.run(
        [shell, "-c", f"printf %s {word}"],
        capture_output=True,
        check=True,
        env={"LC_ALL": "C.UTF-8"},
    )
    assert Path(read.stdout.decode()) == Path(name)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The home folder, which is another one than the current one."""
    folder = tmp_path / "home"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.setenv("USERPROFILE", str(folder))
    here = tmp_path / "here"
    here.mkdir()
    (here / "Snakefile").touch()
    (here / "data.csv").write_text("y\n1\n")
    monkeypatch.chdir(here)
    return folder


@pytest.mark.parametrize(
    "words",
    [
        ["check", "~/x", "--target", "y"],
        [*CHECK, "--html=~/x/a.html"],
        [*CHECK, "--memberships=~/x/a.csv"],
        ["explain", *CELL, "--run=~/x"],
        ["claims", "~/x"],
        ["verify", "~/x"],
        ["publish", "~/x"],
        ["publish", "~/x", "--again"],
        ["compete", "~/x.py"],
        ["options", "--configfile=~/x.y"],
        ["cost", "all", "--configfile=~/x.y"],
    ],
    ids=" ".join,
)
def test_the_home_folder_is_written_out(
    home: Path, capsys: pytest.CaptureFixture[str], words: list[str]
) -> None:
    assert main(words) == 1
    line = line_of(capsys)
    assert f"{home}/x" in line
    assert "~" not in line


def test_a_name_that_begins_like_a_home_folder_stays(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["claims", "~nobody-has-this-name"]) == 1
    assert line_of(capsys).startswith("~nobody-has-this-name/claims.csv does not exist")
    assert main(["claims", "./~"]) == 1
    assert line_of(capsys).startswith("~/claims.csv does not exist")


@pytest.mark.parametrize(
    "words",
    [
        ["check", "a\nb", "--target", "y"],
        ["explain", *CELL, "--run", "a\nb"],
        ["claims", "a\nb"],
        ["verify", "a\nb"],
        ["publish", "a\nb", "--again"],
        ["compete", "a\nb.py"],
    ],
    ids=lambda words: words[0],
)
def test_a_line_break_in_a_name_is_written_out(
    home: Path, capsys: pytest.CaptureFixture[str], words: list[str]
) -> None:
    assert main(words) == 1
    assert r"a\nb" in line_of(capsys)


def test_a_template_of_a_long_name_has_its_own_cure(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["compete", "--new", f"{LONG}.py"]) == 1
    assert line_of(capsys).endswith("File name too long; give a shorter name")


def test_a_file_that_an_option_has_taken_is_quoted(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("my data.csv").touch()
    with pytest.raises(SystemExit):
        main(["check", "--target", "my data.csv"])
    told = "write kerhrm check 'my data.csv' before the options"
    assert line_of(capsys).endswith(told)
