"""A user's table as a data set: what is read, split, encoded, held out and injected."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from kerhrm.data.dataset import Dataset
from kerhrm.data.registry import file_of, generate, source_of, task_of
from kerhrm.data.sources.king_county_table import COLUMNS, ZIP_CODES, Sales
from kerhrm.data.tabular.options import TabularData
from kerhrm.data.tabular.reading import read_frame

N = 300
SEEDS = [4, 0]
BASE: dict[str, Any] = {"generator": "tabular", "target": "price", "task": "regression"}


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    random = np.random.default_rng(1)
    size = random.gamma(2.0, size=N)
    town = random.choice(["north", "south", "west", "far, east"], N)
    return pd.DataFrame(
        {
            "size": size,
            "year": random.integers(1900, 2000, N),
            "town": town,
            "code": random.integers(0, 40, N) + 98000,
            "day": pd.date_range("2020-01-30", periods=N).strftime("%Y-%m-%d"),
            "price": 3 * size + (town == "north") + random.normal(size=N),
        }
    )


@pytest.fixture(scope="module")
def path(frame: pd.DataFrame, tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("tables") / "mine.csv"
    frame.to_csv(path, index=False)
    return str(path)


@pytest.fixture
def made(path: str) -> Any:
    def make(**options: Any) -> Dataset:
        return generate(BASE | {"path": path} | options, SEEDS)

    return make


TEXTS: dict[str, Any] = {"drop": ["day"], "categorical": ["town", "code"]}


def test_columns_become_predictors_in_units_of_the_training_rows(made: Any) -> None:
    data = made(**TEXTS, clip="none")
    x, names = data.train.x.astype(np.float64), data.about["features"]
    numbers = x[..., [names.index("size"), names.index("year"), names.index("code")]]
    np.testing.assert_allclose(numbers.mean(1), 0, atol=1e-6)
    np.testing.assert_allclose(numbers.std(1), 1, atol=1e-6)
    towns = x[..., [i for i, name in enumerate(names) if name.startswith("town")]]
    assert towns.shape[-1] == 4
    assert (towns.sum(-1) == 1).all()
    assert data.about["encodings"] == {"code": "mean target", "town": "0 and 1"}
    assert data.about["categories"] == {"town": 4, "code": 40}
    np.testing.assert_allclose(data.train.y.mean(1), 0, atol=1e-6)
    np.testing.assert_allclose(data.train.y.std(1), 1, atol=1e-6)


def test_errors_are_in_units_of_all_rows(made: Any, frame: pd.DataFrame) -> None:
    """y times the unit has, but for its zero, the values of the standardised column."""
    data = made(**TEXTS)
    whole = stats.zscore(frame["price"])
    for b in range(len(SEEDS)):
        y = np.concatenate([getattr(data, part).y[b] for part in ("train", "validation", "test")])
        scaled = np.sort(y.astype(np.float64) * data.unit[b])
        np.testing.assert_allclose(scaled - scaled.mean(), np.sort(whole), atol=1e-5)


def test_every_row_is_in_one_part_and_seeds_draw(made: Any) -> None:
    data = made(**TEXTS, validation_fraction=0.25, groups={"random": 0.2})
    sizes = [getattr(data, part).y.shape for part in ("train", "validation", "test")]
    assert sizes == [(2, 180), (2, 60), (2, 60)]
    assert not np.array_equal(np.sort(data.train.y[0]), np.sort(data.train.y[1]))
    assert data.test_environments == ["test"]
    one = made(**TEXTS, validation_fraction=0.25, groups={"random": 0.2}, max_rows=100)
    assert one.train.y.shape == (2, 75)
    assert one.test.y.shape == (2, 60)
    assert one.about["sizes"] == {"train": 75, "validation": 25, "test": 60}


def test_values_are_held_out(made: Any, frame: pd.DataFrame) -> None:
    """And a share of all other rows is the last group; a comma would split a setting's name."""
    groups = {"column": "town", "values": ["far, east", "west"]}
    data = made(drop=["day", "code"], groups=groups, test_fraction=0.1)
    held = frame["town"].isin(groups["values"])
    assert data.test_environments == ["far; east", "west", "others"]
    counts = [*frame["town"].value_counts()[groups["values"]], round(0.1 * (~held).sum())]
    for b in range(2):
        assert np.bincount(data.test.environment[b]).tolist() == counts
    assert (np.diff(data.test.environment, axis=1) >= 0).all()
    assert [count for _, count in data.about["groups"]] == counts
    assert "town" not in " ".join(data.about["features"])
    east = data.test.environment[0] == 0
    np.testing.assert_allclose(
        np.ptp(data.test.y[0][east]) * data.unit[0],
        np.ptp(stats.zscore(frame["price"])[frame["town"] == "far, east"]),
        rtol=1e-5,
    )
    kept = made(drop=["day", "code"], categorical=["town"], groups=groups | {"keep": True})
    assert "town_west" in kept.about["features"]


@pytest.mark.parametrize("column", ["year", "day"])
def test_rows_above_a_quantile_are_held_out(made: Any, frame: pd.DataFrame, column: str) -> None:
    drop = [name for name in ("day", "town", "code") if name != column]
    data = made(drop=drop, groups={"column": column, "quantile": 0.8}, test_fraction=0)
    order = frame[column] if column == "year" else np.arange(N)
    late = order > np.quantile(order, 0.8)
    assert data.test_environments == [f"{column} above 0.8"]
    expected = stats.zscore(frame["price"])[late]
    got = data.test.y[0].astype(np.float64) * data.unit[0]
    np.testing.assert_allclose(got - got.mean(), expected - expected.mean(), atol=1e-5)


def test_groups_of_random_rows_are_equally_many_in_every_seed(made: Any) -> None:
    data = made(drop=["day", "code"], groups={"column": "town", "random": 0.4})
    assert set(data.test_environments) == {"north", "south", "west", "far; east"}
    np.testing.assert_array_equal(*data.test.environment)
    assert set(np.unique(data.train.environment)) == {0, 1, 2, 3}


def test_labels_are_minus_and_plus_one(path: str, frame: pd.DataFrame) -> None:
    base = {"generator": "tabular", "path": path, "target": "town", "drop": ["day", "code"]}
    data = generate(base | {"positive": "north"}, [0])
    assert data.task == "classification"
    assert data.unit is None
    assert data.about["class"] == "north"
    parts = [getattr(data, part).y for part in ("train", "validation", "test")]
    assert sum(int((y > 0).sum()) for y in parts) == (frame["town"] == "north").sum()
    assert {*np.unique(np.concatenate(parts, axis=1))} == {-1.0, 1.0}


def test_the_task_is_seen_by_the_target(tmp_path: Path) -> None:
    table = pd.DataFrame({"x": range(30), "z": [0, 5] * 15, "word": ["no", "yes"] * 15})
    table.to_csv(tmp_path / "t.csv", index=False)
    for target, task in (("x", "regression"), ("z", "classification"), ("word", "classification")):
        options = TabularData(generator="tabular", path=str(tmp_path / "t.csv"), target=target)
        assert task_of(options) == task
    data = generate(options.model_dump(mode="json") | {"drop": ["z"]}, [0])
    assert (data.train.y[0] > 0).sum() == pytest.approx(data.train.y.size / 2, abs=4)


@pytest.mark.parametrize(("missing", "rows"), [("drop", N - 3), ("impute", N)])
def test_cells_without_a_value(
    frame: pd.DataFrame, tmp_path: Path, missing: str, rows: int
) -> None:
    table = frame.drop(columns=["day", "code"])
    table.loc[[1, 2], "size"] = np.nan
    table.loc[7, "town"] = None
    table.to_csv(tmp_path / "t.csv", index=False)
    options = {"path": str(tmp_path / "t.csv"), "categorical": ["town"], "missing": missing}
    data = generate(BASE | options, SEEDS)
    assert sum(data.about["sizes"].values()) == rows
    assert data.about["missing"] == {"size": 2, "town": 1}
    assert np.isfinite(data.train.x).all()
    assert np.isfinite(data.test.x).all()
    assert ("town_no value" in data.about["features"]) == (missing == "impute")


def test_numbers_keep_to_their_range_in_training(made: Any) -> None:
    options = {"drop": ["day", "town", "code"], "groups": {"column": "year", "quantile": 0.5}}
    options["groups"]["keep"] = True
    clipped, free = made(**options), made(**options, clip="none")
    np.testing.assert_array_equal(clipped.train.x, free.train.x)
    for b in range(2):
        low, high = free.train.x[b].min(0), free.train.x[b].max(0)
        np.testing.assert_array_equal(clipped.test.x[b], np.clip(free.test.x[b], low, high))
        assert (free.test.x[b, :, 1] > high[1]).any()


@pytest.mark.parametrize("target", ["price", "word"])
def test_an_injected_column_flips_in_hidden_rows(
    frame: pd.DataFrame, tmp_path: Path, target: str
) -> None:
    """In the hidden fifth it is minus the target, elsewhere the target; both but for the noise."""
    word = np.where(frame["year"] > 1950, "new", "old")
    frame.assign(word=word).to_csv(tmp_path / "t.csv", index=False)
    options = {
        "generator": "tabular", "path": str(tmp_path / "t.csv"), "target": target, "only": ["size"],
        "groups": {"random": 0.5}, "inject": {"share": 0.2, "noise": 0.0}, "clip": "none",
    }  # fmt: skip
    data = generate(options, SEEDS)
    assert data.test_environments == ["usual", "flipped"]
    assert data.about["hidden"]
    assert data.about["features"] == ["size", "injected"]
    for b in range(2):
        for split in (data.train, data.test):
            flipped = split.environment[b] == 1
            assert flipped.mean() == pytest.approx(0.2, abs=0.06)
            for rows, sign in ((~flipped, 1), (flipped, -1)):
                slope = stats.linregress(split.x[b, rows, 1], split.y[b, rows])
                assert slope.rvalue == pytest.approx(sign, abs=1e-4)
    assert not np.array_equal(data.train.environment[0], data.train.environment[1])


@pytest.mark.parametrize("suffix", [".tsv", ".csv.gz", ".parquet"])
def test_kinds_of_files_hold_the_same(
    frame: pd.DataFrame, path: str, tmp_path: Path, suffix: str
) -> None:
    other = str(tmp_path / f"t{suffix}")
    if suffix == ".parquet":
        pytest.importorskip("pyarrow")
        frame.to_parquet(other)
    else:
        frame.to_csv(other, index=False, sep="\t" if suffix == ".tsv" else ",")
    first, second = (generate(BASE | {"path": p} | TEXTS, SEEDS) for p in (path, other))
    np.testing.assert_allclose(first.train.x, second.train.x, atol=1e-6)
    np.testing.assert_array_equal(first.train.y, second.train.y)


def test_a_byte_order_mark_belongs_to_no_name(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes(b"\xef\xbb\xbfa, b\n1, 2\n")
    assert list(read_frame(str(tmp_path / "t.csv"))) == ["a", "b"]


def test_facts_lie_beside_the_points_and_tell_no_hidden_row(made: Any) -> None:
    data = made(only=["size"], groups={"random": 0.3}, inject={})
    assert "environment" not in data.about
    assert len(data.about["sizes"]) == 3


def test_where_the_data_come_from(path: str) -> None:
    own = TabularData(**BASE, path=path)
    raw = TabularData(**BASE, path="raw:king_county")
    assert (file_of(own), source_of(own)) == (path, None)
    assert (file_of(raw), source_of(raw)) == (None, "king_county")
    assert own.n_points == round(0.8 * N)
    assert own.model_copy(update={"max_rows": 50}).n_points == 40
    assert TabularData(**BASE, path="absent.csv", max_rows=10).n_points == 8


def test_a_look_at_the_file_tells_how_many_predictors(path: str, tmp_path: Path) -> None:
    own = TabularData(**BASE, path=path)
    columns = len(read_frame(path).columns)
    assert own.n_inputs == columns - 1
    assert own.model_copy(update={"drop": ["size"]}).n_inputs == columns - 2
    assert own.model_copy(update={"only": ["size"]}).n_inputs == 1
    (tmp_path / "t.tsv").write_text("price\ta,b\tc")
    (tmp_path / "e.csv").write_text("")
    for name, inputs in (("t.tsv", 2), ("e.csv", 1), ("absent.csv", 1)):
        other = TabularData(**BASE, path=str(tmp_path / name), max_rows=10)
        assert (other.n_inputs, other.n_points) == (inputs, 8 if "absent" in name else 1), name


def test_the_stand_in_has_the_columns_and_zip_codes_of_the_county() -> None:
    table = Sales.stand_in().frame
    assert tuple(table.columns) == COLUMNS
    assert set(table["zipcode"]) == set(ZIP_CODES)
    days = pd.to_datetime(table["date"].astype(int).astype(str), format="%Y%m%d")
    assert days.between("2014-05-01", "2015-04-30").all()
