"""A level that no number of permutations reaches would call nothing heterogeneous."""

from typing import Any

import numpy as np
import pytest
from refusals import refusal

from kerhrm import KerHRMRegressor, test_heterogeneity
from kerhrm.algorithm.options import (
    AuxiliaryOptions,
    HeterogeneityOptions,
    PermutationOptions,
)

BOTH = pytest.mark.parametrize("options", [HeterogeneityOptions, AuxiliaryOptions])


@pytest.fixture
def rows() -> tuple[np.ndarray, np.ndarray]:
    """A slope that is the opposite in a fifth of 200 rows."""
    random = np.random.default_rng(0)
    x = random.normal(size=(200, 2))
    slope = np.where(random.random(200) < 0.2, -2.0, 2.0)
    noise = 0.3 * random.normal(size=200)
    return x, x[:, 0] + slope * x[:, 1] + noise


@pytest.mark.parametrize("level", [0.05, 0.01, 0.004])
def test_a_smaller_level_detects_what_is_clear(
    rows: tuple[np.ndarray, np.ndarray], level: float
) -> None:
    x, y = rows
    result = test_heterogeneity(x, y, options={"level": level, "folds": 2})
    assert result.detected
    assert result.p_value <= level


def test_so_does_the_pre_test_of_an_estimator(
    rows: tuple[np.ndarray, np.ndarray],
) -> None:
    x, y = rows
    model = KerHRMRegressor(
        k=3, network=(8,), n_init=1, random_state=0, pretest={"level": 0.01}
    )
    model.fit(x, y)
    assert model.heterogeneity_.detected


@BOTH
@pytest.mark.parametrize(
    ("level", "number"), [(0.01, 99), (0.001, 999), (0.003, 333), (1 / 300, 299)]
)
def test_there_are_as_many_as_the_level_takes(
    options: type[PermutationOptions], level: float, number: int
) -> None:
    values = dict(options(level=level))
    assert values["n_permutations"] == number
    assert 1 / (1 + number) <= level
    again = options(**options(level=level).model_dump())
    assert again == options(level=level)


@BOTH
@pytest.mark.parametrize(
    "given",
    [{"level": 0.01, "n_permutations": 50}, {"level": 0.04, "n_permutations": 20}],
)
def test_fewer_are_refused_with_the_number(
    options: type[PermutationOptions], given: dict[str, Any]
) -> None:
    least = {0.01: 99, 0.04: 24}[given["level"]]
    with refusal(f"reach no p-value of .*; give n_permutations={least}"):
        options(**given)
    options(**given | {"n_permutations": least})


@BOTH
def test_a_level_that_takes_too_many_is_refused(
    options: type[PermutationOptions],
) -> None:
    for level in (1e-7, 5e-324):
        with refusal("n_permutations=9.*: must be less than or equal to 1000000"):
            options(level=level)


def test_a_level_of_zero_detects_nothing_and_is_taken() -> None:
    assert HeterogeneityOptions(level=0.0).n_permutations == 39
    assert AuxiliaryOptions(n_permutations=None, level=0.001).n_permutations is None
