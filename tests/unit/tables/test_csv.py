"""``read_table``: a file is read with the names and cells that it shows, or refused in
one line."""

import csv
import gzip
import io
import os
import re
import zipfile
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from kerhrm.check import read_names, read_table
from kerhrm.errors import KerhrmError
from kerhrm.tables.csv import check_name

EXPECTED = {"a": [1, 2], "b": [4, 5], "y": [7, 8]}
PLAIN = "a,b,y\n1,4,7\n2,5,8\n"


def written(folder: Path, content: str | bytes, name: str = "t.csv") -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def zipped(member: str) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr(member, "x")
    return buffer.getvalue()


READ: dict[str, tuple[str | bytes, dict[str, Any]]] = {
    "plain": (PLAIN, {}),
    "a mark of UTF-8": (b"\xef\xbb\xbf" + PLAIN.encode(), {}),
    "UTF-16": (PLAIN.encode("utf-16"), {}),
    "UTF-16, said so": (PLAIN.encode("utf-16"), {"encoding": "utf-16"}),
    "UTF-16, but UTF-8 said": (PLAIN.encode("utf-16"), {"encoding": "utf-8"}),
    "UTF-16 without a mark": (PLAIN.encode("utf-16-le"), {}),
    "UTF-16, big end first": (PLAIN.encode("utf-16-be"), {}),
    "UTF-16, the other end": (PLAIN.encode("utf-16-be"), {"encoding": "utf-16"}),
    "UTF-32": (PLAIN.encode("utf-32"), {}),
    "semicolons": (PLAIN.replace(",", ";"), {}),
    "tabs": (PLAIN.replace(",", "\t"), {}),
    "tabs, said so": (PLAIN.replace(",", "\t"), {"sep": "\\t"}),
    "bars": (PLAIN.replace(",", "|"), {}),
    "spaces, said so": (PLAIN.replace(",", " "), {"sep": " "}),
    "blanks, said so": (" a   b  y\n1   4\t 7 \n\n 2  5 8\n", {"sep": " "}),
    "a line for Excel": ("sep=;\n" + PLAIN.replace(",", ";"), {}),
    "the same in quotes": ('"sep=;"\r\n' + PLAIN.replace(",", ";"), {}),
    "rows that end in a comma": ("a,b,y\n1,4,7,\n2,5,8,\n", {}),
    "some rows do": ("a,b,y\n1,4,7,\n2,5,8\n", {}),
    "the header does": ("a,b,y,\n1,4,7\n2,5,8\n", {}),
    "all do": ("a,b,y,,\n1,4,7,,\n2,5,8,,\n", {}),
    "ends of old Macs": (PLAIN.replace("\n", "\r"), {}),
    "ends of Windows": (PLAIN.replace("\n", "\r\n"), {}),
    "blank lines": ("\n  \n" + PLAIN.replace("\n", "\n\n"), {}),
    "no last end": (PLAIN.rstrip(), {}),
    "blanks around": (" a , b ,y\n 1, 4 ,7\n2 ,5, 8\n", {}),
    "quotes": ('"a","b","y"\n"1","4","7"\n"2","5","8"\n', {}),
    "quotes after blanks": ('"a", "b", "y"\n1, "4", 7\n2, "5", 8\n', {}),
}


@pytest.mark.parametrize("case", READ)
def test_a_file_is_read_as_it_shows(case: str, tmp_path: Path) -> None:
    content, options = READ[case]
    table = read_table(written(tmp_path, content), **options)
    assert table.to_dict("list") == EXPECTED
    assert table.attrs["notes"] == {}


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
    "a cell of a megabyte": (f"a,b\n1,{'x' * 10**6}\n", {}, "line 2: field larger"),
    "gzip": (gzip.compress(PLAIN.encode()), {}, "a gzip archive.* unpack it"),
    "zip": (zipped("t.csv"), {}, "a zip archive.* unpack it"),
    "Excel as .csv": (zipped("xl/workbook.xml"), {}, "an Excel book.*save the sheet"),
    "OpenDocument": (zipped("content.xml"), {}, "an OpenDocument book.*save the sheet"),
    "old Excel": (b"\xd0\xcf\x11\xe0\0", {}, "an Excel book"),
    "parquet": (b"PAR1\0", {}, "a parquet file, not a CSV file; read it with pandas"),
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
    with pytest.raises(KerhrmError, match=message) as caught:
        read_table(written(tmp_path, content), **options)
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
    with pytest.raises(
        KerhrmError, match=f"as utf-8; try --encoding {named}"
    ) as caught:
        read_table(path)
    hint = str(caught.value).partition("--encoding ")[2].split()[0]
    header, *_ = text.split(",")
    assert read_table(path, encoding=hint).columns[0] == header


def test_a_book_is_told_by_its_name_too(tmp_path: Path) -> None:
    with pytest.raises(KerhrmError, match="an Excel book"):
        read_table(written(tmp_path, b"PK\x03\x04x", "t.xlsx"))


@pytest.mark.parametrize("path", ["/dev/null", "/dev/zero", ".", "/nowhere/t.csv", ""])
def test_devices_and_folders_are_refused(path: str) -> None:
    with pytest.raises(KerhrmError, match="give the path of a CSV file"):
        read_table(Path(path))


class Named:
    """What ``os.PathLike`` is."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __fspath__(self) -> str:
        return str(self.path)


@pytest.mark.parametrize("kind", [str, Path, Named])
def test_a_path_is_text_or_path_like(kind: Any, tmp_path: Path) -> None:
    path = kind(written(tmp_path, PLAIN))
    assert read_table(path).to_dict("list") == EXPECTED
    assert read_names(path) == ["a", "b", "y"]


@pytest.mark.parametrize("path", [3, None, True, b"t.csv", ["t.csv"], io.StringIO()])
def test_what_is_no_path_is_refused(path: Any) -> None:
    for read in (read_table, read_names):
        with pytest.raises(KerhrmError, match=r"^the file must be a path; got .*give"):
            read(path)


@pytest.mark.parametrize("dates", ["size", ["size"], ("size",), pd.Index(["size"])])
def test_one_column_of_dates_may_be_one_text(dates: Any, tmp_path: Path) -> None:
    path = written(tmp_path, "size,y\n2020-01-31,1\n2020-02-01,2\n")
    read = read_table(path, dates=dates)
    assert list(read["size"].diff()[1:]) == [pd.Timedelta(days=1)]


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
    with pytest.raises(KerhrmError, match=re.escape(words)) as caught:
        read_table(written(tmp_path, PLAIN), **given)
    assert len(str(caught.value)) < 200


def test_no_column_of_dates_may_be_none(tmp_path: Path) -> None:
    assert read_table(written(tmp_path, PLAIN), dates=None).shape == (2, 3)


def test_a_pipe_is_read_once() -> None:
    read_end, write_end = os.pipe()
    os.write(write_end, PLAIN.encode())
    os.close(write_end)
    assert read_table(Path(f"/dev/fd/{read_end}")).to_dict("list") == EXPECTED
    os.close(read_end)


def test_names_are_as_they_stand(tmp_path: Path) -> None:
    names = ["a", "a.1", "A", "2020", 'x"y', "two\nlines", " blanks  inside ", "größe"]
    text = io.StringIO()
    csv.writer(text).writerows([names, range(8)])
    table = read_table(written(tmp_path, text.getvalue()))
    assert list(table) == [*names[:5], "two lines", "blanks inside", "größe"]


def test_names_are_as_the_eye_sees_them(tmp_path: Path) -> None:
    path = written(
        tmp_path, "k\u200b,gro\u0308\xdfe,a\xa0b,day\u200e\n1,2,3,2020-01-01\n"
    )
    table = read_table(path, dates=["day\u200b"])
    assert list(table) == ["k", "gr\xf6\xdfe", "a b", "day"]
    with pytest.raises(KerhrmError, match="two columns are called 'k'"):
        read_table(written(tmp_path, "k\u200b,k\n1,2\n"))
    with pytest.raises(KerhrmError, match=r"known are: x\\u200cb, y"):
        check_name("k", ["x\u200cb", "y"])


def test_thousands_of_quotes_do_not_hang(tmp_path: Path) -> None:
    """A kilobyte that takes csv.Sniffer, whose expressions backtrack, hours."""
    bars = "a|b\n" + "|" * 10**6 + "--x\n"
    zeros = 'a,"' + " " * 10**6 + '",b\n1,2,3\n'
    for text in (
        bars,
        zeros,
        '"' * 999 + "\n",
        "a" + ',""' * 300 + "\n",
        '"",' * 300 + "x\n",
    ):
        with pytest.raises(KerhrmError):
            read_table(written(tmp_path, text + "a,b\n" * 5))


def test_cells_in_quotes_may_hold_anything(tmp_path: Path) -> None:
    text = 'a,b\n1,"x, y"\n2,"two\nlines"\n3,5" pipe\n4,"he said ""no"""\n'
    table = read_table(written(tmp_path, text))
    assert table["b"].tolist() == ["x, y", "two\nlines", '5" pipe', 'he said "no"']


def test_the_decimal_sign_is_that_of_the_file(tmp_path: Path) -> None:
    """1.234 is a thousand next to 1,5, and less than two next to 1.5."""
    comma = read_table(written(tmp_path, "a;b\n1,5;1.234\n2,25;2.345\n"))
    assert comma.to_dict("list") == {"a": [1.5, 2.25], "b": [1234, 2345]}
    assert comma.attrs["notes"]["b"] == "'1.234' is read as 1234"
    point = read_table(written(tmp_path, "a;b\n1.5;1.234\n2.25;2.345\n"))
    assert point.to_dict("list") == {"a": [1.5, 2.25], "b": [1.234, 2.345]}
    given = read_table(written(tmp_path, "a;b\n1;1.234\n2;2.345\n"), decimal=",")
    assert given.to_dict("list") == {"a": [1, 2], "b": [1234, 2345]}


def test_names_that_look_like_data_are_said(tmp_path: Path) -> None:
    table = read_table(written(tmp_path, "law,5.1,7\ncare,4.9,3\n"))
    assert "its name is a number, as if the file had no" in table.attrs["notes"]["5.1"]
    assert read_table(written(tmp_path, "6,148,72\n1,85,66\n")).attrs["notes"]
    for names in ("0,1,2,y", "2019,2020,y", "1,2,3"):
        text = f"{names}\n{names}\n"
        assert read_table(written(tmp_path, text)).attrs["notes"] == {}


def test_powers_with_a_comma_have_decimals(tmp_path: Path) -> None:
    quoted = read_table(written(tmp_path, 'a,b\n1.234,"1,257E-01"\n0.5,"2,000E+00"\n'))
    assert quoted.to_dict("list") == {"a": [1.234, 0.5], "b": [0.1257, 2]}
    given = read_table(written(tmp_path, "a;b\n1,257E-01;2\n1,5;3\n"), decimal=",")
    assert given["a"].tolist() == [0.1257, 1.5]


@pytest.mark.parametrize("sep", [";", "\t", "|"])
def test_a_comma_that_no_column_explains_is_asked_for(sep: str, tmp_path: Path) -> None:
    """Three decimals, or thousands."""
    rows = ["a;b;c", "10,126;9,337;1", "-21,464;10,000;2"]
    path = written(tmp_path, "\n".join(rows).replace(";", sep))
    with pytest.raises(KerhrmError, match=r"'10,126' is 10.126 or 10126; add --decima"):
        read_table(path)
    assert read_table(path, decimal=",")["a"].tolist() == [10.126, -21.464]
    assert read_table(path, decimal=".")["a"].tolist() == [10126, -21464]
    for cell, meaning in (("0,5", 10.126), ("0.5", 10126), ("1,234,567", 10126)):
        text = "\n".join([*rows, f"10,126;9,337;{cell}"]).replace(";", sep)
        assert read_table(written(tmp_path, text))["a"][0] == meaning
    with pytest.raises(KerhrmError, match="add --decimal"):
        read_table(written(tmp_path, f"a{sep}b\n1.234 €{sep}2\n2.500 €{sep}3\n"))


@pytest.mark.parametrize("sep", [";", "\t", "|"])
def test_a_point_that_no_column_explains_is_asked_for(sep: str, tmp_path: Path) -> None:
    """Three decimals, or thousands next to numbers below a thousand."""
    rows = ["a;b", *(f"{i};{i % 3}" for i in range(850, 1000)), "1.004;1", "-1.263;3"]
    path = written(tmp_path, "\n".join(rows).replace(";", sep))
    with pytest.raises(KerhrmError, match=r"'1.004' is 1004 or 1.004; add --decimal ,"):
        read_table(path)
    assert read_table(path, decimal=",")["a"].tolist()[-2:] == [1004, -1263]
    assert read_table(path, decimal=".")["a"].tolist()[-2:] == [1.004, -1.263]
    for cell in ("0.004", "1.5", "1.2345", "1004", "1234.567", "1.004e3"):
        text = "\n".join([*rows, f"{cell};2"]).replace(";", sep)
        assert read_table(written(tmp_path, text))["a"].iloc[-2] == -1.263, cell
    for cell, meaning in (("0.5", -1.263), ("0,5", -1263)):
        text = "\n".join([*rows, f"900;{cell}"]).replace(";", sep)
        assert read_table(written(tmp_path, text))["a"].iloc[-2] == meaning, cell


def test_a_point_is_decimal_where_commas_separate(tmp_path: Path) -> None:
    table = read_table(written(tmp_path, "a,b\n850,1\n1.004,2\n"))
    assert table["a"].tolist() == [850, 1.004]


@pytest.mark.parametrize("sep", [",", ";", "\t"])
def test_zeros_in_front_are_said(sep: str, tmp_path: Path) -> None:
    rows = "zip;a;b;c;d\n01234;0;0.5;08:00;\n91234;10;-0.5;09:00;007\n"
    table = read_table(written(tmp_path, rows.replace(";", sep)))
    assert table["zip"].tolist() == [1234, 91234]
    told = "'{}' is read as {}: put a letter in front of each if they are codes"
    notes = {"zip": told.format("01234", 1234), "d": told.format("007", 7)}
    assert table.attrs["notes"] == notes
    quoted = read_table(written(tmp_path, 'a,b\n"01","x"\n"02","y"\n'))
    assert quoted.attrs["notes"] == {"a": told.format("01", 1)}


def test_large_whole_numbers_are_exact_next_to_empty_cells(tmp_path: Path) -> None:
    table = read_table(written(tmp_path, f"a,b\n{2**53 + 1},1\n,2\n{2**60},3\n"))
    assert table["a"].tolist() == [2**53 + 1, pd.NA, 2**60]


def test_a_written_table_is_read_to_the_last_bit(tmp_path: Path) -> None:
    table = pd.DataFrame({"a": [0.1, 1 / 3, 1e-300], "b": [2**53 + 1, 2**62, -1]})
    pd.testing.assert_frame_equal(
        read_table(written(tmp_path, table.to_csv(index=False))), table
    )
