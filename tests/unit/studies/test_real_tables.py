"""The study of real tables at tiny size; its robust regressions against other
solutions."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize_scalar
from sklearn.linear_model import LinearRegression

from kerhrm import KerhrmError, TangentRidge
from kerhrm_paper.studies import real_tables as study
from kerhrm_paper.studies import real_tables_results as results
from kerhrm_paper.studies.robust import Training, robust

WHAT = {
    "file": "package/a.csv",
    "target": "y",
    "group": "g == 'b'",
    "features": ["u", "w"],
}


@pytest.fixture(autouse=True)
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A table of 300 rows, one of them incomplete, in place of the packages."""
    random = np.random.default_rng(0)
    table = pd.DataFrame(random.normal(size=(300, 3)), columns=["u", "v", "noise"])
    table["w"], table["g"] = (
        random.choice(["x", "y"], 300),
        np.repeat(["a", "b"], [180, 120]),
    )
    table["y"] = (
        np.where(table["g"] == "b", 1 - table["u"], table["u"]) + 0.3 * table["noise"]
    )
    table.loc[0, "u"] = np.nan
    (tmp_path / "package").mkdir()
    table.to_csv(tmp_path / "package" / "a.csv", index=False)
    monkeypatch.setattr(study, "DATA", tmp_path)
    monkeypatch.setattr(study, "NETWORK", (8,))


def test_a_tenth_of_the_training_rows_is_of_the_group_and_no_feature_is() -> None:
    rows = study.load(WHAT)
    group = rows.group
    assert list(rows.x) == ["u", "w_x", "w_y"]
    assert len(rows.x) == len(rows.y) == len(group) == 299
    train, test = study.split(group, "a", 0)
    assert group[train].mean() == pytest.approx(0.1, abs=0.01)
    assert not set(train) & set(test)
    with pytest.raises(KerhrmError, match=r"b\.csv does not exist"):
        study.load(WHAT | {"file": "package/b.csv"})


def test_robust_regressions() -> None:
    """Over all rows CVaR is ERM; two groups: the best of all weighted least squares."""
    random = np.random.default_rng(1)
    x = random.normal(size=(300, 2))
    group = random.random(300) < 0.1
    y = x[:, 0] + np.where(group, -1, 1) * x[:, 1] + 0.3 * random.normal(size=300)
    erm = (
        TangentRidge(task="regression", network=(8,), random_state=0)
        .fit(x, y)
        .predict(x)
    )
    training = Training(x, y, group)
    cvar = robust(training, x, network=(8,), seed=0, share=1.0)
    np.testing.assert_allclose(cvar, erm, atol=1e-3)

    def worst(outputs: np.ndarray) -> float:
        return float(
            max(((outputs - y) ** 2)[group == g].mean() for g in (False, True))
        )

    def weighted(q: float) -> float:
        w = np.where(group, q / group.sum(), (1 - q) / (~group).sum())
        return worst(LinearRegression().fit(x, y, w).predict(x))

    best = minimize_scalar(weighted, bounds=(0, 1), method="bounded").fun
    reached = worst(robust(training, x, network=(8,), seed=0, steps=300))
    assert reached <= min(1.02 * best, 0.7 * worst(erm))


def test_study_runs_and_is_summed_up() -> None:
    signs = WHAT | {"target": "y > 0", "auxiliary": "v"}
    parts = {
        (name, seed): study.errors(name, what, seed).assign(table=name, split=seed)
        for name, what in {"numbers": WHAT, "signs": signs}.items()
        for seed in (0, 1)
    }
    drawn = {"real_tables_errors": pd.concat(parts.values())}
    found = results.summaries(drawn)
    means = found["real_tables_mean"].set_index(["setting", "metric", "method"])
    assert means.loc[
        ("all", "mean_error", "ERM"), ["mean", "low", "high"]
    ].tolist() == [1, 1, 1]
    assert means.loc[("labels", "mean_error", results.AUXILIARY), "tables"] == 1
    expression = "0.9 * error_0 + 0.1 * error_1"
    errors = [parts["numbers", s].set_index("method").eval(expression) for s in (0, 1)]
    ratio = sum(e["constant"] for e in errors) / sum(e["ERM"] for e in errors)
    shown = found["real_tables"].set_index(["table", "metric", "method"])["mean"]
    assert shown["numbers", "mean_error", "constant"] == pytest.approx(ratio, abs=1e-4)
    assert [*results.figures(drawn | found)] == ["real_tables"]
