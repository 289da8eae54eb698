"""Descriptions of targets that columns explain exactly, of columns that are sums of
others, and of models that follow their rows."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

from kerhrm import KerHRMClassifier, KerHRMRegressor
from kerhrm.description.regressions import explains_exactly
from kerhrm.description.rows import DescribedRows
from kerhrm.description.text import number
from kerhrm.description.tree import separate

pytestmark = pytest.mark.filterwarnings("ignore::kerhrm.estimators.KerhrmWarning")

SMALL: dict[str, Any] = {"k": 3, "n_init": 2, "network": (64,), "random_state": 0}
NOTHING_LEFT = "no split is shown: the columns explain the target exactly"


def drawn(n: int, d: int = 2, seed: int = 0) -> np.ndarray:
    random = np.random.default_rng(seed)
    return random.normal(size=(n, d))


def rows_of(x: np.ndarray, y: np.ndarray) -> DescribedRows:
    names = [f"c{j}" for j in range(x.shape[1])]
    labels = pd.RangeIndex(len(y))
    return DescribedRows.sort(x, y, names, labels)


@pytest.mark.parametrize("unit", [1e-12, 1.0, 1e12])
def test_a_sum_of_columns_has_no_split(unit: float) -> None:
    """The noise of a split would be rounding."""
    x = drawn(200)
    total = unit * (3 + x[:, 0] - 2 * x[:, 1])
    model = KerHRMRegressor(**SMALL).fit(x, total)
    described = model.describe(stability=2)
    assert described.split == "none"
    assert described.mark == NOTHING_LEFT
    assert NOTHING_LEFT in str(described)
    assert "nan" not in str(described)


def test_two_values_of_a_number_have_no_split() -> None:
    x = drawn(200, seed=3)
    is_positive = x[:, 0] > 0
    target = is_positive.astype(float)
    model = KerHRMRegressor(**SMALL)
    model.fit(x, target)
    described = model.describe(stability=0)
    assert "two values have none of their own" in str(described)


def test_a_column_that_is_the_label_has_no_split() -> None:
    x = drawn(300)
    label = (x[:, 1] > 0).astype(int)
    table = np.column_stack([label, x])
    model = KerHRMClassifier(**SMALL).fit(table, label)
    described = model.describe(stability=2)
    assert described.split == "none"
    assert described.mark == NOTHING_LEFT


@pytest.mark.parametrize("n", [50, 5000])
def test_only_rounding_counts_as_exact(n: int) -> None:
    x = drawn(n, d=4)
    total = x.sum(1) + 5
    noise = drawn(n, d=1, seed=1)[:, 0]
    sign = np.where(noise > 1, -1.0, 1.0)
    one_other = total.copy()
    one_other[n // 2] += 1.0

    rounded = total + 1e-9 * noise
    noisy = total + 1e-4 * noise
    curved = np.abs(total - 5)
    turned = x[:, 0] + sign * x[:, 1]
    for unit in (1e-170, 1.0, 1e170):
        for exact in (total, rounded):
            assert explains_exactly(rows_of(x, unit * exact))
        for inexact in (noisy, curved, turned, one_other):
            assert not explains_exactly(rows_of(x, unit * inexact))


def test_rows_that_determine_the_coefficients_are_not_exact() -> None:
    x = drawn(5, d=4)
    y = drawn(5, d=1, seed=1)[:, 0]
    assert not explains_exactly(rows_of(x, y))


def test_shares_of_one_environment_add_up_to_one() -> None:
    """Their sum may be rounded to more than one."""
    for seed in range(50):
        random = np.random.default_rng(seed)
        n = int(random.integers(20, 300))
        x = drawn(n, seed=seed)
        first = random.uniform(0.5, 1.0, n)
        memberships = np.column_stack([first, 1 - first])
        tree = separate(rows_of(x, x[:, 0]), memberships)
        assert tree.majority <= 1
        assert not tree.says_more


def test_a_slope_that_is_not_determined_is_a_dash() -> None:
    """Of columns that are sums of others."""
    assert number(float("nan")) == "\N{EN DASH}"
    x = drawn(200)
    random = np.random.default_rng(1)
    turn = np.where(random.random(200) < 0.3, -1.0, 1.0)
    y = x[:, 0] + 2 * turn * x[:, 1] + 0.3 * random.normal(size=200)
    table = np.column_stack([x, x[:, 0] - 3 * x[:, 1]])
    model = KerHRMRegressor(**SMALL, if_not_detected="fit").fit(table, y)
    described = model.describe(stability=2)
    for text in (str(described), described.to_html()):
        assert "nan" not in text
    assert "\N{EN DASH}" in described.to_html()


def test_noise_is_that_of_rows_that_erm_has_not_seen() -> None:
    """ERM nearly runs through these rows: residuals are less than half of errors."""
    x = drawn(60, d=4, seed=0)
    fresh = drawn(2000, d=4, seed=1)

    def target(x: np.ndarray, seed: int) -> np.ndarray:
        noise = drawn(len(x), d=1, seed=seed)[:, 0]
        return np.sin(2 * x[:, 0]) + x[:, 1] ** 2 + 0.5 * noise

    y = target(x, 2)
    model = KerHRMRegressor(**SMALL | {"network": (1024,)}).fit(x, y)
    residuals = y - model.predict(x)
    errors = target(fresh, 3) - model.predict(fresh)
    assert model.predictor_ == "erm"
    assert residuals.std() < 0.5 * errors.std()

    described = model.describe(stability=0)
    change = described.smallest_changes.loc["column 1", "known"]
    standard_error = change / (norm.ppf(0.975) + norm.ppf(0.8))
    # the variance of the column that a regression on the others leaves
    constant = np.ones(60)
    others = np.delete(x, 1, axis=1)
    design = np.column_stack([constant, others])
    coefficients, *_ = np.linalg.lstsq(design, x[:, 1], rcond=None)
    left = np.var(x[:, 1] - design @ coefficients)
    noise = standard_error * np.sqrt(60 * 0.2 * 0.8 * left)
    expected = errors.std()
    assert 0.6 * expected < noise < 1.4 * expected
