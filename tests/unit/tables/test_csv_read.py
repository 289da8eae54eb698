"""``read_table``: a file is read with the names and cells that it shows."""

import csv
import io
import os
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from csv_files import EXPECTED, PLAIN, read_text, written
from pandas.testing import assert_frame_equal
from refusals import refusal

from kerhrm.check import read_names, read_table
from kerhrm.tables.csv import check_name

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


class Named:
    """What ``os.PathLike`` is."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __fspath__(self) -> str:
        return str(self.path)


@pytest.mark.parametrize("kind", [str, Path, Named])
def test_a_path_is_text_or_path_like(kind: Any, tmp_path: Path) -> None:
    path = kind(written(tmp_path, PLAIN))
    table = read_table(path)
    assert table.to_dict("list") == EXPECTED
    assert read_names(path) == ["a", "b", "y"]


@pytest.mark.parametrize("dates", ["size", ["size"], ("size",), pd.Index(["size"])])
def test_one_column_of_dates_may_be_one_text(dates: Any, tmp_path: Path) -> None:
    text = "size,y\n2020-01-31,1\n2020-02-01,2\n"
    table = read_text(tmp_path, text, dates=dates)
    _, step = table["size"].diff()
    assert step == pd.Timedelta(days=1)


def test_no_column_of_dates_may_be_none(tmp_path: Path) -> None:
    table = read_text(tmp_path, PLAIN, dates=None)
    assert table.shape == (2, 3)


def test_a_pipe_is_read_once() -> None:
    read_end, write_end = os.pipe()
    os.write(write_end, PLAIN.encode())
    os.close(write_end)
    pipe = Path(f"/dev/fd/{read_end}")
    table = read_table(pipe)
    assert table.to_dict("list") == EXPECTED
    os.close(read_end)


def test_names_are_as_they_stand(tmp_path: Path) -> None:
    plain = ["a", "a.1", "A", "2020", 'x"y']
    names = [*plain, "two\nlines", " blanks  inside ", "größe"]
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(names)
    writer.writerow(range(8))
    table = read_text(tmp_path, text.getvalue())
    expected = [*plain, "two lines", "blanks inside", "größe"]
    assert table.columns.tolist() == expected


def test_names_are_as_the_eye_sees_them(tmp_path: Path) -> None:
    text = "k\u200b,gro\u0308\xdfe,a\xa0b,day\u200e\n1,2,3,2020-01-01\n"
    table = read_text(tmp_path, text, dates=["day\u200b"])
    assert table.columns.tolist() == ["k", "gr\xf6\xdfe", "a b", "day"]

    path = written(tmp_path, "k\u200b,k\n1,2\n")
    with refusal("two columns are called 'k'"):
        read_table(path)
    with refusal(r"known are: x\\u200cb, y"):
        check_name("k", ["x\u200cb", "y"])


def test_cells_in_quotes_may_hold_anything(tmp_path: Path) -> None:
    text = 'a,b\n1,"x, y"\n2,"two\nlines"\n3,5" pipe\n4,"he said ""no"""\n'
    table = read_text(tmp_path, text)
    expected = ["x, y", "two\nlines", '5" pipe', 'he said "no"']
    assert table["b"].tolist() == expected


NAN = float("nan")
#: what a line may hold that is blank to the eye, or has no cell but an empty one
BLANK = ("\xa0", "\f", "\v", "\x1c", "\x1f", "\x85", "\u2028", "\u3000", " \xa0\t")
BLANK += ("", " ", "\t", '""', '" "', '"\n\n"')


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("blank", BLANK)
def test_lines_of_white_space_alone_are_no_rows(
    blank: str, end: str, tmp_path: Path
) -> None:
    lines = [blank, "a;b;y", blank, ";4;7", blank, blank, "2,5;;8", ";;9", blank]
    table = read_text(tmp_path, end.join(lines))
    assert table["a"].tolist() == pytest.approx([NAN, 2.5, NAN], nan_ok=True)
    assert table["b"].tolist() == pytest.approx([4, NAN, NAN], nan_ok=True)
    assert table["y"].tolist() == [7, 8, 9]


def test_a_cell_of_several_lines_keeps_those_of_white_space(tmp_path: Path) -> None:
    text = 'k,c\n"a\n\f\nb",2\n\f\n"c\n""\nd",3\n'
    table = read_text(tmp_path, text.replace('\n""\n', '\n""""\n'))
    assert table["k"].tolist() == ["a\n\f\nb", 'c\n""\nd']
    assert table["c"].tolist() == [2, 3]


def test_lines_of_empty_cells_do_not_hide_the_separator(tmp_path: Path) -> None:
    table = read_text(tmp_path, "a,b\n,\n,\n,\n1,2\n")
    assert table["b"].tolist()[-1] == 2
    assert table.shape == (4, 2)


def test_names_that_look_like_data_are_said(tmp_path: Path) -> None:
    table = read_text(tmp_path, "law,5.1,7\ncare,4.9,3\n")
    message = table.attrs["notes"]["5.1"]
    assert "its name is a number, as if the file had no" in message

    numbers = read_text(tmp_path, "6,148,72\n1,85,66\n")
    assert numbers.attrs["notes"]
    for names in ("0,1,2,y", "2019,2020,y", "1,2,3"):
        table = read_text(tmp_path, f"{names}\n{names}\n")
        assert table.attrs["notes"] == {}


def test_a_written_table_is_read_to_the_last_bit(tmp_path: Path) -> None:
    fractions = [0.1, 1 / 3, 1e-300]
    whole_numbers = [2**53 + 1, 2**62, -1]
    table = pd.DataFrame({"a": fractions, "b": whole_numbers})
    text = table.to_csv(index=False)
    again = read_text(tmp_path, text)
    assert_frame_equal(again, table)
