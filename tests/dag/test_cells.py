"""Every cell of every table, again, from the configuration, the predictions and the
labels."""

import statistics
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
from expected import CONFIG, METRICS, TABLES

from kerhrm_paper.config.views import Row
from kerhrm_paper.runs.arrays import load_arrays, load_records
from kerhrm_paper.runs.predictions import Predictions

pytestmark = pytest.mark.dag

KEYS = ["setting", "method", "selection", "metric"]
#: a number of a table, whatever setting shows it
NUMBER = ["data", "learner", "method", "selection", "metric", "seed"]
SCORED = [name for name in TABLES if CONFIG.tables[name].kind in METRICS]


@pytest.fixture(params=TABLES)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def table(results: Path, name: str) -> pd.DataFrame:
    return pd.read_csv(results / "tables" / f"{name}.csv", keep_default_na=True)


@pytest.fixture
def scores(results: Path, name: str) -> pd.DataFrame:
    return pd.read_csv(results / "scores" / f"{name}.csv.gz")


def test_every_cell_stands_once(table: pd.DataFrame, name: str) -> None:
    assert set(table["table"]) == {name}
    assert not table.duplicated(KEYS).any()
    given = table[["setting", "method", "metric", "n_seeds", "data_source"]]
    assert given.notna().all(axis=None)


def test_numbers_of_a_small_preset_are_compared_with_nothing(
    table: pd.DataFrame,
) -> None:
    assert table["paper"].isna().all()
    assert set(table["verdict"].dropna()) <= {"not comparable"}


def test_scores_have_every_seed(scores: pd.DataFrame) -> None:
    seeds = scores.groupby(KEYS)["seed"]
    n_seeds = seeds.nunique()
    assert (seeds.size() == n_seeds).all()
    assert set(n_seeds) == {2}
    accuracies = scores["metric"].str.endswith("_acc")
    assert scores.loc[accuracies, "value"].between(0, 1).all()
    gaps = scores["metric"] == "generalisation_gap"
    assert scores.loc[gaps, "value"].between(-1, 1).all()


Values = dict[tuple[str, str], float]  #: by (test environment or "", metric)


def by_environment(values: np.ndarray, environment: np.ndarray) -> list[float]:
    """Mean in each test environment."""
    numbers = range(environment.max() + 1)
    return [float(values[environment == number].mean()) for number in numbers]


class Outputs(NamedTuple):
    """What a method outputs at the points of one seed; their data are in a folder."""

    train: np.ndarray
    test: np.ndarray
    folder: Path
    seed: int

    def accuracies(self, kind: str) -> Values:
        """By the paper's formulas; where shifts are shown, one in each environment."""
        labels, _ = load_arrays(self.folder / "test_labels.npz")
        train, meta = load_arrays(self.folder / "train.npz")
        names = meta["test_environments"]
        label_is_positive = labels["y"][self.seed] > 0
        hits = (self.test > 0) == label_is_positive
        each = by_environment(hits, labels["environment"][self.seed])
        if kind == "shift":
            shifts = zip(names, each, strict=True)
            return {(name, "test_acc"): share for name, share in shifts}
        label_is_positive = train["y"][self.seed] > 0
        hits_of_training = (self.train > 0) == label_is_positive
        before = float(hits_of_training.mean())
        # the first one is the paper's
        assert names[0] in ("r_test=0.10", "e_test=0.90")
        first = each[0]
        return {
            ("", "train_acc"): before,
            ("", "test_acc"): first,
            ("", "generalisation_gap"): first - before,
            ("", "worst_acc"): min(each),
        }

    def errors(self, kind: str) -> Values:
        """By the paper's formulas; where periods are shown, one in each."""
        labels, _ = load_arrays(self.folder / "test_labels.npz")
        _, meta = load_arrays(self.folder / "train.npz")
        residuals = self.test.astype(float) - labels["y"][self.seed]
        # of training prices, in that of all houses
        unit = float(labels["unit"][self.seed])
        squares = (unit * residuals) ** 2
        each = by_environment(squares, labels["environment"][self.seed])
        if kind == "period":
            periods = zip(meta["test_environments"], each, strict=True)
            return {(name, "mse"): error for name, error in periods}
        return {
            ("", "mean_error"): statistics.fmean(each),
            ("", "error_sd"): statistics.stdev(each),
            ("", "worst_error"): max(each),
        }


def predictions_of(results: Path, row: Row) -> Iterator[tuple[str, int, Outputs]]:
    """Title, name of the seed, and outputs of a row of a table."""
    seeds = load_records(Predictions, results / row.predictions)
    names = CONFIG.data(row.data).seeds.names
    folder = results / row.data / "data"
    for output, title in row.titles.items():
        for seed, (one, name) in enumerate(zip(seeds, names, strict=True)):
            train = one.output(output, "train")
            test = one.output(output, "test")
            yield title, name, Outputs(train, test, folder, seed)


def by_setting(scores: pd.DataFrame) -> dict[Any, dict[str, float]]:
    """Values of each number by the settings that show it."""
    found: dict[Any, dict[str, float]] = {}
    for number, rows in scores.groupby(NUMBER):
        values = zip(rows["setting"], rows["value"], strict=True)
        found[number] = dict(values)
    return found


@pytest.mark.parametrize("name", SCORED, indirect=True)
def test_scores_are_those_of_the_predictions(
    results: Path, scores: pd.DataFrame, name: str
) -> None:
    kind = CONFIG.tables[name].kind
    found = by_setting(scores)
    checked = 0
    for row in CONFIG.tables[name].rows:
        for title, seed, outputs in predictions_of(results, row):
            of_labels = kind in ("accuracy", "shift")
            again = outputs.accuracies(kind) if of_labels else outputs.errors(kind)
            for (where, metric), value in again.items():
                number = (row.data, row.learner, title, row.selection, metric, seed)
                shown = found[number]
                if where:
                    match = [v for setting, v in shown.items() if where in setting]
                else:
                    match = [shown[row.setting]]
                close = pytest.approx(value, rel=1e-6, abs=1e-9)
                assert match, number
                assert all(v == close for v in match), number
                checked += 1
    assert checked >= 18
