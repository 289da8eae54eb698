"""Every hint of ``kerhrm check`` that names an option works when it is followed."""

import re
import shlex
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from kerhrm.cli import main
from kerhrm.tables.dates import CENTURY

N = 60
RANDOM = np.random.default_rng(0)
NUMBERS = RANDOM.normal(size=(N, 3))
BASE = pd.DataFrame(NUMBERS.round(3), columns=["a", "b", "y"])
ROW = np.arange(N)
DAYS = pd.date_range("2020-01-01", periods=N)
BY_DAY = pd.Series(DAYS.strftime("%d/%m/%Y"))
#: no day that is no month
EARLY = BY_DAY.where(DAYS.day <= 12, "05/06/2020")


def csv(separator: str = ",", **columns: object) -> bytes:
    """A table as a file, with more columns by name."""
    table = BASE.assign(**columns)
    text = table.to_csv(index=False, sep=separator)
    return text.encode()


def without(arguments: list[str], option: str) -> list[str]:
    """Arguments without an option and its value."""
    place = arguments.index(option)
    return arguments[:place] + arguments[place + 2 :]


#: three decimals in every cell
def longer(cell: re.Match[bytes]) -> bytes:
    """A number with one digit more in front and three decimals, behind a comma."""
    whole, decimals = cell.groups()
    three_decimals = decimals.ljust(3, b"0")
    return b"1%b,%b" % (whole, three_decimals)


IN_DOUBT = re.sub(rb"(\d)\.(\d+)", longer, csv(";"))
AS_TEXT = BASE.to_string(index=False)
WITH_COMMAS = csv(";").replace(b".", b",")
#: content of a file and options, and the columns that the report must name before
REPORTED = {
    "constant": csv(c=1),
    "identifier": csv(c=ROW),
    "a name with a blank": csv(**{"Date Egg": DAYS.astype(str)}),
    "a name with quotes": csv(**{"5\" it's": 1}),
    "a name with a dash": csv(**{"-c": 1}),
    "a name with a word": csv(**{"this or that": 1}),
    "dates": csv(c=DAYS.astype(str)),
    "dates by day": csv(c=DAYS.strftime("%d.%m.%Y")),
    "dates of unknown order": csv(c=EARLY),
    "dates of short years": csv(c=DAYS.strftime("%m/%d/%y")),
    "dates of digits": csv(c=DAYS.strftime("%Y%m%d")),
    "times of digits": csv(c=DAYS.strftime("%Y%m%d%H%M%S")),
    "leak": csv(c=2 * BASE["y"] + 1),
}
REFUSED = {
    "latin-1": ("größe,y\n1,2\n".encode("latin-1") + b"1,2\n3,5\n" * 30, []),
    "not UTF-16": (csv(), ["--encoding", "utf-16"]),
    "UTF-16, after all": (csv().decode().encode("utf-16"), ["--encoding", "latin-1"]),
    "an unknown encoding": (csv(), ["--encoding", "utf8x"]),
    "no encoding": (csv(), ["--encoding", "hex"]),
    "colons": (csv(":"), []),
    "blanks": (csv(" "), []),
    "runs of blanks": (AS_TEXT.encode(), []),
    "a wrong separator": (csv(";"), ["--sep", ","]),
    "a wrong separator of tabs": (csv("\t"), ["--sep", ","]),
    "a decimal comma": (csv(), ["--decimal", ","]),
    "a decimal point": (WITH_COMMAS, ["--decimal", "."]),
    "a comma in doubt": (IN_DOUBT, []),
    "a point in doubt": (IN_DOUBT.replace(b",", b"."), []),
    "no decimal sign": (csv(), ["--decimal", "x"]),
    "an order that does not fit": (
        csv(c=DAYS.strftime("%d/%m/%Y")),
        ["--dates", "c", "--date-order", "mdy"],
    ),
    "an empty separator": (csv(), ["--sep", ""]),
    "an empty encoding": (csv(), ["--encoding", ""]),
    "an expression": (csv(" "), ["--sep", r"\s+"]),
    "no order": (csv(), ["--date-order", "ydm"]),
    "an order of no dates": (csv(), ["--date-order", "dmy"]),
    "auxiliary dates": (csv(c=DAYS.astype(str)), ["--auxiliary", "c"]),
    "auxiliary dates of unknown order": (csv(c=EARLY), ["--auxiliary", "c"]),
    "dates of unknown order": (csv(c=EARLY), ["--dates", "c"]),
    "another order": (csv(c=EARLY), ["--dates", "c", "--date-order", "ymd"]),
    "environments": (csv(), ["--environments", "0"]),
    "no dates": (csv(c=[*"abc"] * 20), ["--dates", "c"]),
}


def followed(arguments: list[str], text: str) -> list[str]:
    """Arguments after the hint of a text: an option left out, or given."""
    left = re.search(r"leave (?:the column out of )?(--[a-z-]+)(?: out)?", text)
    if left:
        return without(arguments, left[1])
    hint = text[text.index("--") :]
    words: list[str] = []
    for word in shlex.split(hint):
        if word in ("or", "unless"):
            break
        words.append(word)
    first = words[0]
    option, _, _ = first.partition("=")
    if option in arguments:
        arguments = without(arguments, option)
    return arguments + words


@pytest.mark.parametrize("case", REPORTED)
def test_a_hint_of_the_report_can_be_followed(
    case: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(REPORTED[case])
    arguments = ["check", str(path), "--target", "y"]
    assert main(arguments) == 0
    shown = capsys.readouterr().out
    (message,) = re.findall("^column .*--.*", shown, re.M)
    as_hinted = followed(arguments, message)
    assert main(as_hinted) == 0
    shown = capsys.readouterr().out
    left = re.findall("^column .*", shown, re.M)
    # the century of short years is a note that no option answers
    assert [note for note in left if CENTURY not in note] == []


@pytest.mark.parametrize("case", REFUSED)
def test_a_hint_of_an_error_can_be_followed(
    case: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    content, options = REFUSED[case]
    path = tmp_path / "t.csv"
    path.write_bytes(content)
    arguments = ["check", str(path), "--target", "y", *options]
    assert main(arguments) == 1
    printed = capsys.readouterr()
    error = printed.err.strip()
    _, _, hint = error.rpartition("; ")
    as_hinted = followed(arguments, hint)
    assert main(as_hinted) == 0, hint
    assert capsys.readouterr().err == ""
