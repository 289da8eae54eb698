"""``read_table``: what is no table, or not shown clearly, is refused in one line."""

import gzip
import io
import re
import zipfile
from pathlib import Path
from typing import Any

import pytest
from csv_files import PLAIN, written
from refusals import refusal

from kerhrm.check import read_names, read_table
from kerhrm.errors import KerhrmError


def zipped(member: str) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr(member, "x")
    return buffer.getvalue()


REFUSED: dict[str, tuple[str | bytes, dict[str, Any], str]] = {
    "fewer names than cells": ("a,b\n1,2,3\n4,5,6\n", {}, "line 2 has 3 cells for 2 n"),
    "more names than cells": (
        "a,b,c\n1,2\n4,5\n",
        {},
        "line 2 has 2 cells for 3 names",
    ),
    "a short row": (
        "a,b\n1,2\n3\n",
        {},
        "line 3 has 1 cell for 2 names in line 1; com",
    ),
    "a long row": ("a,b\n1,2\n3,4,5\n", {}, "line 3 has 3 cells .* ',' into quotes"),
    "a title": ("My table\n\na,b\n1,2\n", {}, "delete the lines above the names"),
    "a comment": ("# by me\na,b\n1,2\n", {}, "delete the lines above the names"),
    "a comment in between": ("a,b\n1,2\n# x\n", {}, "line 3 has 1 cell"),
    "a name missing": (",a\n1,2\n", {}, "1 column without a name"),
    "names missing": (",,\n1,2,3\n", {}, "no names in line 1"),
    "no header": ("5.1,3.5,1\n4.9,3.0,0\n", {}, "the first line holds numb"),
    "no header, whole": ("5,3,5,1\n4,3,0,2\n", {}, "the first line holds numb"),
    "no header, commas": ("5,1;3e2\n4,9;3,0\n", {}, "the first line holds numb"),
    "a header of words": (
        "5.1,law,3\n4.9,care,0\n",
        {"dates": ["y"]},
        "'y' does not exist, and the first line holds numbers; write",
    ),
    "an order of no dates": (
        PLAIN,
        {"date_order": "dmy"},
        "changes nothing without --dates; leave --date-order out",
    ),
    "names alike": ("a,b, a\n1,2,3\n", {}, "two columns are called 'a'"),
    "no names": ("sep=;\n", {}, "no names"),
    "one column": ("a\n1\n", {}, "one column, 'a'.* two columns or more"),
    "another separator": ("a:b\n1:2\n", {}, "set --sep ':'"),
    "a wrong separator": ("a;b\n1;2\n", {"sep": ","}, "set --sep ';'"),
    "a separator of two": ("a;b\n1;2\n", {"sep": "ab"}, "--sep must be one character"),
    "an empty separator": (PLAIN, {"sep": ""}, "--sep must be .* leave --sep out"),
    "an empty encoding": (PLAIN, {"encoding": ""}, "got ''; leave --encoding out"),
    "an expression": (
        PLAIN,
        {"sep": r"\s+"},
        "got .*; for runs of blanks use --sep ' '",
    ),
    "a quote between": ("a;b\n1;2\n", {"sep": '"'}, "--sep must be one character"),
    "a line for Excel that is wrong": ("sep=,\na;b\n1;2\n", {}, "set --sep ';'$"),
    "the same with commas": ("sep=,\na;b\n1,5;2\n3,5;4\n", {}, "set --sep ';'$"),
    "the same of semicolons": ("sep=;\na,b\n1,2\n", {}, "set --sep ','$"),
    "commas said": ("a;b\n1,5;2\n3,5;4\n", {"sep": ","}, "set --sep ';'$"),
    "decimal commas": (
        "x,y\n1,5,2,5\n2,5,3,5\n",
        {},
        "4 cells .* commas as points, or",
    ),
    "Markdown": (
        "| a | b |\n|:--|--:|\n| 1 | 2 |\n",
        {},
        "a table as a text shows it.*; delete line 2, and the bars at the ends",
    ),
    "psql": (" a | b\n---+---\n 1 | 2\n", {}, "with a line of dashes; delete line 2"),
    "a pointer": (
        "version https://git-lfs.github.com/spec/v1\noid sha256:4d\nsize 12\n",
        {},
        "is a pointer of Git LFS, not the file itself; fetch it: git lfs pull",
    ),
    "a blank behind a quote": (
        'a,b\n1,2\n"" \n3,4\n',
        {},
        "line 3 has text or a blank behind a quote that closes; delete it",
    ),
    "an open quote": ('a,b\n1,2\n3,"4\n5,6\n', {}, "a quote in line 3 is not closed"),
    "lines above": ("By\nme\na,b,y\n1,2,3\n", {}, "delete the lines above the names"),
    "a comment of cells": ("# a, b\na,b,y\n1,2,3\n", {}, "delete the lines above"),
    "an open quote above": (
        'a,b\n1,2\n\n3,"4\n5,6\n7,"8"\n',
        {},
        "a quote in line 4 is not closed; close it",
    ),
    "an open quote in the middle": (
        'a,b,c\n1,"2,3\n4,5,6\n"7",8,9\n1,2,3\n',
        {},
        "a quote in line 2 is not closed",
    ),
    "an open quote below": (
        'a,b,c\n1,"2\n",3\n4,"5\n",6\n7,8,"9\n1,2,3\n',
        {},
        "a quote in line 6 is not closed",
    ),
    "an open quote of names": ('a,"b\n1,2\n3,4\n', {}, "a quote in line 1 is not cl"),
    "quotes of MySQL": (
        'a,b\n1,"he said \\"no\\", too"\n',
        {},
        'line 2 has a quote after a backslash; double the quotes .*"" for',
    ),
    "tables of R": (
        '"a" "b"\n"1" 0.1 2\n"2" 0.3 4\n',
        {},
        "separated by blanks: name the first column, too, and then set --sep ' '",
    ),
    "fixed width": (" a   b\n 1  20\n10   2\n", {}, "set --sep ' '"),
    "blanks, uneven": ("a b c\n1 2 3\n4 5\n", {}, "separated by blanks, some rows"),
    "an open quote of many": (
        'a,b\n1,"2\n' + "3,4\n" * 50_000,
        {},
        "line 2: .*look for a quote",
    ),
    "a cell of a megabyte": (
        f"a,b\n1,{'x' * 10**6}\n",
        {},
        "line 2: field larger.*, or delete the column of such long texts",
    ),
    "gzip": (gzip.compress(PLAIN.encode(), mtime=0), {}, "a gzip archive.* unpack it"),
    "zip": (zipped("t.csv"), {}, "a zip archive.* unpack it"),
    "Excel as .csv": (zipped("xl/workbook.xml"), {}, "an Excel book.*save the sheet"),
    "OpenDocument": (zipped("content.xml"), {}, "an OpenDocument book.*save the sheet"),
    "old Excel": (b"\xd0\xcf\x11\xe0\0", {}, "an Excel book"),
    "parquet": (b"PAR1\0", {}, "a parquet file, not a CSV file; read it with pandas"),
    "Stata": (b"r\x02\1\0", {}, "a Stata file.* read it with pandas"),
    "SPSS": (b"ASCII SPSS PORT FILE   \n", {}, "an SPSS file.* export its table"),
    "SAS": (bytes(12) + b"\xc2\xea\x81\x60\xb3", {}, "a SAS file.* with pandas"),
    "SAS transport": (b"HEADER RECORD*******LIB", {}, "a SAS transport file"),
    "a pickle": (b"\x80\x04\x95", {}, "a pickle, not a CSV file; read it with pandas"),
    "R": (b"RDX3\nX\n\0", {}, r"an R data file.* write it there with write.csv\("),
    "one object of R": (b"X\n\0\0\0\3", {}, "an R data file"),
    "MATLAB": (b"MATLAB 5.0 MAT-file, P", {}, "a MATLAB file.* with writetable"),
    "tar": (bytes(257) + b"ustar\0", {}, "a tar archive.* unpack it"),
    "Numbers": (zipped("Index/Tables/DataList.iwa"), {}, "a Numbers book.*save the sh"),
    "ARFF": (
        "% by me\n%\n@RELATION r\n@ATTRIBUTE a NUMERIC\n@DATA\n1\n",
        {},
        "an ARFF file.* its names in one line, in place of all lines up to @data",
    ),
    "SQL": (
        "-- dump\n\nINSERT INTO t (a,b) VALUES (1,2);\n",
        {},
        "is SQL.* export its",
    ),
    "LaTeX": ("\\begin{tabular}{ll}\na & b\\\\\n", {}, "is LaTeX.* save its table"),
    "RTF": ("{\\rtf1\\ansi a, b}\n", {}, "an RTF document.* export its table"),
    "single quotes": (
        "'a','b'\n'1','x,y'\n",
        {},
        "3 cells for 2 .* put cells that hold ',' into double quotes",
    ),
    "a web page": ("<!DOCTYPE html>\n<table>", {}, "a web page or XML"),
    "JSON": ('[{"a": 1}, {"a": 2}]', {}, "is JSON"),
    "JSON lines": ('{"a": 1, "b": 2}\n', {}, "is JSON"),
    "a picture": (b"\x89PNG\r\n\x1a\n\0\0", {}, "other things than text"),
    "cut UTF-16": (PLAIN.encode("utf-16") + b"x", {}, "cannot be read as utf-16"),
    "UTF-8 said to be UTF-16": (PLAIN, {"encoding": "utf-16"}, "leave --encoding out"),
    "UTF-16 said to be another": (
        PLAIN.encode("utf-16"),
        {"encoding": "latin-1"},
        "NUL bytes.* leave --encoding out",
    ),
    "an unknown encoding": (PLAIN, {"encoding": "utf8x"}, "that Python knows"),
    "no encoding of text": (PLAIN, {"encoding": "hex"}, "leave --encoding out"),
    "a decimal sign": (PLAIN, {"decimal": "x"}, "--decimal must be . or ,; got 'x'"),
    "an order of dates": (
        PLAIN,
        {"date_order": "ydm"},
        "--date-order must be dmy, mdy",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_other_files_are_refused_in_one_line(case: str, tmp_path: Path) -> None:
    content, options, message = REFUSED[case]
    path = written(tmp_path, content)
    with refusal(message) as caught:
        read_table(path, **options)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "encoding", "named"),
    [
        ("城市,价格\n北京,1\n广州的人民,2\n", "gbk", "gb18030$"),
        ("年龄,y\n1,2\n", "gbk", "gb18030$"),
        ("都市,価格\n東京の人,1\nオオサカです,2\n", "shift_jis", "cp932$"),
        ("都市,価格\n東京の人,1\nオオサカです,2\n", "euc_jp", "euc_jp$"),
        ("도시,가격\n서울사람,1\n부산입니다,2\n", "euc_kr", "euc_kr$"),
        ("城市,價格\n臺北,1\n高雄的人們,2\n", "big5", "big5$"),
        ("цена,город\nдешёвый,1\n", "cp1251", "cp1251 if it is Russian, or the enc"),  # noqa: RUF001
        ("größe,y\nÄpfel,1\nGRÖSSE,2\ncafé,3\n", "latin-1", "latin-1, or cp1250 if"),
        ("año,niñez,¿qué?\n1,2,3\n", "latin-1", "latin-1, or cp1250 if"),
        ("preis,y\n5 €,ä\n“x”,y\n", "cp1252", "cp1252, or cp1250 if"),
    ],
)
def test_the_likely_encoding_is_named(
    text: str, encoding: str, named: str, tmp_path: Path
) -> None:
    path = written(tmp_path, text.encode(encoding))
    message = f"as utf-8; try --encoding {named}"
    with refusal(message) as caught:
        read_table(path)
    message = str(caught.value)
    _, _, after = message.partition("--encoding ")
    hint, *_ = after.split()
    header, *_ = text.split(",")
    table = read_table(path, encoding=hint)
    assert table.columns[0] == header


def test_a_book_is_told_by_its_name_too(tmp_path: Path) -> None:
    path = written(tmp_path, b"PK\x03\x04x", "t.xlsx")
    with refusal("an Excel book"):
        read_table(path)


@pytest.mark.parametrize(
    ("content", "name", "message"),
    [
        # without the time, or two processes would collect tests of two names
        (gzip.compress(b"RDX3", mtime=0), "t.rds", "an R data file.* with write.csv"),
        (gzip.compress(b"RDX3", mtime=0), "t.RData", "an R data file"),
        (zipped("a.npy"), "t.npz", "holds NumPy arrays.* with numpy.savetxt"),
    ],
)
def test_an_archive_that_is_not_to_be_unpacked(
    content: bytes, name: str, message: str, tmp_path: Path
) -> None:
    path = written(tmp_path, content, name)
    with refusal(message):
        read_table(path)


@pytest.mark.parametrize("path", ["/dev/null", "/dev/zero", ".", "/nowhere/t.csv", ""])
def test_devices_and_folders_are_refused(path: str) -> None:
    with refusal("give the path of a CSV file"):
        read_table(Path(path))


@pytest.mark.parametrize("path", [3, None, True, b"t.csv", ["t.csv"], io.StringIO()])
def test_what_is_no_path_is_refused(path: Any) -> None:
    for read in (read_table, read_names):
        with refusal(r"^the file must be a path; got .*give"):
            read(path)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"dates": [["a"]]}, "dates must be the name of a column; got ['a']; give"),
        ({"dates": [None]}, "dates must be the name of a column; got None; give"),
        ({"dates": 3}, "column '3' does not exist; known are: a, b, y"),
        ({"dates": "x" * 300}, "x... does not exist; known are: a, b, y"),
        ({"sep": 3}, "--sep must be text; got 3; leave --sep out"),
        ({"sep": ["x" * 300]}, "--sep must be text; got ['xxx"),
        ({"decimal": True}, "--decimal must be text; got True; leave --decimal out"),
        ({"decimal": "x" * 300}, "--decimal must be . or ,; got 'xxx"),
        ({"encoding": b"utf-8"}, "--encoding must be text; got b'utf-8'; leave"),
        ({"encoding": "x" * 300}, "--encoding must be one that Python knows; got 'xx"),
        ({"date_order": ["dmy"]}, "--date-order must be text; got ['dmy']; leave"),
    ],
)
def test_an_argument_of_another_kind_is_refused(
    given: dict[str, Any], words: str, tmp_path: Path
) -> None:
    path = written(tmp_path, PLAIN)
    pattern = re.escape(words)
    with refusal(pattern) as caught:
        read_table(path, **given)
    message = str(caught.value)
    assert len(message) < 200


def test_thousands_of_quotes_do_not_hang(tmp_path: Path) -> None:
    """A kilobyte that takes csv.Sniffer, whose expressions backtrack, hours."""
    megabyte = 10**6
    texts = [
        "a|b\n" + "|" * megabyte + "--x\n",
        'a,"' + " " * megabyte + '",b\n1,2,3\n',
        '"' * 999 + "\n",
        "a" + ',""' * 300 + "\n",
        '"",' * 300 + "x\n",
    ]
    rows = "a,b\n" * 5
    for text in texts:
        path = written(tmp_path, text + rows)
        with pytest.raises(KerhrmError):
            read_table(path)
