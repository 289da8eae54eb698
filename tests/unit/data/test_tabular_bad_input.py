"""What is wrong with a user's table is told in one line that names the column and the cure."""

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from kerhrm.data.registry import generate
from kerhrm.data.tabular.options import TabularData
from kerhrm.errors import KerhrmError

N = 40


def frame(**changed: Any) -> pd.DataFrame:
    """A table that is read; ``changed`` columns, None for one that is left out."""
    random = np.random.default_rng(0)
    columns: dict[str, Any] = {
        "size": random.normal(size=N).round(3),
        "age": random.integers(0, 90, N),
        "town": random.choice(["north", "south", "west"], N),
        "price": random.normal(size=N).round(3),
        "sold": ["yes", "no"] * (N // 2),
    }
    columns |= changed
    return pd.DataFrame({name: values for name, values in columns.items() if values is not None})


def put(column: str, value: Any, row: int = 3) -> pd.DataFrame:
    """The table with one other cell."""
    table = frame().astype({column: object})
    table.loc[row, column] = value
    return table


BASE: dict[str, Any] = {
    "generator": "tabular",
    "target": "price",
    "task": "regression",
    "categorical": ["town", "sold"],
}
CLASSES = BASE | {"target": "sold", "task": "classification", "categorical": ["town"]}
IN_TOWNS = {"column": "town"}
WITHOUT_TOWN = {"categorical": ["sold"]}

CASES: dict[str, tuple[pd.DataFrame, dict[str, Any], tuple[str, ...]]] = {
    "missing target column": (
        frame(price=None), BASE, ("no column 'price' (target)", "known are"),
    ),
    "misspelt target": (frame(), BASE | {"target": "prise"}, ("'prise'", "did you mean 'price'?")),
    "unknown in drop": (frame(), BASE | {"drop": ["sise"]}, ("'sise' (drop)", "mean 'size'?")),
    "unknown in categorical": (
        frame(), BASE | {"categorical": ["city"]}, ("'city' (categorical)", "known are"),
    ),
    "unknown in only": (frame(), BASE | {"only": ["sizes"]}, ("'sizes' (only)", "mean 'size'?")),
    "unknown group column": (
        frame(), BASE | {"groups": {"column": "twn", "random": 0.3}},
        ("'twn' (groups.column)", "mean 'town'?"),
    ),
    "unknown group": (
        frame(), BASE | WITHOUT_TOWN | {"groups": IN_TOWNS | {"values": ["nord"]}},
        ("'town' is never 'nord'", "did you mean 'north'?"),
    ),
    "no value": (put("size", None), BASE, ("'size' has no value in 1 rows", "missing: drop")),
    "no value of the target, imputed": (
        put("price", None), BASE | {"missing": "impute"}, ("'price' has no value", "missing: drop"),
    ),
    "no value anywhere": (
        frame(age=[None] * N), BASE | {"missing": "drop"},
        ("every row lacks a value", "missing: impute"),
    ),
    "infinite": (put("size", "inf"), BASE, ("'size' is infinite", "row 4", "leave it empty")),
    "minus infinity in the target": (put("price", "-inf"), BASE, ("'price' is infinite", "row 4")),
    "enormous": (put("size", 1e30), BASE, ("'size' is enormous (1e+30)", "missing: impute")),
    "text": (put("size", "large"), BASE, ("'size' holds 'large' (row 4)", "under categorical")),
    "text in the target": (
        put("price", "dear"), BASE, ("'price' holds 'dear'", "task: classification"),
    ),
    "text column": (frame(), BASE | WITHOUT_TOWN, ("'town' holds", "categorical or drop")),
    "constant column": (frame(age=[7] * N), BASE, ("'age' is constant (7)", "under drop")),
    "constant names": (frame(town=["x"] * N), BASE, ("'town' is constant (x)", "under drop")),
    "constant target": (
        frame(price=[1.5] * N), BASE, ("'price' is constant (1.5)", "another target"),
    ),
    "repeated column": (
        frame(again=frame()["size"]), BASE, ("'again' repeats column 'size'", "under drop"),
    ),
    "one class": (frame(sold=["no"] * N), CLASSES, ("only one class, 'no'", "second one")),
    "three classes": (
        frame(), CLASSES | {"target": "town", "categorical": ["sold"]},
        ("'town' has 3 classes", "positive: one of north, south, west"),
    ),
    "unknown class": (
        frame(), CLASSES | {"positive": "yess"}, ("never 'yess'", "did you mean 'yes'?"),
    ),
    "nothing to predict from": (
        frame(), BASE | {"only": ["town"], "groups": IN_TOWNS | {"random": 0.3}},
        ("no column is left", "drop fewer"),
    ),
    "no row trains": (
        frame(),
        BASE | WITHOUT_TOWN | {"groups": IN_TOWNS | {"values": ["north", "south", "west"]}},
        ("0 rows are left to train", "fewer test groups"),
    ),
    "no row above the quantile": (
        frame(age=[90] * (N - 1) + [1]), BASE | {"groups": {"column": "age", "quantile": 0.5}},
        ("no row is above quantile 0.5 of 'age'", "smaller groups.quantile"),
    ),
    "neither number nor date": (
        frame(), BASE | WITHOUT_TOWN | {"groups": IN_TOWNS | {"quantile": 0.5}},
        ("'town' holds", "neither number nor date", "groups.values"),
    ),
    "dates of a country": (
        frame(day=[f"{1 + i % 28}/{1 + i % 12}/2024" for i in range(N)]),
        BASE | {"groups": {"column": "day", "quantile": 0.5}},
        ("'day' holds '1/1/2024'", "neither number nor date", "write dates as 2024-12-31"),
    ),
    "no test row": (
        frame(), BASE | {"groups": {"random": 0.001}}, ("none for the test", "groups.random"),
    ),
    "too few rows": (frame().head(3), BASE | {"categorical": [], "drop": ["town", "sold"]},
                     ("rows are left to train and validate", "validation_fraction")),
    "too many groups": (
        frame(age=range(N)).loc[np.repeat(range(N), 4)].assign(age=range(4 * N)),
        BASE | {"groups": {"column": "age", "random": 0.5}},
        ("'age' has 160 values, too many", "127 or fewer"),
    ),
    "injected name is taken": (
        frame(), BASE | {"inject": {"column": "age"}}, ("a column 'age' already", "inject.column"),
    ),
}  # fmt: skip


def told(data: dict[str, Any]) -> str:
    """The one line that a table is refused with."""
    with pytest.raises(KerhrmError) as caught:
        generate(data, [0])
    text = str(caught.value)
    assert "\n" not in text
    assert "; " in text
    return text


@pytest.mark.parametrize("case", CASES)
def test_a_bad_table_is_told_in_one_line(case: str, tmp_path: Path) -> None:
    table, options, words = CASES[case]
    path = tmp_path / "mine.csv"
    table.to_csv(path, index=False)
    text = told(options | {"path": str(path)})
    assert text.startswith(str(path))
    for word in words:
        assert word in text


CSV = "size,age,town,price,sold\n1,2,north,3,yes\n4,5,south,6,no\n"
FILES: dict[str, tuple[str, bytes, tuple[str, ...]]] = {
    "empty": ("mine.csv", b"", ("mine.csv is empty", "save the table again")),
    "header alone": ("mine.csv", CSV[:25].encode(), ("no row of data", "add some")),
    "empty first line": ("mine.csv", b"\n" + CSV.encode(), ("empty first line", "names there")),
    "two columns of a name": (
        "mine.csv", CSV.replace("age", "size").encode(), ("two columns called 'size'", "rename"),
    ),
    "a column without a name": (
        "mine.csv", CSV.replace("age", "").encode(), ("column 2 has no name", "first line"),
    ),
    "a long line": (
        "mine.csv", (CSV + "1,2,north,3,yes,6,7\n").encode(), ("line 4", "mend that line"),
    ),
    "a long first row": (
        "mine.csv", CSV.replace("north,3,yes", "north,3,yes,6").encode(),
        ("the first row has more cells", "name every column"),
    ),
    "row names without a column": (
        "mine.csv", b"size,age\na,1,2\nb,4,5\n", ("the first row has more cells", "remove what"),
    ),
    "another encoding": (
        "mine.csv", CSV.replace("north", "nørd").encode("latin-1"), ("byte 0xf8", "as UTF-8"),
    ),
    "sixteen bits": ("mine.csv", CSV.encode("utf-16"), ("is not UTF-8", "save it as UTF-8")),
    "Parquet called CSV": ("mine.csv", b"PAR1" + bytes(9), ("looks like Parquet", "rename it")),
    "Excel called CSV": ("mine.csv", b"PK\x03\x04" + bytes(9), ("Excel sheet", "as CSV")),
    "CSV called Parquet": ("mine.parquet", CSV.encode(), ("looks like text", "as Parquet")),
    "CSV called gzip": ("mine.csv.gz", CSV.encode(), ("looks like text", "as CSV")),
    "gzip called CSV": ("mine.csv", gzip.compress(CSV.encode()), ("looks like gzip", "rename it")),
    "half a gzip": ("mine.csv.gz", gzip.compress(CSV.encode())[:30], ("not what its", "CSV")),
    "unknown suffix": ("mine.xlsx", CSV.encode(), ("no kind of file", "save it as .csv")),
}  # fmt: skip


@pytest.mark.parametrize("case", FILES)
def test_a_bad_file_is_told_in_one_line(case: str, tmp_path: Path) -> None:
    name, content, words = FILES[case]
    (tmp_path / name).write_bytes(content)
    text = told(BASE | {"path": str(tmp_path / name)})
    for word in words:
        assert word in text


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    text = told(BASE | {"path": str(tmp_path / "mine.csv")})
    assert "No such file" in text
    assert "correct the path" in text


def test_a_damaged_parquet_file(tmp_path: Path) -> None:
    """Or, without what reads it, what to install."""
    (tmp_path / "mine.parquet").write_bytes(b"PAR1" + bytes(20))
    text = told(BASE | {"path": str(tmp_path / "mine.parquet")})
    assert "is damaged" in text or "install pyarrow" in text


@pytest.mark.parametrize(
    ("changed", "word"),
    [
        ({"groups": {"random": 0.3, "quantile": 0.5}}, "one of values, quantile and random"),
        ({"groups": {"quantile": 0.5}}, "add column"),
        ({"groups": {}}, "one of values, quantile and random"),
        ({"path": "raw:king_county", "task": "auto"}, "write classification or regression"),
        ({"positive": "yes"}, "no classes"),
        ({"drop": ["price"]}, "is the target"),
        ({"inject": {}, "groups": {"column": "town", "random": 0.3}}, "hidden rows are the groups"),
        ({"missing": "mean"}, "missing"),
        ({"validation_fraction": 1}, "validation_fraction"),
    ],
)
def test_options_that_cannot_be(changed: dict[str, Any], word: str) -> None:
    with pytest.raises(ValueError, match=word):
        TabularData(**(BASE | {"path": "mine.csv"} | changed))
