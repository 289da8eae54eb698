"""``kerhrm check``: a CSV file in, a report and a page out."""

import os
import re
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from kerhrm.check import check, read_table
from kerhrm.cli import main
from kerhrm.description.text import CHANGES, lines, to_html


@pytest.fixture(scope="module")
def pay(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A rating counts the other way round in two fifths of the west, in a tenth
    elsewhere."""
    random = np.random.default_rng(0)
    n = 1200
    draws = random.random(n)
    west = draws < 0.3
    share = np.where(west, 0.4, 0.1)
    draws = random.random(n)
    turned = draws < share
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
    slope = np.where(turned, -6, 6)
    of_size = 3 * table["size"]
    signal = 30 + of_size + slope * rating
    table["pay"] = signal.round(3)
    tax = 0.3 * table["pay"]
    table["tax"] = tax.round(3)
    draws = random.random(n)
    is_missing = draws < 0.05
    ages = random.integers(18, 65, n)
    table["age"] = np.where(is_missing, -999, ages)
    folder = tmp_path_factory.mktemp("csv")
    path = folder / "pay.csv"
    table.to_csv(path, index=False)
    return path


def test_a_file_becomes_a_report_and_a_page(
    pay: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "out.html"
    arguments = ["check", str(pay), "--target", "pay", "--html", str(page)]
    columns = ["--drop", "id", "tax", "age", "--dates", "from", "--group", "region"]
    assert main([*arguments, *columns]) == 0
    shown = capsys.readouterr().out
    assert "environment 1" in shown
    assert "region west" in shown
    assert "840 train, 360 test" in shown
    assert "environments detected" in shown
    missing = "'field' in 265 of 840 rows that train; a further column says where"
    assert re.search(f"^missing +{missing}$", shown, re.MULTILINE)
    _, _, after_sizes = shown.partition("test, ")
    _, _, after_encoding = after_sizes.partition("encoding")
    assert "column '" not in after_encoding  # nothing odd
    text = page.read_text()
    assert "region west" in text
    assert "data:image/png;base64," in text
    assert "<script" not in text
    assert list(tmp_path.iterdir()) == [page]


def test_odd_columns_are_named(pay: Path) -> None:
    checked = check(read_table(pay), "pay")
    facts = checked.report.facts
    assert "gives the target away" in facts["column 'tax'"]
    assert "an identifier?" in facts["column 'id'"]
    assert "-999 stands apart" in facts["column 'age'"]
    assert "--dates from" in facts["column 'from'"]
    assert {"column 'size'", "column 'field'", "column '<script>$x$'"}.isdisjoint(facts)


def test_labels_and_an_auxiliary_column(pay: Path) -> None:
    table = read_table(pay, dates=["from"])
    table = table.drop(columns=["id", "tax", "pay", "age"])
    size = table.pop("size")
    random = np.random.default_rng(0)
    noise = random.normal(size=1200)
    is_large = size + noise > 0
    table["large"] = np.where(is_large, "yes", "no")
    checked = check(table, "large", auxiliary=["from"])
    facts = checked.report.facts
    assert facts["error"] == "share of wrong labels"
    assert "detected (p = " in facts["test"]
    classes = set(checked.model.classes_)
    assert classes == {"no", "yes"}
    message = "column 'larg' does not exist; did you mean 'large'"
    with pytest.raises(ValueError, match=message):
        check(table, "larg")
    columns = table.columns.drop("large")
    others = columns.tolist()
    with pytest.raises(ValueError, match="no column is left"):
        check(table, "large", drop=others)


@pytest.fixture(scope="module")
def places() -> pd.DataFrame:
    """A spurious column agrees with the label in 99 % of the early rows, in 70 % of
    the late."""
    random = np.random.default_rng(0)
    n = 400
    time = random.random(n)
    y = random.choice([-1, 1], n)
    is_early = time < 0.5
    share = np.where(is_early, 0.99, 0.7)
    draws = random.random(n)
    agrees = draws < share
    noise = 0.3 * random.normal(size=n)
    direction = np.where(agrees, y, -y)
    spurious = direction + noise
    table = pd.DataFrame({"s": spurious})
    noise_of_v = 1.5 * random.normal(size=n)
    table["v"] = y + noise_of_v
    table["y"] = np.where(y > 0, "up", "down")
    table["place"] = np.where(is_early, "early", "late")
    days = pd.date_range("2020-01-01", periods=n)
    positions = n * time
    number_of_day = positions.astype(int)
    table["day"] = days[number_of_day]
    return table


def test_auxiliary_categories_that_no_training_row_has_are_left_out(
    places: pd.DataFrame,
) -> None:
    rare = places.drop(columns="day")
    few_places = [f"place {i}" for i in range(10)]
    rare.loc[::40, "place"] = few_places
    checked = check(rare, "y", auxiliary=["place"])
    facts = checked.report.facts
    message = re.search(r"(\d) test rows? with 'place' in no", facts["left out"])
    assert message
    n_test = 120 - int(message[1])
    assert facts["rows"].startswith(f"280 train, {n_test} test")
    rare["place"] = [f"place {i}" for i in range(len(rare))]
    with pytest.raises(ValueError, match="'place' has 400 categories in 400 rows"):
        check(rare, "y", auxiliary=["place"])
    constant = rare.assign(place="x")
    with pytest.raises(ValueError, match="auxiliary column 'place' is constant"):
        check(constant, "y", auxiliary=["place"])


def test_a_page_with_an_auxiliary_column(
    places: pd.DataFrame, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "t.csv"
    page = tmp_path / "out.html"
    without_place = places.drop(columns="place")
    without_place.to_csv(path, index=False)
    arguments = ["check", str(path), "--target", "y", "--auxiliary", "day"]
    assert main(arguments) == 1
    error = capsys.readouterr().err
    assert re.search("'day' holds dates, as '20..-..-..'; add --dates day", error)
    assert len(error) < 200
    with_page = [*arguments, "--dates", "day", "--html", str(page)]
    assert main(with_page) == 0
    assert "environment 1" in capsys.readouterr().out
    assert "data:image/png;base64," in page.read_text()


def test_the_fit_is_described_first_and_on_the_page(
    plain: pd.DataFrame, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "t.csv"
    page = tmp_path / "out.html"
    rows = np.arange(len(plain))
    is_third = rows % 3 == 0
    turn = np.where(is_third, 5, 0)
    y = plain["y"] + turn
    turned = plain.assign(y=y)
    turned.to_csv(path, index=False)
    arguments = ["check", str(path), "--target", "y", "--seed", "3"]
    assert main([*arguments, "--html", str(page)]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("use ERM, the ordinary model (KerHRM predicts the same): ")
    assert "this may be noise of two kinds" in shown
    assert "errors on rows that were held out" in shown
    text = page.read_text()
    assert text.count("data:image/png;base64,") == 1  # no errors by environment
    assert "numbers of rows by their membership" in text
    assert main(arguments) == 0
    without_page, _, _ = shown.partition("\n\nopen ")
    again = capsys.readouterr().out
    assert again == without_page + "\n"


@pytest.mark.parametrize(("given", "expected"), [(None, "PASSIVE"), ("x", "x")])
def test_threads_that_wait_leave_their_core(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, given: str | None, expected: str
) -> None:
    """PyTorch's OpenMP reads it at its import, which the command has before it."""
    name = "OMP_WAIT_POLICY"
    monkeypatch.setenv(name, str(given))
    if given is None:
        monkeypatch.delenv(name)
    missing = tmp_path / "none.csv"
    assert main(["check", str(missing), "--target", "y"]) == 1
    assert os.environ[name] == expected


def test_the_task_may_be_given(plain: pd.DataFrame) -> None:
    is_positive = plain["y"] > 0
    as_number = is_positive.astype(int)
    two = plain.assign(y=as_number)
    as_labels = check(two, "y").report
    assert as_labels.facts["error"] == "share of wrong labels"
    as_numbers = check(two, "y", task="regression").report
    assert as_numbers.facts["error"] == "root mean squared error"
    true = plain.assign(y=is_positive)
    for task in ("regression", "classification"):
        checked = check(true, "y", task=task)
        assert checked.model._task == task
    with pytest.raises(ValueError, match="has 80 values, and a classification needs"):
        check(plain, "y", task="classification")
    with pytest.raises(ValueError, match="did you mean 'regression'"):
        check(plain, "y", task="regresion")
    words = np.where(is_positive, "yes", "no")
    text = plain.assign(y=words)
    with pytest.raises(ValueError, match="a regression needs numbers; use task class"):
        check(text, "y", task="regression")


def test_many_columns_or_none_that_varies_are_checked_without_a_warning(
    plain: pd.DataFrame,
) -> None:
    random = np.random.default_rng(0)
    noise = random.normal(size=(80, 120))
    wide = pd.concat([plain, pd.DataFrame(noise).add_prefix("v")], axis=1)
    constant = plain[["y"]].assign(c=1)
    for table in (wide, constant):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            checked = check(table, "y")
        described = "\n".join(lines(checked.model.describe()))
        # of no column is there more to say than its standard deviation
        assert f"{CHANGES}: none can be told" in described
        assert "sd of the column" not in described
        assert f"{CHANGES}: none can" in to_html(checked.model.describe())
