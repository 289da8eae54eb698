"""Estimators with an auxiliary column: environments are functions of it."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import adjusted_rand_score

from kerhrm import KerHRMClassifier, TangentRidge
from kerhrm.errors import KerhrmError
from kerhrm.estimators import HeterogeneityNotDetectedWarning

SMALL: dict[str, Any] = {"k": (3, 5), "n_init": 4, "network": (64,), "random_state": 3}


def by_time(n: int, seed: int, share: float | None = None) -> tuple[np.ndarray, ...]:
    """A spurious column agrees with the label in 99 % of the early rows, in 75 % of the
    late."""
    random = np.random.default_rng(seed)
    time, y = random.random(n), random.choice([-1.0, 1.0], n)
    agrees = random.random(n) < (
        np.where(time < 0.5, 0.99, 0.75) if share is None else share
    )
    spurious = np.where(agrees, y, -y) + 0.3 * random.normal(size=n)
    stable = y[:, None] + 1.5 * random.normal(size=(n, 3))
    return np.column_stack([stable, spurious]), y, time


@pytest.mark.parametrize("kind", ["number", "date", "category"])
def test_an_auxiliary_column_tells_which_feature_is_spurious(kind: str) -> None:
    x, y, time = by_time(2000, 0)
    columns: Any = {
        "number": time,
        "date": pd.Series(pd.Timestamp("2020") + pd.to_timedelta(1000 * time, "D")),
        "category": pd.DataFrame({"when": np.where(time < 0.5, "early", "late")}),
    }[kind]
    model = KerHRMClassifier(network=(), k=(5,), random_state=0).fit(
        x, y, auxiliary=columns
    )
    assert (model.predictor_, model.heterogeneity_.p_value) == ("linear", 0.01)
    reverse, labels, _ = by_time(2000, 1, share=0.01)
    erm = TangentRidge(network=(), random_state=0).fit(x, y)
    assert model.score(reverse, labels) > 0.75 > 0.6 > erm.score(reverse, labels)
    assert adjusted_rand_score(model.environments_, time < 0.5) > 0.9
    proba = model.predict_environment_proba(x, auxiliary=columns)
    np.testing.assert_array_equal(proba, model.environment_proba_)
    with pytest.raises(KerhrmError, match="give auxiliary"):
        model.predict_environment_proba(x)


def test_a_column_that_does_not_matter_leaves_erm() -> None:
    x, y, time = by_time(600, 0, share=0.9)
    with pytest.warns(
        HeterogeneityNotDetectedWarning, match="no environments are detected"
    ):
        model = KerHRMClassifier(**SMALL).fit(x, y, auxiliary=time)
    assert model.predictor_ == "erm"
    assert model.heterogeneity_.p_value > 0.05


@pytest.mark.parametrize(
    ("column", "words"),
    [
        ([1.0], "1 rows for 400 of X"),
        ([None] * 400, "missing value"),
        (np.zeros(400), "constant"),
    ],
)
def test_auxiliary_columns_that_are_refused(
    column: Any, words: str, labels: Any
) -> None:
    with pytest.raises(KerhrmError, match=words):
        KerHRMClassifier(**SMALL).fit(labels.x, labels.y, auxiliary=column)


def test_an_unknown_category_is_refused(labels: Any) -> None:
    place = np.where(labels.hidden, "a", "b")
    model = KerHRMClassifier(**SMALL).fit(labels.x, labels.y, auxiliary=place)
    with pytest.raises(KerhrmError, match="'c', which the fit has not seen"):
        model.predict_environment_proba(labels.x, auxiliary=np.full(400, "c"))
