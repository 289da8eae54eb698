"""Every hint of ``kerhrm check`` that names an option works when it is followed."""

import ast
import contextlib
import re
import shlex
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import FrameType, SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest

import kerhrm
from kerhrm.cli import main
from kerhrm.errors import KerhrmError
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


class Case(NamedTuple):
    content: bytes  #: of a file
    options: Sequence[str] = ()
    corrected: bytes | None = None  #: the file, where the hint asks for that, too

    def arguments(self, path: Path) -> list[str]:
        """Write the file; the command's arguments."""
        path.write_bytes(self.content)
        return ["check", str(path), "--target", "y", *self.options]


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
UTF_16 = csv().decode().encode("utf-16")
ONE_COLUMN = BASE[["a", "y"]].to_csv(index=False).encode()
NAMED_ROWS = BASE.to_csv(sep=" ", index_label="row").encode()
DATES = csv(c=DAYS.astype(str))
DIGITS = csv(c=DAYS.strftime("%Y%m%d"))
CLASSES = csv(y=np.where(ROW % 3, 1, 2))
#: files with columns that the report remarks on
REPORTED = {
    "constant": Case(csv(c=1)),
    "identifier": Case(csv(c=ROW)),
    "a name with a blank": Case(csv(**{"Date Egg": DAYS.astype(str)})),
    "a name with quotes": Case(csv(**{"5\" it's": 1})),
    "a name with a dash": Case(csv(**{"-c": 1})),
    "a name with a word": Case(csv(**{"this or that": 1})),
    "dates": Case(csv(c=DAYS.astype(str))),
    "dates by day": Case(csv(c=DAYS.strftime("%d.%m.%Y"))),
    "dates of unknown order": Case(csv(c=EARLY)),
    "dates of short years": Case(csv(c=DAYS.strftime("%m/%d/%y"))),
    "dates of digits": Case(csv(c=DAYS.strftime("%Y%m%d"))),
    "times of digits": Case(csv(c=DAYS.strftime("%Y%m%d%H%M%S"))),
    "dates but for one": Case(
        DATES.replace(b"2020-02-03", b"soon"),
        corrected=DATES.replace(b"2020-02-03", b""),
    ),
    "dates of digits but for one": Case(
        DIGITS.replace(b"20200203", b"7"), corrected=DIGITS.replace(b"20200203", b"")
    ),
    "two classes": Case(CLASSES, ["--task", "regression"]),
    "leak": Case(csv(c=2 * BASE["y"] + 1)),
}
REFUSED = {
    "latin-1": Case("größe,y\n1,2\n".encode("latin-1") + b"1,2\n3,5\n" * 30),
    "not UTF-16": Case(csv(), ["--encoding", "utf-16"]),
    "UTF-16, after all": Case(UTF_16, ["--encoding", "latin-1"]),
    "an unknown encoding": Case(csv(), ["--encoding", "utf8x"]),
    "no encoding": Case(csv(), ["--encoding", "hex"]),
    "colons": Case(csv(":")),
    "blanks": Case(csv(" ")),
    "runs of blanks": Case(AS_TEXT.encode()),
    "a wrong separator": Case(csv(";"), ["--sep", ","]),
    "a wrong separator of tabs": Case(csv("\t"), ["--sep", ","]),
    "a decimal comma": Case(csv(), ["--decimal", ","]),
    "a decimal point": Case(WITH_COMMAS, ["--decimal", "."]),
    "a comma in doubt": Case(IN_DOUBT),
    "a point in doubt": Case(IN_DOUBT.replace(b",", b".")),
    "no decimal sign": Case(csv(), ["--decimal", "x"]),
    "an order that does not fit": Case(
        csv(c=DAYS.strftime("%d/%m/%Y")),
        ["--dates", "c", "--date-order", "mdy"],
    ),
    "an empty separator": Case(csv(), ["--sep", ""]),
    "an empty encoding": Case(csv(), ["--encoding", ""]),
    "an expression": Case(csv(" "), ["--sep", r"\s+"]),
    "no order": Case(csv(), ["--date-order", "ydm"]),
    "an order of no dates": Case(csv(), ["--date-order", "dmy"]),
    "auxiliary dates": Case(csv(c=DAYS.astype(str)), ["--auxiliary", "c"]),
    "auxiliary dates of unknown order": Case(csv(c=EARLY), ["--auxiliary", "c"]),
    "dates of unknown order": Case(csv(c=EARLY), ["--dates", "c"]),
    "another order": Case(csv(c=EARLY), ["--dates", "c", "--date-order", "ymd"]),
    "environments": Case(csv(), ["--environments", "0"]),
    "no seed": Case(csv(), ["--seed", "x"]),
    "no column": Case(ONE_COLUMN, ["--drop", "a"]),
    "no name of the rows": Case(NAMED_ROWS.removeprefix(b"row "), corrected=NAMED_ROWS),
    "no dates": Case(csv(c=[*"abc"] * 20), ["--dates", "c"]),
}
#: texts with an option that no case above can have, and why
WITHOUT_CASE = {
    "--{} must be text; got {}": "in a shell all options are text",
    "leave --{} out": "in a shell all options are text",
}


def followed(arguments: list[str], text: str) -> list[str]:
    """Arguments after the hint of a text: an option left out, or given."""
    left = re.search(
        r"(?:leave|leave the column out of|name fewer columns in) (--[a-z-]+)", text
    )
    if left:
        return without(arguments, left[1])
    hint = text[text.index("--") :]
    words: list[str] = []
    for word in shlex.split(hint):
        if word in ("or", "unless"):
            break
        words.append(word.removesuffix(",") or word)
    first = words[0]
    option, _, _ = first.partition("=")
    if option in arguments:
        arguments = without(arguments, option)
    return arguments + words


@pytest.mark.parametrize("name", REPORTED)
def test_a_hint_of_the_report_can_be_followed(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    case = REPORTED[name]
    path = tmp_path / "t.csv"
    arguments = case.arguments(path)
    assert main(arguments) == 0
    shown = capsys.readouterr().out
    (message,) = re.findall("^column .*--.*", shown, re.M)
    path.write_bytes(case.corrected or case.content)
    as_hinted = followed(arguments, message)
    assert main(as_hinted) == 0
    shown = capsys.readouterr().out
    left = re.findall("^column .*", shown, re.M)
    # the century of short years is a note that no option answers
    assert [note for note in left if CENTURY not in note] == []


@pytest.mark.parametrize("name", REFUSED)
def test_a_hint_of_an_error_can_be_followed(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    case = REFUSED[name]
    path = tmp_path / "t.csv"
    arguments = case.arguments(path)
    assert main(arguments) == 1
    printed = capsys.readouterr()
    error = printed.err.strip()
    _, _, hint = error.rpartition("; ")
    path.write_bytes(case.corrected or case.content)
    as_hinted = followed(arguments, hint)
    assert main(as_hinted) == 0, hint
    assert capsys.readouterr().err == ""


def texts_with_an_option() -> dict[tuple[str, int], str]:
    """Texts in functions of the library that name an option, by file and line.

    Without docstrings and declarations of options.
    """
    texts = {}
    for path in Path(kerhrm.__file__).parent.rglob("*.py"):
        for function in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(function, ast.FunctionDef):
                for node in written_in(function):
                    text = template(node)
                    if re.search("--[a-z{]", text):
                        texts[str(path), node.lineno] = text
    return texts


def written_in(node: ast.AST) -> Iterator[Any]:
    """Texts inside of a node, a template as a whole."""
    for child in ast.iter_child_nodes(node):
        declares = getattr(getattr(child, "func", None), "attr", "") == "add_argument"
        is_docstring = isinstance(child, ast.Expr) and template(child.value)
        if isinstance(child, ast.JoinedStr | ast.Constant):
            yield child
        elif not (declares or is_docstring):
            yield from written_in(child)


def template(node: ast.AST) -> str:
    """A text, with {} for what is filled in; empty if the node is none."""
    if isinstance(node, ast.JoinedStr):
        return "".join(template(value) or "{}" for value in node.values)
    is_text = isinstance(node, ast.Constant) and isinstance(node.value, str)
    return node.value if is_text else ""


class Unfitted:
    """In the place of an estimator: nothing is fitted, and nothing described."""

    def __init__(self, **_: Any) -> None: ...

    def fit(self, *_: Any, **__: Any) -> None: ...

    def report(self, *_: Any, **__: Any) -> SimpleNamespace:
        return SimpleNamespace(errors=None, facts={})

    def describe(self, **_: Any) -> None:
        raise KerhrmError("nothing is described", "fit")


@contextlib.contextmanager
def lines_run(files: set[str]) -> Iterator[set[tuple[str, int]]]:
    """File and number of each line of some files that is run inside the block."""
    lines = set()

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        file = frame.f_code.co_filename
        if file not in files:
            return None
        if event == "line":
            lines.add((file, frame.f_lineno))
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        yield lines
    finally:
        sys.settrace(before)


def test_every_hint_has_a_case_above(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for kind in ("KerHRMRegressor", "KerHRMClassifier"):
        monkeypatch.setattr(f"kerhrm.check.fitting.{kind}", Unfitted)
    texts = texts_with_an_option()
    assert len(texts) > 30
    with lines_run({file for file, _ in texts}) as lines:
        for case in [*REPORTED.values(), *REFUSED.values()]:
            assert main(case.arguments(tmp_path / "t.csv")) == 1
    missing = {text for place, text in texts.items() if place not in lines}
    assert missing == {*WITHOUT_CASE}
