"""Which environment each row belongs to, as a file; and text that names rows."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from pandas.testing import assert_frame_equal

from kerhrm.check import check
from kerhrm.check.outputs import MEMBERSHIPS, check_output
from kerhrm.cli import main
from kerhrm.plots.page import page

N = 600


@pytest.fixture(scope="module")
def turned() -> pd.DataFrame:
    """A number whose relation to the rating is turned in a fifth of the rows."""
    random = np.random.default_rng(0)
    size, rating = random.normal(size=(2, N)).round(3)
    is_turned = random.random(N) < 0.2
    slope = np.where(is_turned, -3, 3)
    y = size + slope * rating + 0.3 * random.normal(size=N)
    columns = {"size": size, "rating": rating, "y": y.round(3)}
    return pd.DataFrame(columns).assign(turned=is_turned)


def test_every_row_has_its_environment(
    turned: pd.DataFrame, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = tmp_path / "data.csv"
    turned.drop(columns="turned").to_csv(data, index=False)
    written = tmp_path / "rows.csv"
    for _ in range(2):  # it may replace its own file
        arguments = ["check", str(data), "--target", "y", "--quiet"]
        assert main([*arguments, "--memberships", str(written)]) == 0
    assert f"memberships of the rows: {written}" in capsys.readouterr().out
    rows = pd.read_csv(written, index_col="row")
    assert rows.index.tolist() == list(range(N))
    assert rows["part"].value_counts().to_dict() == {"train": 420, "test": 180}
    names = ["environment 0", "environment 1"]
    proba = rows[names].to_numpy()
    assert_allclose(proba.sum(1), 1)
    likeliest = rows["likeliest"].to_numpy()
    assert_array_equal(likeliest, proba.argmax(1))
    agree = (likeliest == turned["turned"]).mean()
    assert max(agree, 1 - agree) > 0.9


def test_of_a_split_that_is_not_detected_training_rows_have_one(
    plain: pd.DataFrame, tmp_path: Path
) -> None:
    data = tmp_path / "data.csv"
    plain.to_csv(data, index=False)
    written = tmp_path / "rows.csv"
    arguments = ["check", str(data), "--target", "y", "--quiet"]
    assert main([*arguments, "--memberships", str(written)]) == 0
    rows = pd.read_csv(written)
    assert rows["part"].unique().tolist() == ["train"]
    assert len(rows) == 56


def test_where_there_is_no_split_nothing_is_written(
    plain: pd.DataFrame, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = tmp_path / "data.csv"
    plain.assign(y=plain["a"]).to_csv(data, index=False)
    written = tmp_path / "rows.csv"
    arguments = ["check", str(data), "--target", "y", "--quiet"]
    assert main([*arguments, "--memberships", str(written)]) == 0
    reason = "is not written: there is no split of the rows"
    assert f"{written} {reason}" in capsys.readouterr().out
    assert not written.exists()
    check_output(MEMBERSHIPS, written, data)


def test_text_that_names_rows_changes_nothing(turned: pd.DataFrame) -> None:
    """As columns of 0 and 1 it hid the environments of this table."""
    table = turned.drop(columns="turned")
    names = [f"L{number:04d}" for number in range(N)]
    expected = check(table, "y")
    found = check(table.assign(listing=names), "y")
    fact = "column 'listing'"
    left_out = found.report.facts.pop(fact)
    assert left_out.startswith("left out: its text differs in nearly every row")
    assert found.doubts is None
    assert found.report.facts == expected.report.facts
    assert_frame_equal(found.report.errors, expected.report.errors)
    assert found.model.heterogeneity_.detected


def test_columns_that_look_wrong_are_told_below_the_verdict(
    plain: pd.DataFrame, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = tmp_path / "data.csv"
    plain.assign(id=range(80)).to_csv(data, index=False)
    assert main(["check", str(data), "--target", "y", "--quiet"]) == 0
    verdict, doubts, *_ = capsys.readouterr().out.splitlines()
    assert verdict.startswith("use ERM")
    assert doubts.startswith("first read the remarks on 'id' below")


def test_the_page_draws_the_column_whose_slopes_differ_most(
    turned: pd.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    checked = check(turned.drop(columns="turned"), "y")
    description = checked.model.describe(stability=0, random_state=0)
    assert description.slopes is not None
    drawn = []

    def relation(*_: object, feature: str, **__: object) -> None:
        drawn.append(feature)

    monkeypatch.setattr("kerhrm.plots.page.relation", relation)
    text = page(checked, "a table", description)
    assert drawn == ["rating"]
    assert text.count("data:image/png;base64,") == 3
    assert "<th></th>" not in text  # a header that a screen reader reads as nothing
