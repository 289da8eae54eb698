"""The study of real tables at tiny size; its robust regressions against other
solutions."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from refusals import refusal
from scipy.optimize import minimize_scalar
from sklearn.linear_model import LinearRegression

from kerhrm import TangentRidge
from kerhrm_paper.config.real_tables import TableDescription
from kerhrm_paper.studies import packaged_tables
from kerhrm_paper.studies import real_tables as study
from kerhrm_paper.studies import real_tables_results as results
from kerhrm_paper.studies.robust import Training, robust

WHAT = TableDescription(
    file="package/a.csv",
    target="y",
    group="g == 'b'",
    features=["u", "w"],
)


def test_names_are_numbered_in_their_order() -> None:
    names = pd.Series(["c", "a", "b", "a"], index=[3, 1, 4, 2])
    numbers = study.numbered(names)
    assert numbers.tolist() == [2, 0, 1, 0]
    years = pd.Series([1990, 1985])
    assert study.numbered(years) is years


@pytest.fixture(autouse=True)
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A table of 300 rows, one of them incomplete, in place of the packages."""
    random = np.random.default_rng(0)
    numbers = random.normal(size=(300, 3))
    names = ["u", "v", "noise"]
    table = pd.DataFrame(numbers, columns=names)
    table["w"] = random.choice(["x", "y"], 300)
    sizes = [180, 120]
    table["g"] = np.repeat(["a", "b"], sizes)
    is_in_group = table["g"] == "b"
    turned = 1 - table["u"]
    signal = np.where(is_in_group, turned, table["u"])
    table["y"] = signal + 0.3 * table["noise"]
    table.loc[0, "u"] = np.nan
    file = tmp_path / "package" / "a.csv"
    file.parent.mkdir()
    table.to_csv(file, index=False)
    lock = tmp_path / "empty.lock"
    lock.touch()
    monkeypatch.setattr(packaged_tables, "DATA", tmp_path)
    monkeypatch.setattr(packaged_tables, "LOCK", lock)
    monkeypatch.setattr(study, "NETWORK", (8,))


def test_a_tenth_of_the_training_rows_is_of_the_group_and_no_feature_is() -> None:
    rows = study.load(WHAT)
    group = rows.group
    assert list(rows.x) == ["u", "w_x", "w_y"]
    assert len(rows.x) == 299
    assert len(rows.y) == 299
    assert len(group) == 299
    train, test = study.split_by_group(group, "a", 0)
    share = group[train].mean()
    assert share == pytest.approx(0.1, abs=0.01)
    assert not set(train) & set(test)
    elsewhere = WHAT.model_copy(update={"file": "package/b.csv"})
    with refusal(r"b\.csv does not exist"):
        study.load(elsewhere)


def test_robust_regressions() -> None:
    """Over all rows CVaR is ERM; two groups: the best of all weighted least squares."""
    random = np.random.default_rng(1)
    x = random.normal(size=(300, 2))
    group = random.random(300) < 0.1
    slope = np.where(group, -1, 1)
    noise = 0.3 * random.normal(size=300)
    y = x[:, 0] + slope * x[:, 1] + noise
    ridge = TangentRidge(task="regression", network=(8,), random_state=0)
    ridge.fit(x, y)
    erm = ridge.predict(x)
    training = Training(x, y, group)
    cvar = robust(training, x, network=(8,), seed=0, share=1.0)
    assert_allclose(cvar, erm, atol=1e-3)

    def worst(outputs: np.ndarray) -> float:
        squares = (outputs - y) ** 2
        worst_of_group = squares[group].mean()
        worst_of_others = squares[~group].mean()
        return max(worst_of_group, worst_of_others)

    def weighted(q: float) -> float:
        size = group.sum()
        n_others = len(group) - size
        inside = q / size
        outside = (1 - q) / n_others
        weights = np.where(group, inside, outside)
        model = LinearRegression()
        model.fit(x, y, weights)
        return worst(model.predict(x))

    best = minimize_scalar(weighted, bounds=(0, 1), method="bounded")
    outputs = robust(training, x, network=(8,), seed=0, steps=300)
    assert worst(outputs) <= 1.02 * best.fun
    assert worst(outputs) <= 0.7 * worst(erm)


def test_study_runs_and_is_summed_up() -> None:
    signs = WHAT.model_copy(update={"target": "y > 0", "auxiliary": "v"})
    parts = {}
    kinds = {"numbers": WHAT, "signs": signs}
    for name, what in kinds.items():
        for seed in (0, 1):
            errors = study.errors(name, what, seed)
            named = errors.assign(table=name, split=seed)
            parts[name, seed] = named
    drawn = {"real_tables_errors": pd.concat(parts.values())}
    found = results.summaries(drawn)

    by_method = ["setting", "metric", "method"]
    means = found["real_tables_mean"].set_index(by_method)
    columns = ["mean", "low", "high"]
    erm = ("all", "mean_error", "ERM")
    of_erm = means.loc[erm, columns]
    assert of_erm.tolist() == [1, 1, 1]
    auxiliary = ("labels", "mean_error", results.AUXILIARY)
    of_auxiliary = means.loc[auxiliary]
    assert of_auxiliary["tables"] == 1

    total_of_constant = 0.0
    total_of_erm = 0.0
    for seed in (0, 1):
        errors = parts["numbers", seed].set_index("method")
        mean = errors.eval("0.9 * error_0 + 0.1 * error_1")
        total_of_constant += mean["constant"]
        total_of_erm += mean["ERM"]
    ratio = total_of_constant / total_of_erm
    by_table = ["table", "metric", "method"]
    indexed = found["real_tables"].set_index(by_table)
    shown = indexed["mean"]
    of_constant = shown["numbers", "mean_error", "constant"]
    assert of_constant == pytest.approx(ratio, abs=1e-4)
    assert list(results.figures(drawn | found)) == ["real_tables"]
