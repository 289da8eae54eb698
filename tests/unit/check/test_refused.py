"""What ``kerhrm check`` refuses is one line, and nothing is written."""

import re
from pathlib import Path
from typing import Any

import pytest

from kerhrm.cli import main

ROWS = "".join(f"{i},{i % 7}\n" for i in range(40))
BAD: dict[str, tuple[bytes | str, list[str], str]] = {
    "empty": ("", [], "is empty"),
    "a header alone": ("a,b\n", [], "0 of 0 rows have a target"),
    "an archive": (b"PK\x03\x04rest", [], "is a zip archive, .* unpack it"),
    "NUL bytes": (b"a,b\n1,\0\n", [], "has NUL bytes"),
    "another encoding": ("a,b\né,2\n".encode("latin-1"), [], "try --encoding latin-1"),
    "an encoding of Windows": (b"a,b\n\x80,2\n", [], "try --encoding cp1252"),
    "an infinite target": (
        f"a,b\n{ROWS}1,-inf\n",
        [],
        "the target 'b' must be finite; got -inf in index 40; leave such",
    ),
    "all auxiliary": (
        f"a,b\n{ROWS}",
        ["--auxiliary", "a"],
        "is left that predicts; name fewer columns in --auxiliary$",
    ),
    "another separator": (
        "a;b\n1;2\n",
        ["--sep", ","],
        "one column, 'a;b'.* set --sep",
    ),
    "two names alike": ("b,b\n1,2\n", [], "two columns are called 'b'"),
    "a ragged row": ("a,b\n1,2\n1,2,3\n", [], "line 3 has 3 cells for 2 names"),
    "infinite": (f"a,b\n{ROWS}inf,1\n", [], r"column 'a' has .* index 40, with inf"),
    "three classes": (
        "a,b\n" + "1,x\n2,y\n3,z\n" * 20,
        [],
        "got 3 labels, 'x', 'y', 'z'; merge",
    ),
    "no date": (
        "a,b\n" + ROWS,
        ["--dates", "a"],
        "must hold dates; got '0' in index 0",
    ),
    "names with a comma": (
        "a,b,c,d\n" + "1,2,3,4\n" * 30,
        ["--drop", "c,d"],
        "'c,d' does not exist, but each of its parts does; use blanks: c d$",
    ),
    "groups with a comma": (
        "a,b,c,d\n" + "1,2,3,4\n" * 30,
        ["--group", "c,d"],
        "'c,d' does not exist, but each of its parts does; name one of them$",
    ),
    "no target": ("a,c\n" + ROWS, [], "column 'b' does not exist"),
    "the target twice": ("a,b\n" + ROWS, ["--group", "b"], "column 'b' is the target"),
    "a seed in words": ("a,b\n" + ROWS, ["--seed", "one"], "got 'one'; use --seed 0"),
    "a seed below 0": ("a,b\n" + ROWS, ["--seed", "-1"], "got '-1'; use --seed 0"),
    "a large seed": ("a,b\n" + ROWS, ["--seed", "9" * 12], "to 2.32 - 1; got"),
    "no task": ("a,b\n" + ROWS, ["--task", "ranking"], "got 'ranking'; known are"),
    "a task that does not fit": (
        "a,b\n" + ROWS,
        ["--task", "classification"],
        "has 7 values, and a classification needs two; merge them",
    ),
    "no folder": (
        "a,b\n" + ROWS,
        ["--html", "/dev/null/x.html"],
        "cannot write /dev/null/x.html",
    ),
}


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--target", "y", "--drop", "a"], "--drop takes all words after it, the file"),
        (["--target", "y", "--dates", "a"], "--dates takes all words after it, the"),
        (["--target", "y", "--auxiliary", "a"], "--auxiliary takes all words after it"),
        (["--target"], "--target takes the word after it, the file data.csv; write"),
        (["--group"], "--group takes the word after it, the file data.csv; write"),
    ],
)
def test_a_file_that_an_option_took_is_one_line(
    words: list[str],
    told: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("data.csv").write_text("a,y\n")
    error = without_file(["check", *words, "data.csv"], capsys)
    assert told in error
    assert "the file data.csv" in error
    assert "write kerhrm check data.csv before the options" in error


def test_a_file_that_looks_like_an_option_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("-dash.csv").write_text("a,y\n")
    error = without_file(["check", "-dash.csv", "--target", "y"], capsys)
    assert error.endswith("looks like an option; write kerhrm check ./-dash.csv")


@pytest.mark.parametrize("words", [[], ["--target", "y"], ["--target", "y", "--quiet"]])
def test_no_file_is_one_line(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    error = without_file(["check", *words], capsys)
    assert error.endswith(
        "no file is named; write kerhrm check FILE before the options"
    )


def test_two_files_are_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("d.csv", "v.csv"):
        Path(name).write_text("a,y\n")
    with pytest.raises(SystemExit):
        main(["check", "d.csv", "v.csv", "--target", "y"])
    _, _, error = capsys.readouterr().err.partition("error: ")
    assert error == "v.csv is one file too many; give one at a time\n"


def without_file(command: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    """The line with which a command without a file ends."""
    with pytest.raises(SystemExit):
        main(command)
    printed = capsys.readouterr()
    error = printed.err.strip()
    assert "\n" not in error
    return error


@pytest.mark.parametrize("case", BAD)
def test_a_bad_file_is_one_line(
    case: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    content, arguments, words = BAD[case]
    path = tmp_path / "table.csv"
    page = tmp_path / "page.html"
    if isinstance(content, str):
        content = content.encode()
    path.write_bytes(content)
    where: list[Any] = []
    if "--html" not in arguments:
        where = ["--html", str(page)]
    command = ["check", str(path), "--target", "b", *where, *arguments]
    assert main(command) == 1
    printed = capsys.readouterr()
    error = printed.err.strip()
    assert error.startswith("kerhrm: error: ")
    assert "\n" not in error
    assert re.search(words, error), error
    assert list(tmp_path.iterdir()) == [path]
