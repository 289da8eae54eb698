"""Every cell of every table, again, from the configuration, the predictions and the
labels."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from expected import CONFIG, METRICS, TABLES

from kerhrm_paper.runs.arrays import load_arrays, load_records
from kerhrm_paper.runs.predictions import Predictions

pytestmark = pytest.mark.dag

KEYS = ["setting", "method", "selection", "metric"]
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
    assert (
        not table[["setting", "method", "metric", "n_seeds", "data_source"]]
        .isna()
        .any(axis=None)
    )


def test_numbers_of_a_small_preset_are_compared_with_nothing(
    table: pd.DataFrame,
) -> None:
    assert table["paper"].isna().all()
    assert set(table["verdict"].dropna()) <= {"not comparable"}


def test_scores_have_every_seed(scores: pd.DataFrame) -> None:
    n_seeds = scores.groupby(KEYS)["seed"].nunique()
    assert (scores.groupby(KEYS)["seed"].size() == n_seeds).all()
    assert set(n_seeds) == {2}
    accuracies = scores["metric"].str.endswith("_acc")
    assert scores.loc[accuracies, "value"].between(0, 1).all()
    gaps = scores["metric"] == "generalisation_gap"
    assert scores.loc[gaps, "value"].between(-1, 1).all()


def values_again(
    kind: str, outputs: dict[str, np.ndarray], folder: Path, seed: int
) -> dict[tuple[str, str], float]:
    """Metrics of one seed by the paper's formulas, by (test environment
    or "", metric)."""
    labels, _ = load_arrays(folder / "test_labels.npz")
    train, meta = load_arrays(folder / "train.npz")
    where = labels["environment"][seed]
    if kind in ("accuracy", "shift"):
        before = float(((outputs["train"] > 0) == (train["y"][seed] > 0)).mean())
        hits = (outputs["test"] > 0) == (labels["y"][seed] > 0)
        each = [float(hits[where == e].mean()) for e in range(where.max() + 1)]
        names = meta["test_environments"]
        if kind == "shift":
            return {(n, "test_acc"): a for n, a in zip(names, each, strict=True)}
        # the first one is the paper's
        assert names[0] in ("r_test=0.10", "e_test=0.90")
        values = dict(
            zip(METRICS[kind], (before, each[0], each[0] - before), strict=True)
        )
        values["worst_acc"] = min(each)
        return {("", metric): value for metric, value in values.items()}
    squares = (outputs["test"].astype(float) - labels["y"][seed]) ** 2
    unit = float(labels["unit"][seed]) ** 2  # of training prices, in that of all houses
    errors = [
        unit * float(np.mean(squares[where == e])) for e in range(where.max() + 1)
    ]
    if kind == "period":
        return {
            (n, "mse"): e
            for n, e in zip(meta["test_environments"], errors, strict=True)
        }
    mean = sum(errors) / len(errors)
    spread = (sum((e - mean) ** 2 for e in errors) / (len(errors) - 1)) ** 0.5
    return {
        ("", "mean_error"): mean,
        ("", "error_sd"): spread,
        ("", "worst_error"): max(errors),
    }


@pytest.mark.parametrize("name", SCORED, indirect=True)
def test_scores_are_those_of_the_predictions(
    results: Path, scores: pd.DataFrame, name: str
) -> None:
    kind = CONFIG.tables[name].kind
    keys = ["data", "learner", *KEYS, "seed"]
    found = {
        tuple(key): v for *key, v in scores[[*keys, "value"]].itertuples(index=False)
    }
    checked = 0
    for row in CONFIG.tables[name].rows:
        predicted = load_records(Predictions, results / row.predictions)
        replicates = CONFIG.data(row.data).seeds.names
        folder = results / row.data / "data"
        for output, title in row.titles.items():
            for seed, (one, replicate) in enumerate(
                zip(predicted, replicates, strict=True)
            ):
                outputs = {part: one.output(output, part) for part in ("train", "test")}
                again = values_again(kind, outputs, folder, seed)
                for (where, metric), value in again.items():
                    key = (row.data, row.learner, title, row.selection, metric)
                    match = [
                        v
                        for (d, le, s, m, sel, met, rep), v in found.items()
                        if (d, le, m, sel, met) == key
                        and rep == replicate
                        and (where or s == row.setting)
                        and (not where or where in s)
                    ]
                    assert match, key
                    assert any(
                        v == pytest.approx(value, rel=1e-6, abs=1e-9) for v in match
                    )
                    checked += 1
    assert checked >= 18
