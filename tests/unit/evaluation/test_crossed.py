"""Crossed seeds: their statistics are those of the data sets."""

from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from pandas.testing import assert_frame_equal
from scipy import stats

from kerhrm_paper.config.endpoints import Band, Endpoints, EndpointTable
from kerhrm_paper.evaluation.comparisons import compare
from kerhrm_paper.evaluation.crossed import of_independent_seeds
from kerhrm_paper.evaluation.endpoint_rows import chosen_rows
from kerhrm_paper.evaluation.endpoints import endpoints
from kerhrm_paper.evaluation.tables import make_table, where
from kerhrm_paper.reporting.run import Run

REFERENCE = Run(Path(__file__).parents[3] / "results" / "reference")
#: of a table of scores, besides the seed, the method and the value
REST: dict[str, Any] = {
    "data": "made+crossed=3",
    "setting": "r2=0.7",
    "learner": "erm",
    "metric": "test_acc",
    "selection": "",
    "own": True,
    "data_source": "synthetic",
    "reason": "",
}


def scores_of(
    values: np.ndarray, method: str = "ERM", names: Any = "crossed"
) -> pd.DataFrame:
    """Scores of values (D, N, C) by seeds of data, network and clustering."""
    rows = []
    for d, n, c in product(*map(range, values.shape)):
        seed = f"data={d},network={n},clustering={c}"
        if names == "plain":
            seed = str(len(rows))
        rows.append({**REST, "method": method, "seed": seed, "value": values[d, n, c]})
    return pd.DataFrame(rows)


@pytest.fixture
def values() -> np.ndarray:
    """Values whose data sets differ by much more than all else."""
    random = np.random.default_rng(0)
    of_data = random.normal(0.7, 0.05, size=(3, 1, 1))
    return of_data + random.normal(0, 0.001, size=(3, 3, 3))


def test_the_interval_is_that_of_the_data_sets(values: np.ndarray) -> None:
    table = make_table(scores_of(values), "mine", "", {})
    (cell,) = table.to_dict("records")
    means = values.mean((1, 2))
    expected = stats.t.interval(0.95, 2, means.mean(), stats.sem(means))
    assert cell["n_seeds"] == 3
    assert cell["mean"] == pytest.approx(values.mean())
    assert_allclose((cell["ci_low"], cell["ci_high"]), expected)


def test_a_comparison_is_paired_by_data_set(values: np.ndarray) -> None:
    random = np.random.default_rng(1)
    other = values + random.normal(0.01, 0.02, size=(3, 1, 1))
    scores = pd.concat([scores_of(values, "KerHRM"), scores_of(other)])
    (row,) = compare(scores).to_dict("records")
    difference = (values - other).mean((1, 2))
    expected = stats.ttest_1samp(difference, 0).pvalue
    assert row["n_seeds"] == 3
    assert row["difference"] == pytest.approx(difference.mean())
    assert row["p"] == pytest.approx(expected)


def test_seeds_that_are_not_crossed_stay_as_they_are(values: np.ndarray) -> None:
    scores = scores_of(values, names="plain")
    assert_frame_equal(of_independent_seeds(scores), scores)


def test_a_data_set_with_a_failed_run_has_no_value(values: np.ndarray) -> None:
    values[1, 2, 0] = np.nan
    scores = scores_of(values)
    scores.loc[scores["value"].isna(), "reason"] = "diverged"
    units = of_independent_seeds(scores)
    is_missing = units["value"].isna().tolist()
    assert is_missing == [False, True, False]
    assert units["reason"].tolist() == ["", "diverged", ""]
    (cell,) = make_table(scores, "mine", "", {}).to_dict("records")
    assert cell["verdict"] == "failed"


def test_the_published_table_counts_four_data_sets() -> None:
    cells = REFERENCE.cells("crossed")
    assert set(cells["n_seeds"]) == {4}
    scores = REFERENCE.scores("crossed")
    method = "KerHRM (linear predictor)"
    own = where(scores, setting="r2=0.7", method=method, metric="test_acc")
    assert len(own) == 64
    data = own["seed"].str.extract(r"data=(\d+)")[0]
    means = own.groupby(data.to_numpy())["value"].mean()
    cell = where(cells, setting="r2=0.7", method=method, metric="test_acc").iloc[0]
    assert cell["std"] == pytest.approx(means.std(ddof=1))


def test_an_endpoint_counts_data_sets(values: np.ndarray) -> None:
    declared = EndpointTable(metric="test_acc", margin=0.03, runs=10)
    spec = Endpoints(
        tables={"t": declared},
        family=["ERM"],
        others=[],
        baselines=[],
        baselines_by="pooled validation",
        band=Band(method="ERM", grid={"alpha": [1.0]}, tables={}),
    )
    scores = scores_of(values).assign(selection="own")
    paper = {("t", "r2=0.7", "ERM", "test_acc"): 0.7}
    (row,) = endpoints({"t": scores}, spec, paper).to_dict("records")
    means = values.mean((1, 2))
    expected = stats.t.interval(0.95, 2, means.mean() - 0.7, stats.sem(means))
    assert row["n_seeds"] == 3
    assert row["mean"] == pytest.approx(values.mean())
    assert_allclose((row["ci_low_exact"], row["ci_high_exact"]), expected)
    # as of a band
    chosen = chosen_rows(scores, "ERM", declared, spec)
    assert chosen["value"].tolist() == pytest.approx(means)
