"""Effects of alternatives, paired over seeds."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.stats
from refusals import refusal

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
    rows = []
    for setting in settings:
        changes = (("", "", 0.0), ("+x=1", ",x=1", 0.1))
        for changed, label, shift in changes:
            for learner, method, selection, more in ROWS:
                if changed and "+" in learner:
                    continue
                option = ",k=5" if "+k" in learner else ""
                for seed in range(6):
                    noise = rng.normal(shift + more, 0.01)
                    row = {
                        "data": f"{data}{changed}",
                        "setting": f"{setting}{label}{option}",
                        "learner": learner,
                        "method": method,
                        "seed": seed,
                        "metric": metric,
                        "value": 0.5 + noise,
                        "selection": selection,
                    }
                    rows.append(row)
    frame = pd.DataFrame(rows)
    return frame.assign(data_source="synthetic", reason="")


SETTINGS_OF_B = [f"period={period}" for period in PERIODS]
TABLES = {
    "choices_a": scores("a", "test_acc", ["r2=0.8"]),
    "choices_b": scores("b", "mse", SETTINGS_OF_B),
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
    """The same effect on other data of both base data sets."""
    effects = []
    for base in "ab":
        data = f"{base}+x=1"
        effects.append(effect(base, changed_data=data, **changes))
    return effects


def only_row(**changes: Any) -> Any:
    """The one row of an effect on the data ``a``."""
    effect_on_a = effect("a", **changes)
    found = measure(TABLES, [effect_on_a])
    (row,) = found.itertuples()
    return row


def test_other_data_are_compared_with_the_default_seed_by_seed() -> None:
    found = measure(TABLES, on_data())
    assert list(found.columns) == COLUMNS
    assert set(found["method"]) == {"ERM", "KerHRM"}
    table = TABLES["choices_a"]
    of_a = found[found["data"] == "a"]
    for row in of_a.itertuples():
        is_own = table["learner"].isin(OWN)
        is_own &= table["method"] == row.method
        own = table[is_own]
        is_changed = own["data"] == "a+x=1"
        changed = own.loc[is_changed, "value"].to_numpy()
        is_base = own["data"] == "a"
        base = own.loc[is_base, "value"].to_numpy()
        expected = scipy.stats.ttest_rel(changed, base)
        assert row.p == pytest.approx(expected.pvalue)
        assert row.n_seeds == 6
        mean = base.mean()
        changed_mean = changed.mean()
        assert row.base == pytest.approx(mean)
        assert row.changed == pytest.approx(changed_mean)
        assert row.outcome == "changes"
    of_erm = measure(TABLES, on_data(only="ERM"))
    assert set(of_erm["method"]) == {"ERM"}


def test_another_learner_takes_the_place_of_the_tables_own() -> None:
    row = only_row(learner="kerhrm", changed_learner="kerhrm+k=5")
    table = TABLES["choices_a"]
    is_here = table["data"] == "a"
    is_here &= table["method"] == "KerHRM"
    by_learner = table[is_here].groupby("learner")
    means = by_learner["value"].mean()
    difference = means["kerhrm+k=5"] - means["kerhrm"]
    assert row.method == "KerHRM"
    assert row.difference == pytest.approx(difference)


def test_holm_is_over_the_results_on_one_data_set() -> None:
    """Of periods, the mean of the later ones."""
    found = measure(TABLES, on_data())
    of_b = found[found["data"] == "b"]
    settings = [f"period={period}" for period in PERIODS]
    assert set(of_b["setting"]) == {*settings, "period=later"}
    is_later = of_b["setting"] == "period=later"
    later = of_b[is_later]
    corrected = holm(later["p"].to_numpy())
    p_holm = later["p_holm"].to_numpy()
    assert p_holm == pytest.approx(corrected)
    p_of_others = of_b.loc[~is_later, "p_holm"]
    assert p_of_others.isna().all()

    is_single = of_b["setting"].isin(settings[1:])
    by_method = of_b[is_single].groupby("method")
    means = by_method["difference"].mean().to_dict()
    differences = later.set_index("method")["difference"]
    assert differences.to_dict() == pytest.approx(means)


def test_rows_of_the_table_are_alternatives_too() -> None:
    table = TABLES["choices_a"]
    of_a = table[table["data"] == "a"]

    instead = only_row(title="ERM", instead="KerHRM")
    own = of_a[of_a["learner"].isin(OWN)]
    by_method = own.groupby("method")
    means = by_method["value"].mean()
    assert instead.method == "ERM"
    difference = means["KerHRM"] - means["ERM"]
    assert instead.difference == pytest.approx(difference)

    other = only_row(title="ERM", selection="other")
    rows = of_a[of_a["method"] == "ERM"]
    by_selection = rows.groupby("selection")
    means = by_selection["value"].mean()
    difference = means["other"] - means["own"]
    assert other.difference == pytest.approx(difference)


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
    student = scipy.stats.t(1)
    quantile = student.ppf(0.975)
    apart = half / quantile
    values = [mean - apart, mean + apart]
    effect = paired(values, [0.0, 0.0])
    width = effect.high - effect.low
    assert width == pytest.approx(2 * half, nan_ok=True)
    assert outcome(effect, 0.02) == expected


def test_stand_ins_have_no_outcome() -> None:
    tables = {}
    for name, table in TABLES.items():
        tables[name] = table.assign(data_source="fallback:digits")
    found = measure(tables, on_data())
    assert set(found["outcome"]) == {"stand-ins"}
    for name, table in tables.items():
        tables[name] = table.assign(value=float("nan"))
    found = measure(tables, on_data())
    assert set(found["outcome"]) == {"failed"}


def test_an_alternative_without_rows_is_refused() -> None:
    """Other data whose setting is not that of the default, say."""
    table = TABLES["choices_a"]
    is_changed = table["data"] == "a+x=1"
    setting = table["setting"].mask(is_changed, "scenario=2,r2=0.8,x=1")
    scores_of_a = {"choices_a": table.assign(setting=setting)}
    message = "choices_a has no row to compare with that of other"
    with refusal(message):
        measure(scores_of_a, [effect("a", changed_data="a+x=1")])
