"""Effects of alternatives, paired over seeds."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.stats

from kerhrm.paper.evaluation.choices import COLUMNS, measure, outcome
from kerhrm.paper.evaluation.statistics import holm

PERIODS = ("1900-1919", "1920-1939", "1940-1959")
NONE = {"only": None, "title": None, "instead": None, "selection": None}
MARKED = NONE | {"name": "x=1", "where": ["a", "b"]}


def scores(data: str, metric: str, settings: list[str]) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    rows = [
        (
            data,
            f"{setting}{mark}",
            method,
            seed,
            metric,
            0.5 + rng.normal(shift, 0.01),
            selection,
        )
        for setting in settings
        for mark, shift in (("", 0.0), (",x=1", 0.1))
        for method, selection in (
            ("ERM", "own"),
            ("ERM", "other"),
            ("KerHRM", "own"),
            ("KerHRM (first iteration)", "own"),
            ("ref: majority", "none"),
        )
        for seed in range(6)
    ]
    names = ["data", "setting", "method", "seed", "metric", "value", "selection"]
    return pd.DataFrame(rows, columns=names).assign(data_source="synthetic", reason="")


TABLES = {
    "choices_a": scores("a", "test_acc", ["r2=0.80"]),
    "choices_b": scores("b", "mse", [f"period={p}" for p in PERIODS]),
}


def effects(**alternative: Any) -> pd.DataFrame:
    return measure(TABLES, {"entry": [MARKED | alternative]})


def test_a_marked_setting_is_compared_with_the_default_seed_by_seed() -> None:
    found = effects()
    assert list(found.columns) == COLUMNS
    assert set(found["method"]) == {"ERM", "KerHRM"}
    table = TABLES["choices_a"]
    for row in found[found["data"] == "a"].itertuples():
        own = table[(table["method"] == row.method) & (table["selection"] == "own")]
        changed, base = (
            own.loc[own["setting"] == s, "value"].to_numpy()
            for s in ("r2=0.80,x=1", "r2=0.80")
        )
        expected = scipy.stats.ttest_rel(changed, base)
        assert (row.p, row.n_seeds) == (pytest.approx(expected.pvalue), 6)
        assert (row.base, row.changed) == pytest.approx((base.mean(), changed.mean()))
        assert row.outcome == "changes"
    assert set(effects(only="ERM")["method"]) == {"ERM"}


def test_holm_is_over_the_results_on_one_data_set() -> None:
    """Of periods, the mean of the later ones."""
    found = effects()
    of_b = found[found["data"] == "b"]
    assert set(of_b["setting"]) == {*(f"period={p}" for p in PERIODS), "period=later"}
    later = of_b[of_b["setting"] == "period=later"]
    assert later["p_holm"].to_numpy() == pytest.approx(holm(later["p"].to_numpy()))
    assert of_b.loc[of_b["setting"] != "period=later", "p_holm"].isna().all()
    single = of_b[of_b["setting"].isin([f"period={p}" for p in PERIODS[1:]])]
    means = single.groupby("method")["difference"].mean()
    assert later.set_index("method")["difference"].to_dict() == pytest.approx(
        means.to_dict()
    )


def test_rows_of_the_table_are_alternatives_too() -> None:
    instead = effects(name="ERM: KerHRM", title="ERM", instead="KerHRM", where=["a"])
    assert instead["method"].tolist() == ["ERM"]
    table = TABLES["choices_a"]
    default = table[(table["setting"] == "r2=0.80") & (table["selection"] == "own")]
    means = default.groupby("method")["value"].mean()
    assert instead["difference"].item() == pytest.approx(means["KerHRM"] - means["ERM"])
    other = effects(name="ERM: other", title="ERM", selection="other", where=["a"])
    rows = table[(table["setting"] == "r2=0.80") & (table["method"] == "ERM")]
    means = rows.groupby("selection")["value"].mean()
    assert other["difference"].item() == pytest.approx(means["other"] - means["own"])


@pytest.mark.parametrize(
    ("effect", "expected"),
    [
        ((0.1, 0.05, 0.15), "changes"),
        ((0.01, 0.005, 0.015), "negligible"),
        ((0.01, 0.005, 0.03), "inconclusive"),
        ((0.1, -0.05, 0.25), "inconclusive"),
        ((float("nan"),) * 3, "failed"),
    ],
)
def test_outcomes(effect: tuple[float, float, float], expected: str) -> None:
    named = dict(zip(("difference", "ci_low", "ci_high"), effect, strict=True))
    assert outcome(named, 0.02) == expected


def test_stand_ins_have_no_outcome() -> None:
    tables = {n: one.assign(data_source="fallback:digits") for n, one in TABLES.items()}
    found = measure(tables, {"entry": [MARKED]})
    assert set(found["outcome"]) == {"stand-ins"}
