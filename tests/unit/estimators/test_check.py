"""``kerhrm check``: a CSV file in, a report out; a bad one is one line, and nothing is
written."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from kerhrm.estimators.check import check, read_table
from kerhrm.paper.cli import main


@pytest.fixture(scope="module")
def pay(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A rating counts the other way round in two fifths of the west, in a tenth
    elsewhere."""
    random, n = np.random.default_rng(0), 1200
    west = random.random(n) < 0.3
    turned = random.random(n) < np.where(west, 0.4, 0.1)
    rating = random.normal(size=n)
    table = pd.DataFrame(
        {
            "id": np.arange(n),
            "size": random.normal(size=n).round(3),
            "<script>$x$": rating.round(3),
            "field": random.choice(["law", "care", ""], n),
            "region": np.where(west, "west", "east"),
            "from": pd.date_range("2001-01-01", periods=n, freq="6h").astype(str),
        }
    )
    table["pay"] = (30 + 3 * table["size"] + np.where(turned, -6, 6) * rating).round(3)
    table["tax"] = (0.3 * table["pay"]).round(3)
    table["age"] = np.where(random.random(n) < 0.05, -999, random.integers(18, 65, n))
    path = tmp_path_factory.mktemp("csv") / "pay.csv"
    table.to_csv(path, index=False)
    return path


def test_a_file_becomes_a_report_and_a_page(
    pay: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "out.html"
    columns = ["--drop", "id", "tax", "age", "--dates", "from", "--group", "region"]
    assert (
        main(["check", str(pay), "--target", "pay", *columns, "--html", str(page)]) == 0
    )
    shown = capsys.readouterr().out
    for words in (
        "environment 1",
        "region west",
        "840 train, 360 test",
        "environments detected",
    ):
        assert words in shown
    # nothing odd
    assert "column" not in shown.partition("test, ")[2].partition("encoding")[2]
    text = page.read_text()
    assert "region west" in text
    assert "data:image/png;base64," in text
    assert "<script" not in text
    assert list(tmp_path.iterdir()) == [page]


def test_odd_columns_are_named(pay: Path) -> None:
    facts = check(read_table(pay), "pay").report.facts
    assert "gives the target away" in facts["column 'tax'"]
    assert "an identifier?" in facts["column 'id'"]
    assert "-999 stands apart" in facts["column 'age'"]
    assert "--dates from" in facts["column 'from'"]
    assert {"column 'size'", "column 'field'", "column '<script>$x$'"}.isdisjoint(facts)


def test_labels_and_an_auxiliary_column(pay: Path) -> None:
    table = read_table(pay, dates=["from"]).drop(columns=["id", "tax", "pay", "age"])
    size = table.pop("size")
    table["large"] = np.where(
        size + np.random.default_rng(0).normal(size=1200) > 0, "yes", "no"
    )
    found = check(table, "large", auxiliary=["from"])
    assert found.report.facts["error"] == "share of wrong labels"
    assert "detected (p = " in found.report.facts["test"]
    assert set(found.model.classes_) == {"no", "yes"}
    with pytest.raises(
        ValueError, match="column 'larg' does not exist; did you mean 'large'"
    ):
        check(table, "larg")
    with pytest.raises(ValueError, match="no column is left"):
        check(table, "large", drop=[c for c in table if c != "large"])


ROWS = "".join(f"{i},{i % 7}\n" for i in range(40))
BAD: dict[str, tuple[bytes | str, list[str], str]] = {
    "empty": ("", [], "is empty"),
    "a header alone": ("a,b\n", [], "0 of 0 rows have a target"),
    "an archive": (b"PK\x03\x04rest", [], "is a zip archive, .* unpack it"),
    "NUL bytes": (b"a,b\n1,\0\n", [], "has NUL bytes"),
    "another encoding": ("a,b\né,2\n".encode("latin-1"), [], "try --encoding latin-1"),
    "another separator": (
        "a;b\n1;2\n",
        ["--sep", ","],
        "one column, 'a;b'.* set --sep",
    ),
    "two names alike": ("b,b\n1,2\n", [], "two columns are called 'b'"),
    "a ragged row": ("a,b\n1,2\n1,2,3\n", [], "line 3 has 3 cells for 2 names"),
    "infinite": (f"a,b\n{ROWS}inf,1\n", [], r"column 'a' has .* index 40, with inf"),
    "three classes": ("a,b\n" + "1,x\n2,y\n3,z\n" * 20, [], "got 3 labels, 'x', 'y', 'z'; merge"),
    "no date": (
        "a,b\n" + ROWS,
        ["--dates", "a"],
        "must hold dates; got '0' in index 0",
    ),
    "no target": ("a,c\n" + ROWS, [], "column 'b' does not exist"),
    "the target twice": ("a,b\n" + ROWS, ["--group", "b"], "column 'b' is the target"),
    "no folder": (
        "a,b\n" + ROWS,
        ["--html", "/dev/null/x.html"],
        "cannot write /dev/null/x.html",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_a_bad_file_is_one_line(
    case: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    content, arguments, words = BAD[case]
    path, page = tmp_path / "table.csv", tmp_path / "page.html"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    where: list[Any] = [] if "--html" in arguments else ["--html", str(page)]
    assert main(["check", str(path), "--target", "b", *where, *arguments]) == 1
    error = capsys.readouterr().err.strip()
    assert error.startswith("kerhrm: error: ")
    assert "\n" not in error
    assert re.search(words, error), error
    assert list(tmp_path.iterdir()) == [path]
