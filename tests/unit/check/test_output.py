"""What ``kerhrm check`` writes: a page in no other file's place, a report on any
terminal."""

import errno
import io
import os
import re
import signal
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from refusals import refusal

from kerhrm.check.outputs import MEMBERSHIPS, PAGE, check_output
from kerhrm.cli import main

N = 40


@pytest.fixture
def data(tmp_path: Path) -> Path:
    random = np.random.default_rng(0)
    numbers = random.normal(size=(N, 3))
    columns = ["a", "b", "y"]
    table = pd.DataFrame(numbers.round(3), columns=columns)
    table["größe"] = ["süd", "nord"] * (N // 2)
    path = tmp_path / "t.csv"
    table.to_csv(path, index=False)
    return path


def check(data: Path, *options: str) -> int:
    arguments = ["check", str(data), "--target", "y"]
    return main([*arguments, *options])


def other_files(folder: Path, data: Path) -> dict[str, Path]:
    """Files of any kind that are no outputs of ``kerhrm check``."""
    (folder / "link").symlink_to(data)
    os.link(data, folder / "hard")
    (folder / "folder").mkdir()
    (folder / "note.html").write_text("<html>mine</html>")
    (folder / "note.csv").write_text("row,part\n1,2\n")
    (folder / "empty.html").write_text("")
    (folder / "dangling").symlink_to(folder / "nowhere")
    os.mkfifo(folder / "pipe")
    return {
        "the table": data,
        "by another path": folder / "folder" / ".." / data.name,
        "a link": folder / "link",
        "a hard link": folder / "hard",
        "a folder": folder / "folder",
        "another page": folder / "note.html",
        "another table": folder / "note.csv",
        "an empty file": folder / "empty.html",
        "a dangling link": folder / "dangling",
        "a pipe": folder / "pipe",
        "a device": Path("/dev/null"),
        "in a file": data / "x.html",
        "in no folder": folder / "nowhere" / "x.html",
        "a long name": folder / ("x" * 300),
    }


@pytest.mark.parametrize("option", ["--html", "--memberships"])
def test_an_output_takes_no_other_files_place(
    option: str,
    data: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    places = other_files(tmp_path, data)
    before = sorted(tmp_path.iterdir())
    content = data.read_bytes()
    monkeypatch.setattr("kerhrm.check.check", None)  # nothing is fitted
    for what, place in places.items():
        status = check(data, option, str(place))
        assert status == 1, what
        error = capsys.readouterr().err.strip()
        assert error.startswith("kerhrm: error: "), what
        assert "\n" not in error
    assert sorted(tmp_path.iterdir()) == before
    assert data.read_bytes() == content
    assert (tmp_path / "note.html").read_text() == "<html>mine</html>"
    assert Path("/dev/null").is_char_device()


def test_a_page_replaces_its_own_and_is_no_table(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "out.html"
    for _ in range(2):
        assert check(data, "--html", str(page)) == 0
    assert capsys.readouterr().err == ""
    with refusal("is the table itself"):
        check_output(PAGE, page, page)
    (tmp_path / "link.html").symlink_to(page)
    with refusal("kerhrm check has not written it"):
        check_output(PAGE, tmp_path / "link.html", data)


def test_a_name_that_is_too_long_is_given_a_shorter_one(
    data: Path, tmp_path: Path
) -> None:
    long = "x" * 300
    with refusal(r"x\.html: File name too long; give a shorter name$"):
        check_output(PAGE, tmp_path / f"{long}.html", data)


OURS = "row,part,likeliest,environment 0,environment 1"
MARK = "<meta name='generator' content='kerhrm check'>"


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("decided.csv", f"customer,{OURS},my decision\n1,0,train,0,1,0,sell\n"),
        ("behind.csv", f"{OURS},my decision\n0,train,0,1,0,sell\n"),
        ("below.csv", f"a note\n{OURS}\n0,train,0,1,0\n"),
        ("other.csv", "row,part,likeliest,environment 1\n0,train,0,1\n"),
        ("none.csv", "row,part,likeliest\n0,train,0\n"),
        ("quotes.html", f"<!DOCTYPE html><p>it writes</p><!-- {MARK} -->"),
        ("below.html", f"<!DOCTYPE html><html lang='en'>\n{MARK}<p>mine</p>"),
    ],
)
def test_a_file_that_holds_words_of_ours_is_the_users(
    name: str, content: str, data: Path, tmp_path: Path
) -> None:
    path = tmp_path / name
    path.write_text(content)
    output = PAGE if path.suffix == ".html" else MEMBERSHIPS
    with refusal("kerhrm check has not written it; name a new file, or delete"):
        check_output(output, path, data)


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_memberships_replace_their_own(end: str, data: Path, tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    many = ",".join(f"environment {j}" for j in range(200))
    for names in ("environment 0", many):
        path.write_bytes(f"row,part,likeliest,{names}{end}0,train,0{end}".encode())
        check_output(MEMBERSHIPS, path, data)


def test_a_long_check_shows_how_far_it_is_unless_it_is_quiet(
    data: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kerhrm.progress.LINE_SECONDS", 0.0)
    assert check(data) == 0
    shown = capsys.readouterr()
    assert "blocks of the Gram matrix: " in shown.err
    assert "splits of half of the rows: " in shown.err
    assert check(data, "--quiet") == 0
    quiet = capsys.readouterr()
    assert quiet.err == ""
    assert quiet.out == shown.out


@pytest.mark.parametrize(
    ("name", "better"),
    [
        ("out.pdf", "out.html"),
        ("out.csv", "out.html"),
        ("a.b.xlsx", "a.b.html"),
        ("out", "out.html"),
        ("-", "report.html"),
        (".html", "report.html"),
        (".htm", "report.html"),
    ],
)
def test_a_page_ends_in_html(
    name: str, better: str, data: Path, tmp_path: Path
) -> None:
    hint = f"write {re.escape(str(tmp_path / better))}$"
    with refusal(f"ends in .html; got '.*{name}'; {hint}"):
        check_output(PAGE, tmp_path / name, data)
    for good in (better, "x.HTM"):
        check_output(PAGE, tmp_path / good, data)


def test_a_folder_that_is_read_only_is_told_before_the_fit(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "access", lambda *_: False)
    with refusal("is read-only"):
        check_output(PAGE, tmp_path / "out.html", data)


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp1252", "utf-16"])
def test_names_beyond_a_terminals_encoding_are_written_out(
    encoding: str, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    buffers = io.BytesIO(), io.BytesIO()
    output, error = (io.TextIOWrapper(buffer, encoding) for buffer in buffers)
    monkeypatch.setattr(sys, "stdout", output)
    monkeypatch.setattr(sys, "stderr", error)
    assert check(data, "--group", "größe") == 0
    output_buffer, error_buffer = buffers
    written = output_buffer.getvalue()
    shown = written.decode(encoding)
    expected = r"gr\xf6\xdfe nord" if encoding == "ascii" else "größe nord"
    assert expected in shown
    assert check(data, "--group", "größ\N{SNOWMAN}") == 1
    error.flush()
    written = error_buffer.getvalue()
    told = written.decode(encoding)
    assert "did you mean" in told


def test_names_in_other_bytes_than_utf_8_are_no_traceback(
    data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    named = os.fsdecode("größe".encode())
    assert check(data, "--group", named) == 0
    named = os.fsdecode(b"gr\xf6\xdfe")
    assert check(data, "--group", named) == 1
    assert "does not exist" in capsys.readouterr().err


class Closed(io.StringIO):
    """Output that fails as that of a pipe whose reader has gone, or a full disk."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number

    def write(self, text: str) -> int:
        message = os.strerror(self.number)
        raise OSError(self.number, message)


@pytest.mark.parametrize(
    ("number", "status", "message"),
    [
        (errno.EPIPE, 0, ""),
        (errno.ENOSPC, 1, "kerhrm: error: the output cannot be written (No space left"),
    ],
)
def test_output_that_cannot_be_written(
    number: int,
    status: int,
    message: str,
    data: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    page = data.with_name("out.html")
    monkeypatch.setattr(sys, "stdout", Closed(number))
    assert check(data, "--html", str(page)) == status
    assert "</main>" in page.read_text()  # which is written first
    assert capsys.readouterr().err.startswith(message)


def test_no_output_at_all(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", None)
    assert check(data) == 0


def test_control_characters_do_not_reach_a_terminal(
    data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    content = data.read_text().replace("nord", "\x1b[31mno\N{RIGHT-TO-LEFT OVERRIDE}rd")
    data.write_text(content)
    assert check(data, "--group", "größe") == 0
    assert r"\x1b[31mno\u202erd" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--target", "a"], "--target is given twice"),
        (["--sep", ",", "--sep", ";"], "--sep is given twice"),
        (["--html", "x", "--html", "y"], "--html is given twice"),
        (["--environments", "x"], "invalid int value: 'x'"),
        (["--group", "-a"], "begins with - as --group=-name"),
        (["--drop", "-a"], "begins with - as --drop=-name"),
    ],
)
def test_options_that_are_given_twice_or_cannot_be_read(
    options: list[str],
    message: str,
    data: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit):
        check(data, *options)
    assert capsys.readouterr().err.endswith(f"{message}\n")


def test_lists_may_be_given_in_parts(
    data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert check(data, "--drop", "a", "--drop", "größe") == 0
    assert "1 column after encoding" in capsys.readouterr().out


def test_a_page_that_cannot_be_written_takes_no_report_with_it(
    data: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert check(data) == 0
    report = capsys.readouterr().out

    def full(*_: object) -> None:
        message = os.strerror(errno.ENOSPC)
        raise OSError(errno.ENOSPC, message)

    monkeypatch.setattr("kerhrm.files.os.fsync", full)
    page = data.with_name("out.html")
    assert check(data, "--html", str(page)) == 1
    shown = capsys.readouterr()
    assert shown.out == report
    assert f"kerhrm: error: cannot write {page}: No space left" in shown.err
    assert list(data.parent.iterdir()) == [data]


def test_a_signal_ends_a_command_as_an_error_does(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was begun is undone; without a handler the process would end at once."""
    undone = []

    def ended(*_: object, **__: object) -> None:
        try:
            signal.raise_signal(signal.SIGTERM)
        finally:
            undone.append("undone")

    monkeypatch.setattr("kerhrm.check.check", ended)
    with pytest.raises(SystemExit, match="143"):
        check(data)
    assert undone == ["undone"]
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
