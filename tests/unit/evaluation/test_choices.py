"""Effects of alternatives, paired over seeds."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.stats

from kerhrm_paper.evaluation.choices import COLUMNS, measure, outcome
from kerhrm_paper.evaluation.effects import paired
from kerhrm_paper.evaluation.statistics import holm

PERIODS = ("1900-1919", "1920-1939", "1940-1959")
OWN = ["erm", "kerhrm"]
NOTHING = dict.fromkeys(
    (
        "changed_data",
        "changed_learner",
        "learner",
        "only",
        "title",
        "instead",
        "selection",
    )
)
#: learners of a table on its own data, and on data with an alternative
ROWS = [
    ("erm", "ERM", "own", 0.0),
    ("erm+select=pooled", "ERM", "other", 0.0),
    ("kerhrm", "KerHRM", "own", 0.0),
    ("kerhrm", "KerHRM (first iteration)", "own", 0.0),
    ("kerhrm+k=5", "KerHRM", "own", 0.2),
    ("", "ref: majority", "none", 0.0),
]


def scores(data: str, metric: str, settings: list[str]) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    rows = [
        (
            f"{data}{changed}",
            f"{setting}{label}{',k=5' if '+k' in learner else ''}",
            learner,
            method,
            seed,
            metric,
            0.5 + rng.normal(shift + more, 0.01),
            selection,
        )
        for setting in settings
        for changed, label, shift in (("", "", 0.0), ("+x=1", ",x=1", 0.1))
        for learner, method, selection, more in ROWS
        if not (changed and "+" in learner)
        for seed in range(6)
    ]
    names = ["data", "setting", "learner", "method", "seed", "metric", "value"]
    frame = pd.DataFrame(rows, columns=[*names, "selection"])
    return frame.assign(data_source="synthetic", reason="")


TABLES = {
    "choices_a": scores("a", "test_acc", ["r2=0.8"]),
    "choices_b": scores("b", "mse", [f"period={p}" for p in PERIODS]),
}


def effect(base: str, **changes: Any) -> dict[str, Any]:
    return NOTHING | {
        "choice": "entry",
        "alternative": "other",
        "table": f"choices_{base}",
        "base": base,
        "data": base,
        "learners": [*OWN, "erm+select=pooled"],
        **changes,
    }


def on_data(**changes: Any) -> list[dict[str, Any]]:
    return [effect(base, changed_data=f"{base}+x=1", **changes) for base in "ab"]


def test_other_data_are_compared_with_the_default_seed_by_seed() -> None:
    found = measure(TABLES, on_data())
    assert list(found.columns) == COLUMNS
    assert set(found["method"]) == {"ERM", "KerHRM"}
    table = TABLES["choices_a"]
    for row in found[found["data"] == "a"].itertuples():
        own = table[(table["method"] == row.method) & table["learner"].isin(OWN)]
        changed = own.loc[own["data"] == "a+x=1", "value"].to_numpy()
        base = own.loc[own["data"] == "a", "value"].to_numpy()
        expected = scipy.stats.ttest_rel(changed, base)
        assert (row.p, row.n_seeds) == (pytest.approx(expected.pvalue), 6)
        assert (row.base, row.changed) == pytest.approx((base.mean(), changed.mean()))
        assert row.outcome == "changes"
    assert set(measure(TABLES, on_data(only="ERM"))["method"]) == {"ERM"}


def test_another_learner_takes_the_place_of_the_tables_own() -> None:
    (row,) = measure(
        TABLES, [effect("a", learner="kerhrm", changed_learner="kerhrm+k=5")]
    ).itertuples()
    table = TABLES["choices_a"]
    here = table[(table["data"] == "a") & (table["method"] == "KerHRM")]
    means = here.groupby("learner")["value"].mean()
    assert row.method == "KerHRM"
    assert row.difference == pytest.approx(means["kerhrm+k=5"] - means["kerhrm"])


def test_holm_is_over_the_results_on_one_data_set() -> None:
    """Of periods, the mean of the later ones."""
    found = measure(TABLES, on_data())
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
    (instead,) = measure(
        TABLES, [effect("a", title="ERM", instead="KerHRM")]
    ).itertuples()
    assert instead.method == "ERM"
    table = TABLES["choices_a"]
    own = table[(table["data"] == "a") & table["learner"].isin(OWN)]
    means = own.groupby("method")["value"].mean()
    assert instead.difference == pytest.approx(means["KerHRM"] - means["ERM"])
    (other,) = measure(
        TABLES, [effect("a", title="ERM", selection="other")]
    ).itertuples()
    rows = table[(table["data"] == "a") & (table["method"] == "ERM")]
    means = rows.groupby("selection")["value"].mean()
    assert other.difference == pytest.approx(means["other"] - means["own"])


@pytest.mark.parametrize(
    ("mean", "half", "expected"),
    [
        (0.1, 0.05, "changes"),
        (-0.1, 0.05, "changes"),
        (0.01, 0.005, "negligible"),
        (0.015, 0.01, "inconclusive"),  # significant, but it may be within the margin
        (0.1, 0.15, "inconclusive"),
        (float("nan"), float("nan"), "failed"),
    ],
)
def test_outcomes(mean: float, half: float, expected: str) -> None:
    """Two seeds whose 95 % interval has that half."""
    apart = half / scipy.stats.t(1).ppf(0.975)
    effect = paired([mean - apart, mean + apart], [0.0, 0.0])
    assert effect.high - effect.low == pytest.approx(2 * half, nan_ok=True)
    assert outcome(effect, 0.02) == expected


def test_stand_ins_have_no_outcome() -> None:
    tables = {n: one.assign(data_source="fallback:digits") for n, one in TABLES.items()}
    found = measure(tables, on_data())
    assert set(found["outcome"]) == {"stand-ins"}
