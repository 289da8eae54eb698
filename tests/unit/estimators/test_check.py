"""``kerhrm check``: a CSV file in, a report out; a bad one is one line, and nothing is
written."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from kerhrm.errors import KerhrmError
from kerhrm.estimators.check import check, oddities, read_table
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


@pytest.fixture(scope="module")
def places() -> pd.DataFrame:
    """A spurious column agrees with the label in 99 % of the early rows, in 70 % of
    the late."""
    random, n = np.random.default_rng(0), 400
    time, y = random.random(n), random.choice([-1, 1], n)
    agrees = random.random(n) < np.where(time < 0.5, 0.99, 0.7)
    table = pd.DataFrame({"s": np.where(agrees, y, -y) + 0.3 * random.normal(size=n)})
    table["v"] = y + 1.5 * random.normal(size=n)
    table["y"] = np.where(y > 0, "up", "down")
    table["place"] = np.where(time < 0.5, "early", "late")
    table["day"] = pd.date_range("2020-01-01", periods=n)[(n * time).astype(int)]
    return table


def test_auxiliary_categories_that_no_training_row_has_are_left_out(
    places: pd.DataFrame,
) -> None:
    rare = places.drop(columns="day")
    rare.loc[::40, "place"] = [f"place {i}" for i in range(10)]
    facts = check(rare, "y", auxiliary=["place"]).report.facts
    told = re.search(r"(\d) test rows? with 'place' in no", facts["left out"])
    assert told
    assert facts["rows"].startswith(f"280 train, {120 - int(told[1])} test")
    rare["place"] = [f"place {i}" for i in range(len(rare))]
    with pytest.raises(ValueError, match="'place' has 400 categories in 400 rows"):
        check(rare, "y", auxiliary=["place"])
    with pytest.raises(ValueError, match="auxiliary column 'place' is constant"):
        check(rare.assign(place="x"), "y", auxiliary=["place"])


def test_a_page_with_an_auxiliary_column(
    places: pd.DataFrame, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, page = tmp_path / "t.csv", tmp_path / "out.html"
    places.drop(columns="place").to_csv(path, index=False)
    arguments = ["check", str(path), "--target", "y", "--auxiliary", "day"]
    assert main(arguments) == 1
    error = capsys.readouterr().err
    assert re.search("'day' holds dates, as '20..-..-..'; add --dates day", error)
    assert len(error) < 200
    assert main([*arguments, "--dates", "day", "--html", str(page)]) == 0
    assert "environment 1" in capsys.readouterr().out
    assert "data:image/png;base64," in page.read_text()


@pytest.fixture(scope="module")
def plain() -> pd.DataFrame:
    random, n = np.random.default_rng(0), 80
    table = pd.DataFrame(random.normal(size=(n, 2)).round(3), columns=["a", "b"])
    table["y"] = (table["a"] + 2 * table["b"] + 0.3 * random.normal(size=n)).round(3)
    return table


NAMES = ["all", "rows", "environment", "error", "_merge", "index", "level_0", "target"]
NAMES += ["group", "KerHRM", "constant", "missing", "0", "x", "missingindicator_a"]


@pytest.mark.parametrize("name", NAMES)
def test_no_name_of_a_column_changes_another(name: str, plain: pd.DataFrame) -> None:
    column = pd.Series(["rows", "0", None, "f"] * 20)
    expected = check(plain.assign(z=column), "y", group="z").report
    found = check(plain.assign(**{name: column}), "y", group=name).report
    np.testing.assert_array_equal(found.errors, expected.errors)
    assert found.errors.index.is_unique
    assert found.facts == expected.facts
    predicts = check(plain.assign(**{name: column}), "y")
    renamed = check(plain.assign(z=column), "y")
    np.testing.assert_array_equal(predicts.X_test, renamed.X_test)
    assert predicts.X_test.columns.is_unique


def test_what_is_read_is_said_of_every_column(plain: pd.DataFrame) -> None:
    table = plain.astype({"a": str, "y": str}).assign(z=["x", "?"] * 40)
    table.loc[::20, "a"], table.loc[::16, "y"] = "?", "n/a"
    facts = check(table, "y", group="z").report.facts
    assert facts["column 'a'"] == "missing in 4 rows: '?'"
    assert facts["column 'y'"] == "missing in 5 rows: 'n/a'"
    assert facts["column 'z'"] == "missing in 40 rows: '?'"
    assert facts["left out"] == "5 rows without a target or auxiliary value"
    word = plain.astype({"y": str})
    word.loc[3, "y"] = "refused"
    with pytest.raises(ValueError, match="but not 'refused' in 1 row: leave such"):
        check(word, "y")


def test_a_code_of_missing_targets_and_auxiliary_values_is_said(
    plain: pd.DataFrame,
) -> None:
    table = plain.assign(z=np.arange(80) % 40 / 10)
    table.loc[::10, ["y", "z"]] = -9999
    facts = check(table, "y", auxiliary="z").report.facts
    for name in ("y", "z"):
        assert "-9999 stands apart" in facts[f"column {name!r}"]
    assert "column 'y'" not in check(plain, "y").report.facts


def test_dates_in_digits_are_said_of_auxiliary_columns(plain: pd.DataFrame) -> None:
    days = pd.date_range("2024-01-01", periods=80)
    table = plain.assign(c=days.strftime("%Y%m%d").astype(int))
    told = check(table, "y", auxiliary="c").report.facts["column 'c'"]
    assert told == "it looks like dates, as 20240101: --dates c"
    assert check(table, "y").report.facts["column 'c'"] == told
    text = plain.assign(c=days.astype(str).where(days.day != 3, "0000-00-00"))
    facts = check(text, "y").report.facts
    assert "but not '0000-00-00' in 3 rows" in facts["column 'c'"]
    with pytest.raises(ValueError, match="but not '0000-00-00' in 3 rows"):
        check(text, "y", auxiliary="c")
    with pytest.raises(ValueError, match="got dates or durations; give the days"):
        check(text, "c")
    told = check(table, "c").report.facts["column 'c'"]
    assert told == "it looks like dates, as 20240101: give the days since a first day"
    few = plain.assign(c=[*["2024-01-01", "2024-01-02", "2024-01-03", "soon"] * 20])
    with pytest.raises(
        ValueError, match=r"'c' must hold dates or cat.*not 'soon' in 20"
    ):
        check(few, "y", auxiliary="c")


def test_what_looks_alike_is_one_group_label_and_name(plain: pd.DataFrame) -> None:
    place = ["K\xf6ln", "Ko\u0308ln", "Bonn", "Bonn\u200b"] * 20
    table = plain.assign(**{"\ufeffpla\xf6": place}, y=plain["y"] > 0)
    for group in ("pla\xf6", "plao\u0308\u200b"):
        errors = check(table, "y\u2060", group=group).report.errors
        assert {"pla\xf6 K\xf6ln", "pla\xf6 Bonn"} < {*errors.index}
        assert not any("\u0308" in name or "\u200b" in name for name in errors.index)
    assert check(table, "pla\xf6").model.classes_.tolist() == ["Bonn", "K\xf6ln"]
    with pytest.raises(ValueError, match="two columns are called 'a'"):
        check(plain.assign(**{"a\u200b": 1}), "y")


def test_whole_numbers_beyond_float64_are_categories(plain: pd.DataFrame) -> None:
    table = plain.assign(few=2**53 + np.arange(80) % 3, all=2**53 + np.arange(80))
    found = check(table, "y")
    assert "each is a category" in found.report.facts["column 'few'"]
    assert "identifier? --drop all" in found.report.facts["column 'all'"]
    assert {f"few_{2**53 + i}" for i in range(3)} < {*found.X_test}


def test_a_label_that_no_test_row_has_is_said(plain: pd.DataFrame) -> None:
    tested = check(plain, "y").X_test.index
    trained = plain.index.difference(tested)
    rare = plain.assign(y=np.where(plain.index == trained[0], "yes", "no"))
    told = check(rare, "y").report.facts["column 'y'"]
    assert told.startswith("'yes' stands in 1 row, none of which tests: the errors say")
    rare = plain.assign(y=np.where(plain.index == tested[0], "yes", "no"))
    with pytest.raises(KerhrmError, match="'y' is 'no' in all training rows; give"):
        check(rare, "y")
    two = plain.assign(y=np.where(plain.index < 2, "yes", "no"))
    assert "column 'y'" not in check(two, "y").report.facts


def test_few_whole_numbers_may_be_classes(plain: pd.DataFrame) -> None:
    facts = check(plain.assign(y=np.arange(80) % 3), "y").report.facts
    told = "it is predicted as a number: if 0, 1, 2 are classes, merge them into two"
    assert facts["column 'y'"] == told
    assert (
        "column 'y'" not in check(plain.assign(y=np.arange(80) % 2), "y").report.facts
    )
    assert (
        "column 'y'" not in check(plain.assign(y=np.arange(80) % 9), "y").report.facts
    )


def test_groups_of_one_row_are_said(plain: pd.DataFrame) -> None:
    table = plain.assign(who=[f"p{i}" for i in range(80)], pair=np.arange(80) // 2)
    facts = check(table, "y", group="who").report.facts
    assert "every test row is a group of its own" in facts["column 'who'"]
    assert "column 'pair'" not in check(table, "y", group="pair").report.facts


def test_a_constant_column_with_empty_cells_is_no_constant(plain: pd.DataFrame) -> None:
    table = plain.assign(c=["x", None] * 40, n=[1, np.nan] * 40, e=None, k=1)
    found = check(table, "y").report.facts
    told = "it is 'x', and empty in 40 rows; --drop c unless empty cells tell something"
    assert found["column 'c'"] == told
    assert found["column 'n'"].startswith("it is '1.0', and empty in 40 rows; --drop n")
    assert found["column 'e'"] == "it is empty; --drop e"
    assert found["column 'k'"] == "it is constant; --drop k"


def test_copies_of_rows_are_on_one_side_of_the_split(plain: pd.DataFrame) -> None:
    some = pd.concat([plain, plain.iloc[:30]], ignore_index=True)
    all_of_them = pd.concat([plain.assign(c=[*"pq"] * 40)] * 3)
    for table, number in ((some, 60), (all_of_them, 240)):
        found = check(table, "y")
        told = f"{number} rows occur more than once; all copies"
        assert found.report.facts["copies"].startswith(told)
        tested = set(found.y_test)
        kept = table[~table["y"].isin(tested)]
        assert len(kept) + len(found.y_test) == len(table)
        assert 0.2 < len(found.y_test) / len(table) < 0.4
    labels = pd.concat([plain.assign(y=np.where(plain["y"] > 0, "p", "q"))] * 2)
    found = check(labels, "y")
    assert len(set(found.X_test["a"])) * 2 == len(found.X_test)


def test_rows_that_differ_in_the_target_alone_are_on_one_side() -> None:
    random, unit = np.random.default_rng(0), np.repeat(np.arange(40), 4)
    table = pd.DataFrame(random.normal(size=(40, 3)), columns=[*"abc"]).iloc[unit]
    table["y"] = random.normal(size=40)[unit] + 0.1 * random.normal(size=160)
    found = check(table, "y")
    assert found.report.facts["repeated rows"].startswith("160 rows differ from others")
    assert found.X_test["a"].value_counts().eq(4).all()
    # an unknown unit's target is not known: no better than a constant
    assert found.report.errors.loc["all rows", "KerHRM"] > 0.8 * table["y"].std()
    assert not [name for name in found.report.facts if name.startswith("column")]


def test_rows_of_few_categories_are_alike_by_chance(plain: pd.DataFrame) -> None:
    table = (plain > 0).astype(int)
    facts = check(table, "y").report.facts
    assert "copies" not in facts
    assert facts["rows"].startswith("56 train, 24 test")
    assert "copies" not in check(plain, "y").report.facts


def test_truth_values_predict_and_are_predicted(plain: pd.DataFrame) -> None:
    flag = pd.Series([True, False, True, None] * 20, dtype=object)
    found = check(plain.assign(flag=flag), "y")
    assert set(found.X_test["flag"]) == {0, 1}
    assert found.X_test["missingindicator_flag"].sum() > 0
    label = (plain["y"] > 0).astype(str).where(plain.index > 7)
    found = check(plain.assign(y=label), "y")
    assert found.model.classes_.tolist() == [False, True]
    assert found.report.facts["left out"].startswith("8 rows")


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (["x", "y", "z", "x"] * 20, "got 3 labels, 'x', 'y', 'z'; merge"),
        ([1] * 80, "has one value, '1', in all rows"),
        (pd.date_range("2020", periods=80).astype(str), "got dates or durations"),
        (pd.to_timedelta(range(80), "h"), "got dates or durations"),
        (2**60 + np.arange(80), r"whole numbers beyond 2\^53; subtract"),
    ],
)
def test_targets_that_are_refused(y: Any, message: str, plain: pd.DataFrame) -> None:
    with pytest.raises(ValueError, match=message):
        check(plain.assign(y=y), "y")


def test_types_of_columns_change_nothing(plain: pd.DataFrame) -> None:
    table = plain.assign(day=pd.date_range("2020", periods=80), code=list("abcd") * 20)
    expected = check(table, "y", group="code").report
    kinds = {"a": "Float64", "y": "Float64", "day": "datetime64[s]", "code": "string"}
    for other in (
        table.astype(kinds),
        table.astype({"code": "category", "a": object}),
        table.astype({"a": str, "b": str}),
        table.set_axis(["x"] * 80),
    ):
        found = check(other, "y", group="code").report
        pd.testing.assert_frame_equal(found.errors, expected.errors)
        assert found.facts == expected.facts


def test_columns_that_give_the_target_away() -> None:
    random, n = np.random.default_rng(0), 200
    number, label = random.normal(size=n), random.integers(2, size=n)
    table = pd.DataFrame(
        {
            "noise": random.normal(size=n),
            "curve": np.exp(number),
            "code": np.where(label == 1, "p", "q"),
            "sign": label + 0.1 * random.normal(size=n),
            "day": pd.Timestamp("2020-01-01") + pd.to_timedelta(number, "D"),
        }
    )
    told = dict(oddities(table, pd.Series(number)))
    assert {name for name, text in told.items() if "away" in text} == {"curve", "day"}
    told = dict(oddities(table, pd.Series(label)))
    assert {name for name, text in told.items() if "away" in text} == {"code", "sign"}
    tailed = np.append(number, 40.0)  # one row has most of the variance
    told = dict(oddities(pd.DataFrame({"x": tailed**3}), pd.Series(tailed)))
    assert "away" in told["x"]
    twice = pd.concat([table[["noise"]]] * 2)
    assert not dict(oddities(twice, pd.Series(np.tile(number, 2), twice.index)))


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
    "no target": ("a,c\n" + ROWS, [], "column 'b' does not exist"),
    "the target twice": ("a,b\n" + ROWS, ["--group", "b"], "column 'b' is the target"),
    "no folder": (
        "a,b\n" + ROWS,
        ["--html", "/dev/null/x.html"],
        "cannot write /dev/null/x.html",
    ),
}


@pytest.mark.parametrize("option", ["--drop", "--dates", "--auxiliary"])
def test_a_file_that_an_option_took_is_one_line(
    option: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main(["check", "--target", "y", option, "a", "data.csv"])
    error = capsys.readouterr().err.strip()
    assert "\n" not in error
    assert "write kerhrm check FILE before the options" in error


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
